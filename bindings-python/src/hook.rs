//! Functions of Python code that a client tells what happened: `on_decision` and `on_lost`. They are called on the thread whose
//! call it was, when that is done, and with nothing locked.

use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::argument::{Maybe, function};
use crate::call::{call, enter};
use crate::combined::CombinedDecision;
use crate::decision::Decision;

/// Such a function, if there is one.
pub struct Hook(Option<Py<PyAny>>);

impl Hook {
    /// Reads an option of this name. What would have to be awaited is refused: nobody would await it.
    pub fn read(what: &str, given: Maybe<'_, '_>) -> PyResult<Hook> {
        static CHECK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        if let Some(given) = given {
            function(what, given)?;
            let py = given.py();
            let check = CHECK.import(py, "quotalock._hooks", "refuse_coroutines")?;
            call(check, [PyString::new(py, what).as_any(), given])?;
        }
        Ok(Hook(given.map(|given| given.clone().unbind())))
    }

    /// No function.
    pub fn none() -> Hook {
        Hook(None)
    }

    /// The same function.
    pub fn clone_ref(&self, py: Python<'_>) -> Hook {
        Hook(self.0.as_ref().map(|function| function.clone_ref(py)))
    }

    /// Whether there is one.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// For the collector of garbage.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.0.as_ref())
    }

    /// Tells `on_decision` of the decision that a call returns, or raises.
    #[inline]
    pub fn after(&self, decided: PyResult<Py<PyAny>>, key: Borrowed<'_, '_, PyAny>) -> PyResult<Py<PyAny>> {
        if let Some(function) = &self.0 {
            tell_of(function.bind(key.py()), &decided, &key)?;
        }
        decided
    }

    /// Tells `on_lost` of a lock.
    pub fn lost(&self, lock: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.as_ref().map_or(Ok(()), |function| told(function.bind(lock.py()), [lock]))
    }

    /// Tells `on_decision` of those of several decisions that are ones; `key` has the key at a place.
    pub fn after_all<'py>(
        &self,
        decided: &Bound<'py, PyAny>,
        key: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let Some(function) = &self.0 else { return Ok(()) };
        tell_all(function.bind(decided.py()), decided.cast::<CombinedDecision>()?, key)
    }
}

/// Tells a function of the decision that a call returned, or that its exception carries. Apart from its caller, so that a client
/// without a function pays for no more than the question.
#[cold]
fn tell_of(function: &Bound<'_, PyAny>, decided: &PyResult<Py<PyAny>>, key: &Bound<'_, PyAny>) -> PyResult<()> {
    let found = match decided {
        Ok(decision) => Some(decision.bind(key.py()).clone()),
        Err(error) => error.value(key.py()).getattr("decision").ok(),
    };
    found.and_then(|found| found.cast_into().ok()).map_or(Ok(()), |decision| tell(function, &decision, key))
}

/// Tells a function of a decision, if it is one; see `Hook.after`. `quotalock.aio` calls this in its caller's task.
#[pyfunction]
#[pyo3(name = "tell_decision")]
pub fn tell(function: &Bound<'_, PyAny>, decision: &Bound<'_, Decision>, key: &Bound<'_, PyAny>) -> PyResult<()> {
    if !decision.get().core().has_decided() {
        return Ok(());
    }
    told(function, [decision.as_any(), key])
}

fn tell_all<'py>(
    function: &Bound<'py, PyAny>,
    combined: &Bound<'py, CombinedDecision>,
    key: impl Fn(usize) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<()> {
    for (place, decision) in combined.get().core().decided() {
        let decision = Bound::new(function.py(), Decision::new(decision.clone()))?;
        told(function, [decision.as_any(), &key(place)?])?;
    }
    Ok(())
}

/// As `tell_decision`, of several decisions with their keys.
#[pyfunction]
pub fn tell_decisions<'py>(
    function: &Bound<'py, PyAny>,
    decision: &Bound<'py, CombinedDecision>,
    keys: &Bound<'py, PyAny>,
) -> PyResult<()> {
    tell_all(function, decision, |place| keys.get_item(place))
}

/// Tells a function of a lock; see `Hook.lost`.
#[pyfunction]
pub fn tell_lost(function: &Bound<'_, PyAny>, lock: &Bound<'_, PyAny>) -> PyResult<()> {
    told(function, [lock])
}

/// Calls a function. What it raises changes nothing for its caller, and goes to `sys.unraisablehook`; but what is no `Exception`,
/// such as Ctrl-C, is on its way to somebody else.
fn told<'py, const N: usize>(function: &Bound<'py, PyAny>, given: [&Bound<'py, PyAny>; N]) -> PyResult<()> {
    let py = function.py();
    let _inside = enter(py);
    match call(function, given) {
        Err(error) if error.is_instance_of::<PyException>(py) => error.write_unraisable(py, Some(function)),
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    Ok(())
}
