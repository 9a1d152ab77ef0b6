//! The client. What makes limiters, handles of locks and stocks, and caches is with each of them.

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::PyUserWarning;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use quotalock::{LimiterCache, OnError, Options, convert};

use crate::argument::{Prefix, Url, Word, seconds, shown};
use crate::carrier::{Carrier, Loops};
use crate::error::raised;
use crate::hook::Hook;
use crate::loop_loading::Loading;
use crate::password::Password;

/// A timeout above this is one of milliseconds, more likely than not.
const LONG: Duration = Duration::from_secs(60);

/// A client of one Redis, or of this process' memory. Threads may share it, and forked processes go on using it.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Client {
    core: quotalock::Client,
    limiters: LimiterCache,
    carrier: Arc<Carrier>,
    /// The password, if a function tells it.
    password: Option<Password>,
    on_decision: Hook,
    on_lost: Hook,
}

#[pymethods]
impl Client {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "a method of Python has the parameters that its callers may name")]
    #[pyo3(signature = (url = None, prefix = Prefix("ql"), timeout = None, on_error = Word("raise".into()), request_memory = None, password = None, deny_cache_max = None, on_decision = None, on_lost = None, report = false),
           text_signature = "(url=None, prefix='ql', timeout=0.5, on_error='raise', request_memory=60.0, password=None, deny_cache_max=1.0, on_decision=None, on_lost=None, report=False)")]
    fn new(
        py: Python<'_>,
        url: Option<Url<'_>>,
        prefix: Prefix<'_>,
        timeout: Option<&Bound<'_, PyAny>>,
        on_error: Word<'_>,
        request_memory: Option<&Bound<'_, PyAny>>,
        password: Option<&Bound<'_, PyAny>>,
        deny_cache_max: Option<&Bound<'_, PyAny>>,
        on_decision: Option<&Bound<'_, PyAny>>,
        on_lost: Option<&Bound<'_, PyAny>>,
        report: bool,
    ) -> PyResult<Client> {
        let hooks = (Hook::read("on_decision", on_decision)?, Hook::read("on_lost", on_lost)?);
        let url = url.map(|url| url.0.to_owned());
        let mut options = Options { url, prefix: prefix.0.to_owned(), report, ..Options::default() };
        if let Some(given) = timeout {
            options.timeout = convert::duration(seconds("timeout", given.as_borrowed())?);
            if options.timeout > LONG {
                let message = format!("timeout={} is that many seconds: for milliseconds divide by 1000", shown(given));
                let message = std::ffi::CString::new(message).unwrap_or_default();
                PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
            }
        }
        if let Some(given) = request_memory {
            options.request_memory = convert::duration(seconds("request_memory", given.as_borrowed())?);
        }
        if let Some(given) = deny_cache_max {
            options.deny_cache_max = convert::duration(seconds("deny_cache_max", given.as_borrowed())?);
        }
        let password = password.map(Password::told_by).transpose()?.map(|(provider, password)| {
            options.password = Some(provider);
            password
        });
        let made =
            OnError::parse(&on_error.0).and_then(|on_error| quotalock::Client::new(Options { on_error, ..options }));
        let core = made.map_err(|error| raised(py, &error))?;
        Ok(Client::of(core, None, password, hooks))
    }

    /// The same client for asyncio: what blocks here returns a future of the running loop there, whose tasks tell by themselves.
    fn _for_loops(&self) -> Client {
        let (loops, silent) = (Loops::new(self.password.clone()), (Hook::none(), Hook::none()));
        Client::of(self.core.clone(), Some(loops), self.password.clone(), silent)
    }

    /// Does a step of a load, and returns the future of its end.
    fn _carry(&self, py: Python<'_>, loading: &Loading) -> PyResult<Py<PyAny>> {
        let (step, loading) = loading.step(py)?;
        self.carrier.looped(py)?.carry(py, step, loading)
    }

    /// Gives back what is held and closes the connections. Later calls raise `Closed`; closing twice does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.core.close());
        self.carrier.close(py);
    }

    /// Closes the client for its callers; the future is done when what it held was given back, None if that is nothing. For a
    /// loop, which then calls `close`.
    fn _give_back(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.core.close_elsewhere().map(|op| self.carrier.make_napping(py, Ok(op))).transpose()
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

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.on_decision.traverse(&visit)?;
        self.on_lost.traverse(&visit)
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
    fn of(
        core: quotalock::Client,
        loops: Option<Loops>,
        password: Option<Password>,
        (on_decision, on_lost): (Hook, Hook),
    ) -> Client {
        let limiters = LimiterCache::new(core.clone());
        let carrier = Arc::new(Carrier::new(&core, loops));
        Client { carrier, core, limiters, password, on_decision, on_lost }
    }

    /// The core's client.
    pub fn core(&self) -> &quotalock::Client {
        &self.core
    }

    /// The limiters of the one-line `limit()`.
    pub fn limiters(&self) -> &LimiterCache {
        &self.limiters
    }

    /// What is told of decisions.
    pub fn on_decision(&self) -> &Hook {
        &self.on_decision
    }

    /// What is told of locks that are lost.
    pub fn on_lost(&self) -> &Hook {
        &self.on_lost
    }

    /// What carries out the calls, also those of what it made.
    pub fn carrier(&self) -> &Arc<Carrier> {
        &self.carrier
    }
}
