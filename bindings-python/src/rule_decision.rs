//! What one rule says: a part of every decision.

use pyo3::prelude::*;
use quotalock::{Algorithm, convert};

use crate::error::raised;

/// A rule's answer as it is pickled: allowed, limit, remaining, retry_after, reset_after, algorithm, quota, period and
/// capacity; times are microseconds.
pub type Numbers = (bool, u64, u64, Option<u64>, u64, String, u64, u64, u64);

/// What one rule of a policy says; as a bool, whether this rule admits by itself.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(Clone, Copy, PartialEq)]
pub struct RuleDecision(pub quotalock::RuleDecision);

impl RuleDecision {
    /// The answer as it is pickled.
    pub fn pickled(&self) -> Numbers {
        let quotalock::RuleDecision {
            allowed,
            limit,
            remaining,
            retry_after,
            reset_after,
            algorithm,
            quota,
            period,
            capacity,
        } = self.0;
        (allowed, limit, remaining, retry_after, reset_after, algorithm.to_owned(), quota, period, capacity)
    }

    /// The rule's answer of what was pickled.
    pub fn unpickled(py: Python<'_>, pickled: Numbers) -> PyResult<quotalock::RuleDecision> {
        let (allowed, limit, remaining, retry_after, reset_after, algorithm, quota, period, capacity) = pickled;
        let algorithm = Algorithm::parse(&algorithm).map_err(|error| raised(py, &error))?.name();
        Ok(quotalock::RuleDecision {
            allowed,
            limit,
            remaining,
            retry_after,
            reset_after,
            algorithm,
            quota,
            period,
            capacity,
        })
    }
}

#[pymethods]
impl RuleDecision {
    /// Whether this rule admits by itself.
    #[getter]
    fn allowed(&self) -> bool {
        self.0.allowed
    }

    /// The most that this rule admits at once: its capacity.
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

    /// How this rule counts.
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.0.algorithm
    }

    /// How much this rule admits per period.
    #[getter]
    fn quota(&self) -> u64 {
        self.0.quota
    }

    /// The period in seconds.
    #[getter]
    fn period(&self) -> f64 {
        convert::seconds(self.0.period)
    }

    /// The most that this rule admits at once.
    #[getter]
    fn capacity(&self) -> u64 {
        self.0.capacity
    }

    /// Makes a rule's answer of what was pickled.
    #[staticmethod]
    fn _unpickle(py: Python<'_>, pickled: Numbers) -> PyResult<RuleDecision> {
        RuleDecision::unpickled(py, pickled).map(RuleDecision)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Numbers,))> {
        Ok((slf.getattr("_unpickle")?, (slf.get().pickled(),)))
    }

    fn __bool__(&self) -> bool {
        self.0.allowed
    }

    fn __repr__(&self) -> String {
        let rule = &self.0;
        let shown = shown(rule.allowed, rule.limit, rule.remaining, rule.retry_after, rule.reset_after);
        format!("RuleDecision({shown})")
    }
}

/// The fields that decisions and rules have in common, as their repr shows them.
pub fn shown(allowed: bool, limit: u64, remaining: u64, retry_after: Option<u64>, reset_after: u64) -> String {
    let (allowed, retry_after, reset_after) = (truth(allowed), wait(retry_after), convert::seconds(reset_after));
    format!(
        "allowed={allowed}, limit={limit}, remaining={remaining}, retry_after={retry_after}, reset_after={reset_after:?}"
    )
}

/// A wait as its repr shows it.
pub fn wait(micros: Option<u64>) -> String {
    micros.map_or_else(|| "None".into(), |micros| format!("{:?}", convert::seconds(micros)))
}

/// A bool as Python prints it.
pub fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
