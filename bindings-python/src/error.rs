//! From errors of the core to exceptions.

use pyo3::prelude::*;
use quotalock::Error;

use crate::call::enter;
use crate::decision::Decision;
use crate::exception::exception;

/// The exception for an error, of the class that its code names.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let _inside = enter(py);
    // A function of the caller's raised it.
    if let Some(thrown) = error.cause::<PyErr>() {
        return thrown.clone_ref(py);
    }
    match error
        .cause::<quotalock::Decision>()
        .map(|decision| Bound::new(py, Decision::new(decision.clone())))
        .transpose()
    {
        Ok(decision) => {
            exception(py, error.code(), error.message(), decision.as_ref().map(|decision| decision.as_any()))
        }
        Err(failure) => failure,
    }
}
