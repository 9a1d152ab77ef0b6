//! What a loop holds on to for a driver, and lets go when it is closed.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use crate::ending::enter;
use crate::link::LoopDriver;

/// What the loop calls when the link rings. It belongs to the loop alone: when it goes, nobody awaits anything there any
/// more.
#[pyclass(frozen, module = "quotalock._native")]
pub struct Doorbell {
    driver: Py<LoopDriver>,
}

impl Doorbell {
    /// Makes the bell of a driver.
    pub fn new(driver: Py<LoopDriver>) -> Doorbell {
        Doorbell { driver }
    }
}

#[pymethods]
impl Doorbell {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let _inside = enter(py);
        LoopDriver::wake(self.driver.bind(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.driver)
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        let driver = self.driver.get();
        // A child of a fork that closes its parent's loop leaves the parent's connection alone.
        if driver.is_ours() {
            drop(driver.let_go());
        }
    }
}
