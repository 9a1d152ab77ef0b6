//! Answers of the core as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use quotalock::Answer;

use crate::combined::CombinedDecision;
use crate::decision::Decision;
use crate::exception::internal;
use crate::inspection::Inspection;
use crate::ledger::LedgerEntry;
use crate::seen::{Claimed, Seen};
use crate::stock_reservation::StockPage;
use crate::stock_status::StockStatus;
use crate::taken::{Taken, TakenAll};

/// What a caller gets for an answer: an object of the class of the same name, a bool, an int, or for tests
/// `(value, ttl_ms)` or None.
pub fn object(py: Python<'_>, answer: Answer) -> PyResult<Py<PyAny>> {
    /// Turns an answer of one of these types into its object.
    macro_rules! objects {
        ($answer:expr; $($value:ident: $kind:ty => $object:expr,)*) => {{
            let answer = $answer;
            $(let answer = match answer.downcast::<$kind>() {
                Ok($value) => return $object,
                Err(other) => other,
            };)*
            answer
        }};
    }
    let other = objects! { answer;
        decision: quotalock::Decision => Ok(Py::new(py, Decision::new(decision))?.into_any()),
        decision: quotalock::CombinedDecision => Ok(Py::new(py, CombinedDecision::new(decision))?.into_any()),
        flag: bool => Ok(flag.into_pyobject(py)?.to_owned().into_any().unbind()),
        count: u64 => Ok(count.into_pyobject(py)?.into_any().unbind()),
        seen: Option<quotalock::Seen> => Ok(seen.map(|seen| Py::new(py, Seen::new(seen))).transpose()?.into_pyobject(py)?.unbind()),
        claimed: quotalock::Claimed => Ok(Py::new(py, Claimed::new(claimed))?.into_any()),
        inspection: quotalock::Inspection => Ok(Py::new(py, Inspection::new(inspection))?.into_any()),
        taken: quotalock::Taken => Ok(Py::new(py, Taken::new(taken))?.into_any()),
        taken: quotalock::TakenAll => Ok(Py::new(py, TakenAll::new(taken))?.into_any()),
        status: quotalock::StockStatus => Ok(Py::new(py, StockStatus::new(status))?.into_any()),
        page: quotalock::StockPage => Ok(Py::new(py, StockPage::new(page))?.into_any()),
        entries: Vec<quotalock::LedgerEntry> => {
            let entries = entries.into_iter().map(|entry| Py::new(py, LedgerEntry::new(entry)));
            Ok(PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?.into_any().unbind())
        },
        stored: Option<quotalock::testing::Stored> => {
            let pair = stored.map(|stored| (PyBytes::new(py, &stored.value).unbind(), stored.ttl_ms));
            Ok(pair.into_pyobject(py)?.unbind())
        },
    };
    Err(internal(py, format!("no Python value for {other:?}")))
}
