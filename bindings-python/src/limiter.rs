//! The limiter: one method per verb, each a call of the core.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use quotalock::convert;

use crate::argument::{Amount, Cost, Key, seconds};
use crate::client::Client;
use crate::error::raised;

/// Decides for keys by one policy; made by `Client.limiter`.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Limiter {
    core: quotalock::Limiter,
    client: Py<Client>,
}

impl Limiter {
    pub fn new(core: quotalock::Limiter, client: Py<Client>) -> Limiter {
        Limiter { core, client }
    }
}

#[pymethods]
impl Limiter {
    /// The name given.
    #[getter]
    fn name(&self) -> &str {
        self.core.name()
    }

    /// The policy in its canonical form.
    #[getter]
    fn policy(&self) -> String {
        self.core.policy().to_string()
    }

    /// Charges `cost` to every rule if all admit it, else to none.
    #[pyo3(signature = (key, cost = Cost(1)), text_signature = "($self, key, cost=1)")]
    fn consume(&self, py: Python<'_>, key: Key<'_>, cost: Cost) -> PyResult<Py<PyAny>> {
        self.client.get().make(py, self.core.consume(key.0, cost.0))
    }

    /// Tells what `consume` would answer, and never writes.
    #[pyo3(signature = (key, cost = Cost(1)), text_signature = "($self, key, cost=1)")]
    fn peek(&self, py: Python<'_>, key: Key<'_>, cost: Cost) -> PyResult<Py<PyAny>> {
        self.client.get().make(py, self.core.peek(key.0, cost.0))
    }

    /// As `consume`, but a denial raises `RateLimited`.
    #[pyo3(signature = (key, cost = Cost(1)), text_signature = "($self, key, cost=1)")]
    fn require(&self, py: Python<'_>, key: Key<'_>, cost: Cost) -> PyResult<Py<PyAny>> {
        self.client.get().make(py, self.core.require(key.0, cost.0))
    }

    /// As `consume`, and after a denial sleeps as `retry_after` says and tries again, for at most `timeout` seconds.
    #[pyo3(signature = (key, timeout, cost = Cost(1)), text_signature = "($self, key, timeout, cost=1)")]
    fn wait(&self, py: Python<'_>, key: Key<'_>, timeout: &Bound<'_, PyAny>, cost: Cost) -> PyResult<Py<PyAny>> {
        let timeout = convert::duration(seconds("timeout", timeout.as_borrowed())?);
        self.client.get().make_napping(py, self.core.wait(key.0, cost.0, timeout))
    }

    /// Gives back `amount` of what was consumed.
    fn refund(&self, py: Python<'_>, key: Key<'_>, amount: Amount) -> PyResult<Py<PyAny>> {
        self.client.get().make(py, self.core.refund(key.0, amount.0))
    }

    /// Denies everything for `duration` seconds.
    fn block(&self, py: Python<'_>, key: Key<'_>, duration: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let duration = seconds("duration", duration.as_borrowed())?;
        self.client.get().make(py, self.core.block(key.0, duration))
    }

    /// Forgets everything about `key`, a block included; True if there was anything.
    fn reset(&self, py: Python<'_>, key: Key<'_>) -> PyResult<Py<PyAny>> {
        self.client.get().make(py, self.core.reset(key.0))
    }

    /// The Redis key that holds the state of `key`.
    fn redis_key<'py>(&self, py: Python<'py>, key: Key<'_>) -> PyResult<Bound<'py, PyBytes>> {
        let redis_key = self.core.redis_key(key.0).map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &redis_key))
    }

    fn __repr__(&self) -> String {
        format!("<quotalock.Limiter {:?} {}>", self.core.name(), self.core.policy())
    }
}
