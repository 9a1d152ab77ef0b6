//! What became of a take, as Python shows it.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::stock_reservation::StockReservation;

/// The answer of `Stock.take`; as a bool, whether the units are held.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct Taken {
    /// `held`, `sold_out`, `buyer_limit`, `not_open` or `ended`.
    #[pyo3(get)]
    outcome: &'static str,
    reservation: Option<StockReservation>,
    /// How many units are available after it.
    #[pyo3(get)]
    available: u64,
}

impl Taken {
    /// Takes the core's answer.
    pub fn new(taken: quotalock::Taken) -> Taken {
        let reservation = taken.reservation.map(StockReservation::new);
        Taken { outcome: taken.outcome.as_str(), reservation, available: taken.available }
    }
}

#[pymethods]
impl Taken {
    /// What is held; None unless the outcome is `held`.
    #[getter]
    fn reservation(&self) -> Option<StockReservation> {
        self.reservation.clone()
    }

    fn __bool__(&self) -> bool {
        self.reservation.is_some()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let reservation = self.reservation().into_pyobject(py)?.repr()?;
        Ok(format!("Taken(outcome='{}', reservation={reservation}, available={})", self.outcome, self.available))
    }
}

/// The answer of `Client.take_all`; as a bool, whether all the units are held. If not, none is.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct TakenAll {
    /// `held`, or why the first stock that refuses does: `sold_out`, `buyer_limit`, `not_open` or `ended`.
    #[pyo3(get)]
    outcome: &'static str,
    /// The place of the stock that refuses among those given, from 0; None if none does.
    #[pyo3(get)]
    refused: Option<usize>,
    reservations: Vec<StockReservation>,
    available: Vec<u64>,
}

impl TakenAll {
    /// Takes the core's answer.
    pub fn new(taken: quotalock::TakenAll) -> TakenAll {
        TakenAll {
            outcome: taken.outcome.as_str(),
            refused: taken.refused,
            reservations: taken.reservations.into_iter().map(StockReservation::new).collect(),
            available: taken.available,
        }
    }
}

#[pymethods]
impl TakenAll {
    /// What is held of each stock, in the order given; empty unless the outcome is `held`.
    #[getter]
    fn reservations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.reservations.iter().cloned())
    }

    /// How many units of each stock are available after it, in the order given.
    #[getter]
    fn available<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.available)
    }

    fn __bool__(&self) -> bool {
        !self.reservations.is_empty()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let refused = self.refused.map_or_else(|| "None".to_owned(), |at| at.to_string());
        let (reservations, available) = (self.reservations(py)?.repr()?, self.available(py)?.repr()?);
        let outcome = self.outcome;
        Ok(format!(
            "TakenAll(outcome='{outcome}', refused={refused}, reservations={reservations}, available={available})"
        ))
    }
}
