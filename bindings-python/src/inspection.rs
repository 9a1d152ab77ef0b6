//! Who holds a lock, as Python shows it.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use quotalock::convert;

use crate::rule_decision::truth;

/// Who holds a lock and how many wait for it: the answer of `Lock.inspect`.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct Inspection {
    /// The last fencing token given; 0 if none is remembered.
    #[pyo3(get)]
    token: u64,
    /// How many wait by the server's knowledge: one of each process.
    #[pyo3(get)]
    waiters: u64,
    /// Whether a value stands at the key that is not ours: it counts as none.
    #[pyo3(get)]
    healed: bool,
    holders: Vec<Holder>,
}

impl Inspection {
    /// Takes the core's answer.
    pub fn new(seen: quotalock::Inspection) -> Inspection {
        let holders = seen.holders.into_iter().map(Holder::new).collect();
        Inspection { token: seen.token, waiters: seen.waiters, healed: seen.healed, holders }
    }
}

#[pymethods]
impl Inspection {
    /// Those who hold it, the first first.
    #[getter]
    fn holders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.holders.iter().cloned())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (holders, healed) = (self.holders(py)?.repr()?, truth(self.healed));
        Ok(format!("Inspection(token={}, waiters={}, holders={holders}, healed={healed})", self.token, self.waiters))
    }
}

/// One who holds a lock.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(Clone, PartialEq)]
pub struct Holder {
    /// The host it runs on; empty if it did not say.
    #[pyo3(get)]
    host: String,
    /// Its process there.
    #[pyo3(get)]
    pid: u64,
    /// What it calls itself.
    #[pyo3(get)]
    label: String,
    /// Its fencing token.
    #[pyo3(get)]
    token: u64,
    /// How many permits it has.
    #[pyo3(get)]
    permits: u64,
    /// When it was granted, in seconds since the epoch by the server's clock.
    #[pyo3(get)]
    since: f64,
    /// When it ends unless it is renewed, likewise.
    #[pyo3(get)]
    until: f64,
}

impl Holder {
    fn new(holder: quotalock::Holder) -> Holder {
        Holder {
            host: holder.host,
            pid: holder.pid,
            label: holder.label,
            token: holder.token,
            permits: holder.permits,
            since: convert::seconds(holder.since),
            until: convert::seconds(holder.until),
        }
    }
}

#[pymethods]
impl Holder {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Holder { pid, token, permits, since, until, .. } = self;
        let (host, label) = (PyString::new(py, &self.host).repr()?, PyString::new(py, &self.label).repr()?);
        Ok(format!(
            "Holder(host={host}, pid={pid}, label={label}, token={token}, permits={permits}, since={since:?}, \
             until={until:?})"
        ))
    }
}
