//! The client, and how a described call is carried out: on this thread, or on the running loop.

use pyo3::prelude::*;
use quotalock::{Answer, FromAnswer, LimiterCache, LimiterOptions, OnError, Op, Options, convert};

use crate::answer::object;
use crate::argument::{Cost, Key, RequestId, octets, seconds};
use crate::charge::{Charge, charges};
use crate::error::raised;
use crate::limiter::Limiter;
use crate::loops::Loops;
use crate::policy::{policy, spelled};

/// A client of one Redis, or of this process' memory. Threads may share it, and forked processes go on using it.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Client {
    core: quotalock::Client,
    /// The limiters of the one-line `limit()`.
    limiters: LimiterCache,
    /// Whether calls are answered without I/O.
    in_memory: bool,
    /// Where calls are awaited; none for a client that blocks.
    loops: Option<Loops>,
}

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (url = None, prefix = "ql", timeout = None, on_error = "raise", request_memory = None),
           text_signature = "(url=None, prefix='ql', timeout=0.5, on_error='raise', request_memory=60.0)")]
    fn new(
        py: Python<'_>,
        url: Option<String>,
        prefix: &str,
        timeout: Option<&Bound<'_, PyAny>>,
        on_error: &str,
        request_memory: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Client> {
        let mut options = Options { url, prefix: prefix.to_owned(), ..Options::default() };
        if let Some(given) = timeout {
            options.timeout = convert::duration(seconds("timeout", given.as_borrowed())?);
        }
        if let Some(given) = request_memory {
            options.request_memory = convert::duration(seconds("request_memory", given.as_borrowed())?);
        }
        let made =
            OnError::parse(on_error).and_then(|on_error| quotalock::Client::new(Options { on_error, ..options }));
        let core = made.map_err(|error| raised(py, &error))?;
        Ok(Client::of(core, None))
    }

    /// The same client for asyncio: what blocks here returns a future of the running loop there.
    fn _for_loops(&self) -> Client {
        Client::of(self.core.clone(), Some(Loops::default()))
    }

    /// Makes a limiter: a name, part of its Redis keys, and a policy; its keys share a slot with others of their `scope`.
    #[pyo3(signature = (name, policy, scope = None, enforce = true))]
    fn limiter<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        policy: &Bound<'py, PyAny>,
        scope: Option<&Bound<'py, PyAny>>,
        enforce: bool,
    ) -> PyResult<Limiter> {
        let octets = scope.map(|scope| octets("scope", scope.as_borrowed())).transpose()?;
        let options = LimiterOptions { scope: octets.map(<[u8]>::to_vec), enforce };
        let limiter = slf.get().core.limiter_with(name, self::policy(policy)?, options);
        let limiter = limiter.map_err(|error| raised(slf.py(), &error))?;
        Ok(Limiter::new(limiter, slf.clone().unbind(), scope.map(|scope| scope.clone().unbind())))
    }

    /// Charges several keys, each by its own limiter, if all of them admit it, else none.
    #[pyo3(signature = (charges, request_id = None))]
    fn consume_all(
        &self,
        py: Python<'_>,
        charges: &Bound<'_, PyAny>,
        request_id: Option<RequestId<'_>>,
    ) -> PyResult<Py<PyAny>> {
        let charges = self::charges(charges)?;
        let charges = charges.iter().map(Charge::core).collect::<PyResult<Vec<_>>>()?;
        self.make(py, self.core.consume_all(&charges, request_id.map(|id| id.0)))
    }

    /// Charges `cost` to `key` as a limiter of this name and policy does.
    #[pyo3(signature = (name, key, policy, cost = Cost(1)), text_signature = "($self, name, key, policy, cost=1)")]
    fn _limit(
        &self,
        py: Python<'_>,
        name: &str,
        key: Key<'_>,
        policy: &Bound<'_, PyAny>,
        cost: Cost,
    ) -> PyResult<Py<PyAny>> {
        let limiter = self.limiters.limiter(name, &spelled(policy)?).map_err(|error| raised(py, &error))?;
        self.make(py, limiter.consume(key.0, cost.0))
    }

    /// Closes the connections. Later calls raise `Closed`; closing twice does nothing.
    fn close(&self, py: Python<'_>) {
        self.core.close();
        if let Some(loops) = &self.loops {
            loops.close(py);
        }
    }

    /// The host and port, socket path or `memory://`; never a password.
    #[getter]
    fn server(&self) -> String {
        self.core.server()
    }

    /// What every Redis key starts with.
    #[getter]
    fn prefix(&self) -> &str {
        self.core.prefix()
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_how))]
    fn __exit__(&self, py: Python<'_>, _how: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        format!("<quotalock.Client {} prefix={:?}>", self.core.server(), self.core.prefix())
    }
}

impl Client {
    fn of(core: quotalock::Client, loops: Option<Loops>) -> Client {
        let limiters = LimiterCache::new(core.clone());
        Client { in_memory: core.server() == "memory://", core, limiters, loops }
    }

    /// The core's client.
    pub fn core(&self) -> &quotalock::Client {
        &self.core
    }

    /// Makes a described call: returns its answer, or on a loop the future of it.
    pub fn make<T: FromAnswer>(&self, py: Python<'_>, op: quotalock::Result<Op<T>>) -> PyResult<Py<PyAny>> {
        self.carry_out(py, op, false)
    }

    /// As [`make`](Client::make), for a call that may sleep whoever answers it.
    pub fn make_napping<T: FromAnswer>(&self, py: Python<'_>, op: quotalock::Result<Op<T>>) -> PyResult<Py<PyAny>> {
        self.carry_out(py, op, true)
    }

    fn carry_out<T: FromAnswer>(
        &self,
        py: Python<'_>,
        op: quotalock::Result<Op<T>>,
        naps: bool,
    ) -> PyResult<Py<PyAny>> {
        let op = op.map_err(|error| raised(py, &error))?.erased();
        if let Some(loops) = &self.loops {
            return loops.submit(py, op, naps);
        }
        let answer = if self.in_memory && !naps { op.run() } else { interruptibly(py, op)? };
        object(py, answer.map_err(|error| raised(py, &error))?)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(loops) = &self.loops {
            Python::try_attach(|py| loops.close(py));
        }
    }
}

/// Runs a call without the GIL. Signal handlers run meanwhile, and what one of them raises ends the call.
fn interruptibly(py: Python<'_>, op: Op<Answer>) -> PyResult<quotalock::Result<Answer>> {
    let mut raised = None;
    let answer = py.detach(|| {
        op.run_interruptibly(&mut || {
            if raised.is_none() {
                raised = Python::try_attach(|py| py.check_signals().err()).flatten();
            }
            raised.is_some()
        })
    });
    raised.map_or(Ok(answer), Err)
}
