//! From errors of the core to the exception classes of `quotalock._errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use quotalock::{Code, Error};

use crate::call::call;
use crate::decision::Decision;
use crate::ending::enter;

/// The exception for an error, of the class that its code names.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let _inside = enter(py);
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let make = || -> PyResult<PyErr> {
        let class = CLASSES.import(py, "quotalock._errors", "BY_CODE")?.as_any().get_item(error.code().as_str())?;
        let message = PyString::new(py, error.message()).into_any();
        let exception = match error.decision() {
            Some(decision) => call(&class, [&message, Bound::new(py, Decision::new(decision.clone()))?.as_any()])?,
            None => call(&class, [&message])?,
        };
        Ok(PyErr::from_value(exception))
    };
    make().unwrap_or_else(|failure| failure)
}

/// The exception for an argument that cannot be.
pub fn invalid(py: Python<'_>, message: String) -> PyErr {
    raised(py, &Error::new(Code::InvalidArgument, message))
}

/// The exception for what should never happen.
pub fn internal(py: Python<'_>, message: String) -> PyErr {
    raised(py, &Error::new(Code::Internal, message))
}
