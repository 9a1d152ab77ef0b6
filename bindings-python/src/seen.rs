//! What was found without loading, or claimed, as Python shows it.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use quotalock::convert;

use crate::rule_decision::truth;

/// What a cache has: the answer of `Cache.peek`.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct Seen {
    value: Option<Arc<Vec<u8>>>,
    /// Whether it is not fresh any more.
    #[pyo3(get)]
    stale: bool,
    /// How old it is in seconds.
    #[pyo3(get)]
    age: f64,
}

impl Seen {
    /// Takes the core's answer.
    pub fn new(seen: quotalock::Seen) -> Seen {
        Seen { value: seen.value, stale: seen.stale, age: convert::seconds(seen.age) }
    }
}

#[pymethods]
impl Seen {
    /// The value; None if it is known that there is none.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        bytes(py, self.value.as_ref())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let value = self.value(py).into_pyobject(py)?.repr()?;
        Ok(format!("Seen(value={value}, stale={}, age={:?})", truth(self.stale), self.age))
    }
}

/// The answer of `Once.claim`; as a bool, whether this caller is the first.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct Claimed {
    /// Whether this caller is the first.
    #[pyo3(get)]
    first: bool,
    value: Option<Arc<Vec<u8>>>,
    /// Whether a function runs for the id, which has no result yet.
    #[pyo3(get)]
    running: bool,
    /// The seconds until the claim, or the lease of what is running, ends.
    #[pyo3(get)]
    remaining: f64,
    /// How many seconds ago it was claimed.
    #[pyo3(get)]
    age: f64,
}

impl Claimed {
    /// Takes the core's answer.
    pub fn new(claimed: quotalock::Claimed) -> Claimed {
        let quotalock::Claimed { first, value, running, left, age } = claimed;
        Claimed { first, value, running, remaining: convert::seconds(left), age: convert::seconds(age) }
    }
}

#[pymethods]
impl Claimed {
    /// What the first gave; None if that was nothing, or has no result yet.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        bytes(py, self.value.as_ref())
    }

    fn __bool__(&self) -> bool {
        self.first
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (first, running, value) = (truth(self.first), truth(self.running), self.value(py).into_pyobject(py)?);
        let (value, remaining, age) = (value.repr()?, self.remaining, self.age);
        Ok(format!("Claimed(first={first}, value={value}, running={running}, remaining={remaining:?}, age={age:?})"))
    }
}

/// A value, or None.
pub fn bytes<'py>(py: Python<'py>, value: Option<&Arc<Vec<u8>>>) -> Option<Bound<'py, PyBytes>> {
    value.map(|value| PyBytes::new(py, value))
}
