//! What a loop holds of a load: the right to make a value, or the wait for another who makes it.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use quotalock::{Getting, Got, Part};

use crate::error::{internal, raised};
use crate::loading::value;
use crate::seen::bytes;

/// The lease to load one value. Dropped, it frees the way for others.
#[pyclass(frozen, module = "quotalock._native")]
pub struct Ticket {
    core: Mutex<Option<quotalock::Ticket>>,
}

/// What another loads, to be waited for with `Client._wait_for`.
#[pyclass(frozen, module = "quotalock._native")]
pub struct Waiting {
    core: Mutex<Option<Getting>>,
}

#[pymethods]
impl Ticket {
    /// What a loader returned, as the bytes of a value; None is that there is none.
    #[staticmethod]
    fn _value<'py>(py: Python<'py>, loaded: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(value("the loaded value", loaded)?.map(|value| PyBytes::new(py, value)))
    }

    /// Frees the way for others, from whichever thread, without a loop.
    fn _leave(&self) {
        drop(self.take());
    }
}

impl Ticket {
    /// The ticket of the core; none once it was left.
    pub fn core(&self, py: Python<'_>) -> PyResult<quotalock::Ticket> {
        let ticket = self.core.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ticket.ok_or_else(|| internal(py, "a ticket was used after it was left".to_owned()))
    }

    fn take(&self) -> Option<quotalock::Ticket> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Waiting {
    /// The wait, which can be begun once.
    pub fn take(&self, py: Python<'_>) -> PyResult<Getting> {
        let getting = self.core.lock().unwrap_or_else(PoisonError::into_inner).take();
        getting.ok_or_else(|| internal(py, "one wait was begun twice".to_owned()))
    }
}

/// What a `get` came to: the value, None, or a ticket.
pub fn got(py: Python<'_>, got: Got) -> PyResult<Py<PyAny>> {
    match got {
        Got::Found(seen) => Ok(bytes(py, seen.value.as_ref()).into_pyobject(py)?.unbind()),
        Got::Load(ticket) => Ok(Py::new(py, Ticket { core: Mutex::new(Some(ticket)) })?.into_any()),
    }
}

/// What was found about one of several keys: as [`got`], or an exception, or a wait.
pub fn part(py: Python<'_>, part: Part) -> PyResult<Py<PyAny>> {
    match part {
        Part::Got(found) => got(py, found),
        Part::Failed(error) => Ok(raised(py, &error).into_value(py).into_any()),
        Part::Waits(getting) => Ok(Py::new(py, Waiting { core: Mutex::new(Some(getting)) })?.into_any()),
    }
}
