//! Decisions about several keys.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quotalock::convert;

use crate::decision::{Decision, Pickled, known};
use crate::rule_decision::truth;

/// The answer about several keys, charged all or none; as a bool, whether all were admitted.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct CombinedDecision {
    /// Whether all were admitted, and charged. If not, none was.
    #[pyo3(get)]
    allowed: bool,
    /// Whether a limiter that is not enforced denies.
    #[pyo3(get)]
    would_deny: bool,
    /// The index in `decisions` of the one that binds.
    #[pyo3(get)]
    binding: usize,
    /// After how many seconds the same call would be admitted if nobody else called: 0 when admitted, None when never.
    #[pyo3(get)]
    retry_after: Option<f64>,
    /// Who answered: `redis`, `memory`, or while Redis cannot `local`, `open` or `closed`.
    #[pyo3(get)]
    source: &'static str,
    decisions: Vec<Decision>,
}

/// As it is pickled: allowed, would_deny, binding, retry_after, source and the decisions.
type PickledAll = (bool, bool, usize, Option<f64>, String, Vec<Pickled>);

impl CombinedDecision {
    /// Takes the core's decision.
    pub fn new(decision: quotalock::CombinedDecision) -> CombinedDecision {
        CombinedDecision {
            allowed: decision.allowed,
            would_deny: decision.would_deny,
            binding: decision.binding,
            retry_after: decision.retry_after.map(convert::seconds),
            source: decision.source.as_str(),
            decisions: decision.decisions.into_iter().map(Decision::new).collect(),
        }
    }
}

#[pymethods]
impl CombinedDecision {
    /// The decision about each key, in the order given.
    #[getter]
    fn decisions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.decisions.iter().cloned())
    }

    /// Makes a decision of what was pickled.
    #[staticmethod]
    fn _unpickle(py: Python<'_>, pickled: PickledAll) -> PyResult<CombinedDecision> {
        let (allowed, would_deny, binding, retry_after, source, decisions) = pickled;
        let decisions = decisions.into_iter().map(|each| Decision::_unpickle(py, each)).collect::<PyResult<_>>()?;
        let source = known(py, &source)?;
        Ok(CombinedDecision { allowed, would_deny, binding, retry_after, source, decisions })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (PickledAll,))> {
        let d = slf.get();
        let decisions = d.decisions.iter().map(Decision::pickled).collect();
        let pickled = (d.allowed, d.would_deny, d.binding, d.retry_after, d.source.to_owned(), decisions);
        Ok((slf.getattr("_unpickle")?, (pickled,)))
    }

    fn __bool__(&self) -> bool {
        self.allowed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let retry_after = self.retry_after.map_or_else(|| "None".to_owned(), |wait| format!("{wait:?}"));
        let (allowed, would_deny, binding) = (truth(self.allowed), truth(self.would_deny), self.binding);
        let decisions = self.decisions(py)?.repr()?;
        Ok(format!(
            "CombinedDecision(allowed={allowed}, would_deny={would_deny}, binding={binding}, \
             retry_after={retry_after}, source='{}', decisions={decisions})",
            self.source
        ))
    }
}
