//! The exception classes of `quotalock._errors`, by their codes.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use quotalock::Code;

use crate::call::{call, enter};

/// The exception of the class that a code names; of `limited` it has the decision.
pub fn exception(py: Python<'_>, code: Code, message: &str, decision: Option<&Bound<'_, PyAny>>) -> PyErr {
    let _inside = enter(py);
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let make = || -> PyResult<PyErr> {
        let class = CLASSES.import(py, "quotalock._errors", "BY_CODE")?.as_any().get_item(code.as_str())?;
        let message = PyString::new(py, message).into_any();
        let exception = match decision {
            Some(decision) => call(&class, [&message, decision])?,
            None => call(&class, [&message])?,
        };
        Ok(PyErr::from_value(exception))
    };
    make().unwrap_or_else(|failure| failure)
}

/// The exception for an argument that cannot be.
pub fn invalid(py: Python<'_>, message: String) -> PyErr {
    exception(py, Code::InvalidArgument, &message, None)
}

/// The exception for what should never happen.
pub fn internal(py: Python<'_>, message: String) -> PyErr {
    exception(py, Code::Internal, &message, None)
}
