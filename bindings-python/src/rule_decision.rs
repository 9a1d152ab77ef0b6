//! What one rule says: a part of every decision.

use pyo3::prelude::*;
use quotalock::convert;

/// What decisions and rules have in common, as it is pickled: allowed, limit, remaining, retry_after and reset_after.
pub type Numbers = (bool, u64, u64, Option<f64>, f64);

/// What one rule of a policy says; as a bool, whether this rule admits by itself.
#[pyclass(frozen, eq, get_all, module = "quotalock")]
#[derive(Clone, Copy, PartialEq)]
pub struct RuleDecision {
    /// Whether this rule admits by itself.
    allowed: bool,
    /// The rule's limit.
    limit: u64,
    /// What this rule would let be consumed now.
    remaining: u64,
    /// After how many seconds this rule would admit the same call: 0 now, None never.
    retry_after: Option<f64>,
    /// After how many seconds this rule is as new.
    reset_after: f64,
}

impl RuleDecision {
    /// Takes the core's answer.
    pub fn new(rule: &quotalock::RuleDecision) -> RuleDecision {
        RuleDecision {
            allowed: rule.allowed,
            limit: rule.limit,
            remaining: rule.remaining,
            retry_after: rule.retry_after.map(convert::seconds),
            reset_after: convert::seconds(rule.reset_after),
        }
    }

    /// The answer as it is pickled.
    pub fn numbers(&self) -> Numbers {
        (self.allowed, self.limit, self.remaining, self.retry_after, self.reset_after)
    }
}

#[pymethods]
impl RuleDecision {
    /// Makes a rule's answer of what was pickled.
    #[staticmethod]
    pub fn _unpickle(pickled: Numbers) -> RuleDecision {
        let (allowed, limit, remaining, retry_after, reset_after) = pickled;
        RuleDecision { allowed, limit, remaining, retry_after, reset_after }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Numbers,))> {
        Ok((slf.getattr("_unpickle")?, (slf.get().numbers(),)))
    }

    fn __bool__(&self) -> bool {
        self.allowed
    }

    fn __repr__(&self) -> String {
        format!("RuleDecision({})", shown(self.numbers()))
    }
}

/// The fields that decisions and rules have in common, as their repr shows them.
pub fn shown((allowed, limit, remaining, retry_after, reset_after): Numbers) -> String {
    let (allowed, retry_after) =
        (truth(allowed), retry_after.map_or_else(|| "None".into(), |wait| format!("{wait:?}")));
    format!(
        "allowed={allowed}, limit={limit}, remaining={remaining}, retry_after={retry_after}, reset_after={reset_after:?}"
    )
}

/// A bool as Python prints it.
pub fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
