//! What a loop holds on to for a driver, and lets go when it is closed.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::ending::enter;

/// Whom a doorbell rings for.
pub trait Owner: Send + Sync {
    /// The link has rung.
    fn wake(&self, py: Python<'_>) -> PyResult<()>;

    /// The loop has let go of the bell.
    fn let_go(&self);

    /// Shows what it holds to the garbage collector.
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError>;
}

/// What the loop calls when the link rings. It belongs to the loop alone: when it goes, nobody awaits anything there any
/// more.
#[pyclass(frozen, module = "quotalock._native")]
pub struct Doorbell {
    owner: Box<dyn Owner>,
}

impl Doorbell {
    /// Makes the bell of a driver.
    pub fn new(owner: impl Owner + 'static) -> Doorbell {
        Doorbell { owner: Box::new(owner) }
    }
}

#[pymethods]
impl Doorbell {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let _inside = enter(py);
        self.owner.wake(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.owner.traverse(&visit)
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        self.owner.let_go();
    }
}
