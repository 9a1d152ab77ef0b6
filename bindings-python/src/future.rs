//! Giving a loop's callers their answers.

use pyo3::intern;
use pyo3::prelude::*;

use crate::advice;
use crate::answer::object;
use crate::call::call_method;
use crate::caller::{Answered, Outcome};
use crate::error::raised;

/// Resolves futures. A future that was cancelled meanwhile is left alone.
pub fn resolve(py: Python<'_>, done: Vec<Answered>) {
    for (future, outcome) in done {
        let answer = given(py, outcome);
        let future = future.bind(py);
        let told = match answer {
            Ok(answer) => call_method(future, intern!(py, "set_result"), [answer.bind(py)]),
            Err(error) => call_method(future, intern!(py, "set_exception"), [error.into_value(py).bind(py)]),
        };
        let is_over =
            || call_method(future, intern!(py, "done"), []).and_then(|done| done.is_truthy()).unwrap_or(false);
        if let Err(error) = told
            && !is_over()
        {
            error.write_unraisable(py, Some(future));
        }
    }
    advice::warn_nobody(py);
}

fn given(py: Python<'_>, outcome: Outcome) -> PyResult<Py<PyAny>> {
    match outcome {
        Outcome::Answer(answer) => object(py, answer.map_err(|error| raised(py, &error))?),
        Outcome::Carried => Ok(py.None()),
    }
}
