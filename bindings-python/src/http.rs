//! What decisions tell over HTTP, as Python has it.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use quotalock::{HeaderOptions, HeaderSyntax, Problem, Result};

use crate::error::raised;

/// Header fields as a dict, in their order.
pub fn headers<'py>(
    py: Python<'py>,
    syntax: &str,
    legacy: bool,
    of: impl FnOnce(&HeaderOptions) -> Vec<(&'static str, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let syntax = HeaderSyntax::parse(syntax).map_err(|error| raised(py, &error))?;
    let dict = PyDict::new(py);
    for (name, value) in of(&HeaderOptions { syntax, legacy }) {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The body of a refusal as a dict.
pub fn problem(py: Python<'_>, problem: Result<Problem>) -> PyResult<Bound<'_, PyDict>> {
    let problem = problem.map_err(|error| raised(py, &error))?;
    let dict = PyDict::new(py);
    dict.set_item("type", problem.kind)?;
    dict.set_item("title", problem.title)?;
    dict.set_item("status", problem.status)?;
    dict.set_item("detail", problem.detail)?;
    dict.set_item("violated-policies", problem.violated_policies)?;
    Ok(dict)
}
