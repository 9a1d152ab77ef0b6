//! What one rule says: a part of every decision.

use pyo3::prelude::*;
use quotalock::convert;

/// A rule's answer as it is pickled: allowed, limit, remaining, and microseconds of retry_after and reset_after.
pub type PickledRule = (bool, u64, u64, Option<u64>, u64);

/// What one rule of a policy says; as a bool, whether this rule admits by itself.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq, Eq)]
pub struct RuleDecision(pub quotalock::RuleDecision);

impl RuleDecision {
    /// The answer that was pickled.
    pub fn of((allowed, limit, remaining, retry_after, reset_after): PickledRule) -> RuleDecision {
        RuleDecision(quotalock::RuleDecision { allowed, limit, remaining, retry_after, reset_after })
    }

    /// The answer as it is pickled.
    pub fn pickled(&self) -> PickledRule {
        let r = &self.0;
        (r.allowed, r.limit, r.remaining, r.retry_after, r.reset_after)
    }
}

#[pymethods]
impl RuleDecision {
    /// Makes a rule's answer of what was pickled.
    #[staticmethod]
    fn _unpickle(pickled: PickledRule) -> RuleDecision {
        RuleDecision::of(pickled)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (PickledRule,))> {
        Ok((slf.getattr("_unpickle")?, (slf.get().pickled(),)))
    }

    /// Whether this rule admits by itself.
    #[getter]
    fn allowed(&self) -> bool {
        self.0.allowed
    }

    /// The rule's limit.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit
    }

    /// What this rule would let be consumed now.
    #[getter]
    fn remaining(&self) -> u64 {
        self.0.remaining
    }

    /// After how many seconds this rule would admit the same call: 0 now, None never.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after.map(convert::seconds)
    }

    /// After how many seconds this rule is as new.
    #[getter]
    fn reset_after(&self) -> f64 {
        convert::seconds(self.0.reset_after)
    }

    fn __bool__(&self) -> bool {
        self.0.allowed
    }

    fn __repr__(&self) -> String {
        let r = &self.0;
        format!("RuleDecision({})", numbers(r.allowed, r.limit, r.remaining, r.retry_after, r.reset_after))
    }
}

/// The fields that decisions and rules have in common, as their repr shows them.
pub fn numbers(allowed: bool, limit: u64, remaining: u64, retry_after: Option<u64>, reset_after: u64) -> String {
    let retry_after = retry_after.map_or_else(|| "None".to_owned(), |wait| format!("{:?}", convert::seconds(wait)));
    let (allowed, reset_after) = (truth(allowed), convert::seconds(reset_after));
    format!(
        "allowed={allowed}, limit={limit}, remaining={remaining}, retry_after={retry_after}, reset_after={reset_after:?}"
    )
}

/// A bool as Python prints it.
pub fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
