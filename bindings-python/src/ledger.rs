//! What happened to a sale, as Python shows it.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use quotalock::convert;

use crate::stock_reservation::{several, text_or_none};

/// One change of a sale, with its numbers after it.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct LedgerEntry {
    /// What to read on after.
    #[pyo3(get)]
    id: String,
    /// Its number in the sale, from 1 without a gap: one that is missing is no longer kept.
    #[pyo3(get)]
    number: u64,
    /// `opened`, `restocked`, `held`, `confirmed`, `cancelled`, `expired`, `extended` or `closed`.
    #[pyo3(get)]
    kind: &'static str,
    /// The id of the reservation; None for what is about none.
    #[pyo3(get)]
    reservation: Option<String>,
    buyer: Option<Vec<u8>>,
    /// How many units.
    #[pyo3(get)]
    quantity: u64,
    /// When, in seconds since the epoch by the server's clock.
    #[pyo3(get)]
    time: f64,
    /// Units available after it.
    #[pyo3(get)]
    available: u64,
    /// Units held after it.
    #[pyo3(get)]
    held: u64,
    /// Units sold after it.
    #[pyo3(get)]
    sold: u64,
    prizes: Vec<Vec<u8>>,
}

impl LedgerEntry {
    /// Takes the core's entry.
    pub fn new(entry: quotalock::LedgerEntry) -> LedgerEntry {
        LedgerEntry {
            id: entry.id,
            number: entry.number,
            kind: entry.kind.as_str(),
            reservation: entry.reservation,
            buyer: entry.buyer,
            quantity: entry.quantity,
            time: convert::seconds(entry.time),
            available: entry.available,
            held: entry.held,
            sold: entry.sold,
            prizes: entry.prizes,
        }
    }
}

#[pymethods]
impl LedgerEntry {
    /// The buyer; None without a reservation.
    #[getter]
    fn buyer<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.buyer.as_ref().map(|buyer| PyBytes::new(py, buyer))
    }

    /// The prizes of what was held or confirmed; empty if the sale has none.
    #[getter]
    fn prizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        several(py, &self.prizes)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let LedgerEntry { id, number, kind, quantity, time, available, held, sold, .. } = self;
        let (reservation, prizes) = (text_or_none(py, self.reservation.as_deref())?, self.prizes(py)?.repr()?);
        let buyer = self.buyer(py).into_pyobject(py)?.repr()?;
        Ok(format!(
            "LedgerEntry(id='{id}', number={number}, kind='{kind}', reservation={reservation}, buyer={buyer}, \
             quantity={quantity}, time={time:?}, available={available}, held={held}, sold={sold}, prizes={prizes})"
        ))
    }
}
