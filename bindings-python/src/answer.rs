//! Answers of the core as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use quotalock::{Answer, Looked};

use crate::combined::CombinedDecision;
use crate::decision::Decision;
use crate::error::internal;
use crate::inspection::Inspection;
use crate::ledger::LedgerEntry;
use crate::seen::{Claimed, Seen};
use crate::stock_reservation::StockPage;
use crate::stock_status::StockStatus;
use crate::taken::{Taken, TakenAll};
use crate::ticket::got;

/// What a caller gets for an answer: an object of the class of the same name, a bool, an int, a value or a ticket, or
/// for tests `(value, ttl_ms)` or None.
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
        Answer::Got(found) => got(py, found),
        Answer::Looked(looked) => match <[Looked; 1]>::try_from(looked) {
            Ok([Looked::Seen(seen)]) => Ok(Py::new(py, Seen::new(seen))?.into_any()),
            Ok(_) => Ok(py.None()),
            Err(several) => Err(internal(py, format!("{} answers for one key", several.len()))),
        },
        Answer::Claimed(claimed) => Ok(Py::new(py, Claimed::new(claimed))?.into_any()),
        Answer::Taken(taken) => Ok(Py::new(py, Taken::new(taken))?.into_any()),
        Answer::TakenAll(taken) => Ok(Py::new(py, TakenAll::new(taken))?.into_any()),
        Answer::StockStatus(status) => Ok(Py::new(py, StockStatus::new(status))?.into_any()),
        Answer::StockPage(page) => Ok(Py::new(py, StockPage::new(page))?.into_any()),
        Answer::Ledger(entries) => {
            let entries = entries.into_iter().map(|entry| Py::new(py, LedgerEntry::new(entry)));
            Ok(PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any().unbind())
        }
        other => Err(internal(py, format!("no Python value for {other:?}"))),
    }
}
