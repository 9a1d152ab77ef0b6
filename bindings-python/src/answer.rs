//! Answers of the core as Python objects.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use quotalock::Answer;

use crate::combined::CombinedDecision;
use crate::decision::Decision;
use crate::error::internal;
use crate::inspection::Inspection;

/// What a caller gets for an answer: a `Decision`, a `CombinedDecision`, an `Inspection`, a bool, an int, or for tests
/// `(value, ttl_ms)` or None.
pub fn object(py: Python<'_>, answer: Answer) -> PyResult<Py<PyAny>> {
    match answer {
        Answer::Decision(decision) => Ok(Py::new(py, Decision::new(decision))?.into_any()),
        Answer::Combined(decision) => Ok(Py::new(py, CombinedDecision::new(decision))?.into_any()),
        Answer::Flag(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any().unbind()),
        Answer::Count(count) => Ok(count.into_pyobject(py)?.into_any().unbind()),
        Answer::Inspection(inspection) => Ok(Py::new(py, Inspection::new(inspection))?.into_any()),
        Answer::Stored(stored) => {
            let pair = stored.map(|stored| (PyBytes::new(py, &stored.value).unbind(), stored.ttl_ms));
            Ok(pair.into_pyobject(py)?.unbind())
        }
        other => Err(internal(py, format!("no Python value for {other:?}"))),
    }
}
