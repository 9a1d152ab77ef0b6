//! What is held of a stock, as Python shows it.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};
use quotalock::convert;

/// Units of a stock that are held for a buyer.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(Clone, PartialEq)]
pub struct StockReservation {
    /// The id, by which it is confirmed, cancelled and extended.
    #[pyo3(get)]
    id: String,
    /// How many units.
    #[pyo3(get)]
    quantity: u64,
    buyer: Vec<u8>,
    prizes: Vec<Vec<u8>>,
    /// When the hold ends, in seconds since the epoch by the server's clock.
    #[pyo3(get)]
    until: f64,
}

impl StockReservation {
    /// Takes the core's reservation.
    pub fn new(reservation: quotalock::StockReservation) -> StockReservation {
        let quotalock::StockReservation { id, quantity, buyer, prizes, until } = reservation;
        StockReservation { id, quantity, buyer, prizes, until: convert::seconds(until) }
    }
}

#[pymethods]
impl StockReservation {
    /// The buyer.
    #[getter]
    fn buyer<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.buyer)
    }

    /// The prizes of the units; empty if the sale has none.
    #[getter]
    fn prizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        several(py, &self.prizes)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let StockReservation { id, quantity, until, .. } = self;
        let (buyer, prizes) = (self.buyer(py).repr()?, self.prizes(py)?.repr()?);
        Ok(format!("StockReservation(id='{id}', quantity={quantity}, buyer={buyer}, prizes={prizes}, until={until:?})"))
    }
}

/// Some reservations of a stock: the answer of `Stock.reservations`.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct StockPage {
    reservations: Vec<StockReservation>,
    /// The cursor of the next page; None if there is none.
    #[pyo3(get)]
    next: Option<String>,
}

impl StockPage {
    /// Takes the core's page.
    pub fn new(page: quotalock::StockPage) -> StockPage {
        let reservations = page.reservations.into_iter().map(StockReservation::new).collect();
        StockPage { reservations, next: page.next }
    }
}

#[pymethods]
impl StockPage {
    /// The reservations, those that end first first.
    #[getter]
    fn reservations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.reservations.iter().cloned())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let next = text_or_none(py, self.next.as_deref())?;
        Ok(format!("StockPage(reservations={}, next={next})", self.reservations(py)?.repr()?))
    }
}

/// Several byte strings as a tuple.
pub fn several<'py>(py: Python<'py>, items: &[Vec<u8>]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, items.iter().map(|item| PyBytes::new(py, item)))
}

/// A text as Python writes it.
pub fn text_or_none(py: Python<'_>, text: Option<&str>) -> PyResult<String> {
    text.map_or_else(|| Ok("None".to_owned()), |text| Ok(PyString::new(py, text).repr()?.to_string()))
}
