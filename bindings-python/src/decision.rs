//! Decisions: the core's, as Python shows them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use quotalock::{Source, convert};

use crate::exception::invalid;
use crate::http;
use crate::rule_decision::{Numbers, RuleDecision, shown, truth};

/// A decision as it is pickled: name, allowed, would_deny, limit, remaining, retry_after, reset_after, cost, source, healed
/// and the rules; times are microseconds.
pub type Pickled = (String, bool, bool, u64, u64, Option<u64>, u64, u64, String, bool, Vec<Numbers>);

/// The answer of a limiter for one key; as a bool, whether the call was admitted.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(Clone, PartialEq)]
pub struct Decision(quotalock::Decision);

impl Decision {
    /// Takes the core's decision.
    pub fn new(decision: quotalock::Decision) -> Decision {
        Decision(decision)
    }

    /// The core's decision.
    pub fn core(&self) -> &quotalock::Decision {
        &self.0
    }

    /// The decision as it is pickled.
    pub fn pickled(decision: &quotalock::Decision) -> Pickled {
        let d = decision;
        let rules = d.rules.iter().map(|rule| RuleDecision(*rule).pickled()).collect();
        let (name, source) = (d.name.to_string(), d.source.to_string());
        (
            name,
            d.allowed,
            d.would_deny,
            d.limit,
            d.remaining,
            d.retry_after,
            d.reset_after,
            d.cost,
            source,
            d.healed,
            rules,
        )
    }

    /// The decision of what was pickled.
    pub fn unpickled(py: Python<'_>, pickled: Pickled) -> PyResult<quotalock::Decision> {
        let (name, allowed, would_deny, limit, remaining, retry_after, reset_after, cost, source, healed, rules) =
            pickled;
        let rules = rules.into_iter().map(|rule| RuleDecision::unpickled(py, rule)).collect::<PyResult<_>>()?;
        Ok(quotalock::Decision {
            name: name.into(),
            allowed,
            would_deny,
            limit,
            remaining,
            retry_after,
            reset_after,
            cost,
            source: known(py, &source)?,
            healed,
            rules,
        })
    }
}

#[pymethods]
impl Decision {
    /// The name of the limiter.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether the call was admitted. A denied call was charged nothing.
    #[getter]
    fn allowed(&self) -> bool {
        self.0.allowed
    }

    /// Whether the policy denies, and only the limiter's `enforce=False` lets the call pass: it was charged nothing.
    #[getter]
    fn would_deny(&self) -> bool {
        self.0.would_deny
    }

    /// The limit of the rule that binds.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit
    }

    /// What could be consumed now; 0 while the key is blocked.
    #[getter]
    fn remaining(&self) -> u64 {
        self.0.remaining
    }

    /// After how many seconds the same call would be admitted without other calls: 0 when admitted, None when never.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after.map(convert::seconds)
    }

    /// After how many seconds the key is as new.
    #[getter]
    fn reset_after(&self) -> f64 {
        convert::seconds(self.0.reset_after)
    }

    /// The cost that was asked for; of `consume_up_to` what was taken.
    #[getter]
    fn cost(&self) -> u64 {
        self.0.cost
    }

    /// Who answered: `redis`, `deny-cache` (this process, by what Redis denied a moment ago), `memory`, or while Redis cannot
    /// `local`, `open` or `closed`.
    #[getter]
    fn source(&self) -> &'static str {
        self.0.source.as_str()
    }

    /// Whether a value that was not ours stood at the key and was replaced.
    #[getter]
    fn healed(&self) -> bool {
        self.0.healed
    }

    /// The answer of each rule, in the order of the policy.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.rules.iter().copied().map(RuleDecision))
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
    fn _unpickle(py: Python<'_>, pickled: Pickled) -> PyResult<Decision> {
        Decision::unpickled(py, pickled).map(Decision)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Pickled,))> {
        Ok((slf.getattr("_unpickle")?, (Decision::pickled(&slf.get().0),)))
    }

    fn __bool__(&self) -> bool {
        self.0.allowed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let d = &self.0;
        let mut text = format!("Decision({}", shown(d.allowed, d.limit, d.remaining, d.retry_after, d.reset_after));
        text += &format!(", cost={}, source='{}', healed={}", d.cost, d.source, truth(d.healed));
        if d.would_deny {
            text += ", would_deny=True";
        }
        if d.rules.len() > 1 {
            text += &format!(", rules={}", self.rules(py)?.repr()?);
        }
        Ok(text + ")")
    }
}

/// The source of a pickled decision.
pub fn known(py: Python<'_>, source: &str) -> PyResult<Source> {
    Source::by_name(source).ok_or_else(|| invalid(py, format!("source {source:?} is of another version")))
}
