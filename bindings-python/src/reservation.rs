//! A reservation: an estimate that was charged, to be settled when the actual amount is known.

use std::sync::Arc;

use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::argument::{shown, whole};
use crate::carrier::Carrier;
use crate::unkept::warn;

/// An amount held by `Limiter.reserve`; as a bool, whether it is held, as far as is known.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Reservation {
    core: quotalock::Reservation,
    carrier: Arc<Carrier>,
    /// The key as it was given: a str or bytes.
    key: Py<PyAny>,
    /// The answer of `reserve`; none if this was made from a key and an id.
    decision: PyOnceLock<Py<PyAny>>,
}

impl Reservation {
    /// Wraps the core's reservation.
    pub fn new(core: quotalock::Reservation, carrier: Arc<Carrier>, key: Py<PyAny>) -> Reservation {
        Reservation { core, carrier, key, decision: PyOnceLock::new() }
    }

    /// Whether it is held, as far as is known.
    fn is_held(&self, py: Python<'_>) -> PyResult<bool> {
        self.decision.get(py).map_or(Ok(true), |decision| decision.is_truthy(py))
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
        self.decision.get(py).map(|decision| decision.clone_ref(py))
    }

    /// Takes the answer of `reserve`.
    pub fn _decided(&self, py: Python<'_>, decision: Py<PyAny>) {
        let _ = self.decision.set(py, decision);
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
        self.is_held(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<quotalock.Reservation {} of {}>", self.core.id(), shown(self.key.bind(py)))
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // Only Python drops it, so this thread is attached.
        Python::attach(|py| {
            if self.decision.get(py).is_some()
                && self.is_held(py).unwrap_or(false)
                && let Some(message) = self.core.let_go()
            {
                warn::<PyResourceWarning>(py, &message);
            }
        });
    }
}
