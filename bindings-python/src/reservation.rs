//! A reservation: an estimate that was charged, to be settled when the actual amount is known.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::argument::{shown, whole};
use crate::carrier::Carrier;

/// An amount held by `Limiter.reserve`; as a bool, whether it is held, as far as is known.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Reservation {
    core: quotalock::Reservation,
    carrier: Arc<Carrier>,
    /// The key as it was given: a str or bytes.
    key: Py<PyAny>,
    /// The answer of `reserve`; none if this was made from a key and an id.
    decision: Option<Py<PyAny>>,
}

impl Reservation {
    /// Wraps the core's reservation.
    pub fn new(core: quotalock::Reservation, carrier: Arc<Carrier>, key: Py<PyAny>) -> Reservation {
        Reservation { core, carrier, key, decision: None }
    }

    /// The same with the answer of `reserve`.
    pub fn with(self, decision: Py<PyAny>) -> Reservation {
        Reservation { decision: Some(decision), ..self }
    }
}

#[pymethods]
impl Reservation {
    /// The key as it was given.
    #[getter]
    fn key(&self, py: Python<'_>) -> Py<PyAny> {
        self.key.clone_ref(py)
    }

    /// The id: 32 hexadecimal digits.
    #[getter]
    fn id(&self) -> String {
        self.core.id()
    }

    /// The answer of `reserve`; None if this was made by `reservation`.
    #[getter]
    fn decision(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.decision.as_ref().map(|decision| decision.clone_ref(py))
    }

    /// Puts the `actual` amount in the place of the estimate. False if the reservation had ended, or was settled with
    /// another amount: then nothing changed.
    fn settle(&self, py: Python<'_>, actual: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let actual = whole("actual", actual.as_borrowed())?;
        self.carrier.make(py, self.core.settle(actual))
    }

    /// Gives the whole estimate back, as `settle(0)`.
    fn cancel(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.cancel())
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.decision.as_ref().map_or(Ok(true), |decision| decision.is_truthy(py))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<quotalock.Reservation {} of {}>", self.core.id(), shown(self.key.bind(py)))
    }
}
