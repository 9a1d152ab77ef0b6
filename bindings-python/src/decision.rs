//! Decisions: the core's, read through properties.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use quotalock::{Answer, Source, convert};

use crate::error::{internal, invalid};

/// The answer of a limiter for one key; as a bool, whether the call was admitted.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq, Eq)]
pub struct Decision(quotalock::Decision);

/// A rule's answer as it is pickled: allowed, limit, remaining, and microseconds of retry_after and reset_after.
type PickledRule = (bool, u64, u64, Option<u64>, u64);
/// A decision as it is pickled: as a rule, then cost, source, healed and the rules.
type Pickled = (PickledRule, u64, String, bool, Vec<PickledRule>);

impl Decision {
    /// Wraps the core's decision.
    pub fn new(decision: quotalock::Decision) -> Decision {
        Decision(decision)
    }
}

#[pymethods]
impl Decision {
    /// Whether the call was admitted. A denied call was charged nothing.
    #[getter]
    fn allowed(&self) -> bool {
        self.0.allowed
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

    /// After how many seconds the same call would be admitted if nobody else called: 0 when admitted, None when never.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after.map(convert::seconds)
    }

    /// After how many seconds the key is as new.
    #[getter]
    fn reset_after(&self) -> f64 {
        convert::seconds(self.0.reset_after)
    }

    /// The cost that was asked for.
    #[getter]
    fn cost(&self) -> u64 {
        self.0.cost
    }

    /// Who answered: `redis`, `memory`, or while Redis cannot `local`, `open` or `closed`.
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
        PyTuple::new(py, self.0.rules.iter().map(|rule| RuleDecision(*rule)))
    }

    /// Makes a decision of what was pickled.
    #[staticmethod]
    fn _unpickle(py: Python<'_>, pickled: Pickled) -> PyResult<Decision> {
        let ((allowed, limit, remaining, retry_after, reset_after), cost, source, healed, rules) = pickled;
        let known = Source::ALL.into_iter().find(|known| known.as_str() == source);
        let source = known.ok_or_else(|| invalid(py, format!("source {source:?} is of another version")))?;
        let rules = rules.into_iter().map(|rule| RuleDecision::of(rule).0).collect();
        let decision = quotalock::Decision {
            allowed,
            would_deny: false,
            limit,
            remaining,
            retry_after,
            reset_after,
            cost,
            source,
            healed,
            rules,
        };
        Ok(Decision(decision))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Pickled,))> {
        let d = &slf.get().0;
        let whole = (d.allowed, d.limit, d.remaining, d.retry_after, d.reset_after);
        let rules = d.rules.iter().map(|rule| RuleDecision(*rule).pickled()).collect();
        Ok((slf.getattr("_unpickle")?, ((whole, d.cost, d.source.to_string(), d.healed, rules),)))
    }

    fn __bool__(&self) -> bool {
        self.0.allowed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let d = &self.0;
        let mut text = format!("Decision({}", numbers(d.allowed, d.limit, d.remaining, d.retry_after, d.reset_after));
        text += &format!(", cost={}, source='{}', healed={}", d.cost, d.source, truth(d.healed));
        if d.rules.len() > 1 {
            text += &format!(", rules={}", self.rules(py)?.repr()?);
        }
        Ok(text + ")")
    }
}

/// What one rule of a policy says; as a bool, whether this rule admits by itself.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq, Eq)]
pub struct RuleDecision(quotalock::RuleDecision);

impl RuleDecision {
    fn of((allowed, limit, remaining, retry_after, reset_after): PickledRule) -> RuleDecision {
        RuleDecision(quotalock::RuleDecision { allowed, limit, remaining, retry_after, reset_after })
    }

    fn pickled(&self) -> PickledRule {
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
fn numbers(allowed: bool, limit: u64, remaining: u64, retry_after: Option<u64>, reset_after: u64) -> String {
    let retry_after = retry_after.map_or_else(|| "None".to_owned(), |wait| format!("{:?}", convert::seconds(wait)));
    let (allowed, reset_after) = (truth(allowed), convert::seconds(reset_after));
    format!(
        "allowed={allowed}, limit={limit}, remaining={remaining}, retry_after={retry_after}, reset_after={reset_after:?}"
    )
}

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// What a caller gets for an answer: a `Decision`, a bool, or for tests `(value, ttl_ms)` or None.
pub fn object(py: Python<'_>, answer: Answer) -> PyResult<Py<PyAny>> {
    match answer {
        Answer::Decision(decision) => Ok(Py::new(py, Decision(decision))?.into_any()),
        Answer::Flag(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any().unbind()),
        Answer::Stored(stored) => {
            let pair = stored.map(|stored| (PyBytes::new(py, &stored.value).unbind(), stored.ttl_ms));
            Ok(pair.into_pyobject(py)?.unbind())
        }
        other => Err(internal(py, format!("no Python value for {other:?}"))),
    }
}
