//! Giving a loop's callers their answers.

use pyo3::intern;
use pyo3::prelude::*;
use quotalock::{Answer, Result};

use crate::answer::object;
use crate::call::call_method;
use crate::error::raised;

/// A future with its answer.
pub type Answered = (Py<PyAny>, Result<Answer>);

/// Resolves futures. A future that was cancelled meanwhile is left alone.
pub fn resolve(py: Python<'_>, done: Vec<Answered>) {
    for (future, answer) in done {
        let answer = answer.map_err(|error| raised(py, &error)).and_then(|answer| object(py, answer));
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
}
