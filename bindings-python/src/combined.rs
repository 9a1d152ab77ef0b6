//! Decisions about several keys.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quotalock::convert;

use crate::decision::{Decision, Pickled, known};
use crate::http;
use crate::rule_decision::{truth, wait};

/// The answer about several keys, charged all or none; as a bool, whether all were admitted.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct CombinedDecision(quotalock::CombinedDecision);

/// As it is pickled: allowed, would_deny, binding, retry_after in microseconds, source and the decisions.
type PickledAll = (bool, bool, usize, Option<u64>, String, Vec<Pickled>);

impl CombinedDecision {
    /// Takes the core's decision.
    pub fn new(decision: quotalock::CombinedDecision) -> CombinedDecision {
        CombinedDecision(decision)
    }

    /// The core's decision.
    pub fn core(&self) -> &quotalock::CombinedDecision {
        &self.0
    }
}

#[pymethods]
impl CombinedDecision {
    /// Whether all were admitted, and charged. If not, none was.
    #[getter]
    fn allowed(&self) -> bool {
        self.0.allowed
    }

    /// Whether a limiter that is not enforced denies.
    #[getter]
    fn would_deny(&self) -> bool {
        self.0.would_deny
    }

    /// The index in `decisions` of the one that binds.
    #[getter]
    fn binding(&self) -> usize {
        self.0.binding
    }

    /// After how many seconds the same call would be admitted without other calls: 0 when admitted, None when never.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after.map(convert::seconds)
    }

    /// Who answered: `redis`, `memory`, or while Redis cannot `local`, `open` or `closed`.
    #[getter]
    fn source(&self) -> &'static str {
        self.0.source.as_str()
    }

    /// The decision about each key, in the order given.
    #[getter]
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.decisions.iter().cloned().map(Decision::new))
    }

    /// The header fields of an answer to the request that was decided.
    #[pyo3(signature = (syntax = "draft-11", legacy = false))]
    fn headers<'py>(&self, py: Python<'py>, syntax: &str, legacy: bool) -> PyResult<Bound<'py, PyDict>> {
        http::headers(py, syntax, legacy, |options| self.0.headers(options))
    }

    /// The body of the answer to the request that was denied.
    fn problem<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        http::problem(py, self.0.problem())
    }

    /// Makes a decision of what was pickled.
    #[staticmethod]
    fn _unpickle(py: Python<'_>, pickled: PickledAll) -> PyResult<CombinedDecision> {
        let (allowed, would_deny, binding, retry_after, source, decisions) = pickled;
        let decisions = decisions.into_iter().map(|each| Decision::unpickled(py, each)).collect::<PyResult<_>>()?;
        let source = known(py, &source)?;
        let decision = quotalock::CombinedDecision { allowed, would_deny, binding, retry_after, source, decisions };
        Ok(CombinedDecision(decision))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (PickledAll,))> {
        let d = &slf.get().0;
        let decisions = d.decisions.iter().map(Decision::pickled).collect();
        let pickled = (d.allowed, d.would_deny, d.binding, d.retry_after, d.source.to_string(), decisions);
        Ok((slf.getattr("_unpickle")?, (pickled,)))
    }

    fn __bool__(&self) -> bool {
        self.0.allowed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let d = &self.0;
        let (allowed, would_deny, binding) = (truth(d.allowed), truth(d.would_deny), d.binding);
        let (retry_after, decisions) = (wait(d.retry_after), self.decisions(py)?.repr()?);
        Ok(format!(
            "CombinedDecision(allowed={allowed}, would_deny={would_deny}, binding={binding}, \
             retry_after={retry_after}, source='{}', decisions={decisions})",
            d.source
        ))
    }
}
