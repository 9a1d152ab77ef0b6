//! A load on a loop: what is next the core says; the loop does it, and calls the caller's function.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use quotalock::driver::{self, LoadStep};
use quotalock::{Answer, Op};

use crate::argument::Word;
use crate::error::raised;
use crate::exception::internal;
use crate::loading::value;
use crate::seen::bytes;

/// A load of the core that a call on a loop is part of.
pub type Shared = Arc<Mutex<driver::Loading>>;

/// One load. `_next` says what is to be done: None is a step for `Client._carry`.
#[pyclass(frozen, module = "quotalock._native")]
pub struct Loading {
    core: Shared,
    step: Mutex<Option<Vec<Op<Answer>>>>,
}

#[pymethods]
impl Loading {
    /// What is next: a tuple of the values, which are all; a list of the places of the keys whose values are to be made; or
    /// None, for what is to be carried out.
    fn _next(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let next = lock(&self.core).next();
        match next.map_err(|error| raised(py, &error))? {
            LoadStep::Ask(calls) => {
                self.prepare(calls);
                Ok(None)
            }
            LoadStep::Load(places) => Ok(Some(PyList::new(py, places)?.into_any().unbind())),
            LoadStep::Done(values) => {
                let values = values.iter().map(|value| bytes(py, value.as_ref()));
                Ok(Some(PyTuple::new(py, values.collect::<Vec<_>>())?.into_any().unbind()))
            }
        }
    }

    /// Takes what was made for the places, which is then to be carried out.
    fn _loaded(&self, values: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let values = values.iter().map(|made| value("the loaded value", made)).collect::<PyResult<_>>()?;
        let calls = lock(&self.core).loaded(values);
        self.prepare(calls);
        Ok(())
    }

    /// Takes why nothing was made, which is then to be carried out.
    fn _failed(&self, error: Word<'_>) {
        let calls = lock(&self.core).failed(Some(&error.0));
        self.prepare(calls);
    }

    /// Frees the way for others, from whichever thread, without a loop.
    fn _leave(&self) {
        lock(&self.core).abandon();
        drop(lock(&self.step).take());
    }
}

impl Loading {
    /// Makes a load of what describes it.
    pub fn new(described: impl Into<driver::Loading>) -> Loading {
        Loading { core: Arc::new(Mutex::new(described.into())), step: Mutex::default() }
    }

    /// The step to be carried out, and whose it is.
    pub fn step(&self, py: Python<'_>) -> PyResult<(Vec<Op<Answer>>, Shared)> {
        let step = lock(&self.step).take();
        Ok((step.ok_or_else(|| internal(py, "there is nothing to carry out".to_owned()))?, self.core.clone()))
    }

    fn prepare(&self, calls: Vec<Op<Answer>>) {
        *lock(&self.step) = Some(calls);
    }
}

/// Locks what is touched only by threads that are attached; no Python runs while it is locked.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
