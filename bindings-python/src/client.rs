//! The client, and how a described call is carried out: on this thread, or on the running loop.

use pyo3::prelude::*;
use quotalock::{Answer, FromAnswer, LimiterCache, OnError, Op, Options, convert};

use crate::argument::{Cost, Key, seconds};
use crate::decision::object;
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
    #[pyo3(signature = (url = None, prefix = "ql", timeout = None, on_error = "raise"),
           text_signature = "(url=None, prefix='ql', timeout=0.5, on_error='raise')")]
    fn new(
        py: Python<'_>,
        url: Option<String>,
        prefix: &str,
        timeout: Option<&Bound<'_, PyAny>>,
        on_error: &str,
    ) -> PyResult<Client> {
        let mut options = Options { url, prefix: prefix.to_owned(), ..Options::default() };
        if let Some(given) = timeout {
            options.timeout = convert::duration(seconds("timeout", given.as_borrowed())?);
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

    /// Makes a limiter: a name, part of its Redis keys, and a policy.
    fn limiter(slf: &Bound<'_, Self>, name: &str, policy: &Bound<'_, PyAny>) -> PyResult<Limiter> {
        let limiter = slf.get().core.limiter(name, self::policy(policy)?).map_err(|error| raised(slf.py(), &error))?;
        Ok(Limiter::new(limiter, slf.clone().unbind()))
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
