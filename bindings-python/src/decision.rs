//! Decisions: the core's, as Python shows them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use quotalock::{Answer, Source, convert};

use crate::error::{internal, invalid};

/// What decisions and rules have in common, as it is pickled: allowed, limit, remaining, retry_after and reset_after.
type Numbers = (bool, u64, u64, Option<f64>, f64);
/// A decision as it is pickled: what it has in common with rules, then cost, source, healed and the rules.
type Pickled = (Numbers, u64, String, bool, Vec<Numbers>);

/// The answer of a limiter for one key; as a bool, whether the call was admitted.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq)]
pub struct Decision {
    /// Whether the call was admitted. A denied call was charged nothing.
    #[pyo3(get)]
    allowed: bool,
    /// The limit of the rule that binds.
    #[pyo3(get)]
    limit: u64,
    /// What could be consumed now; 0 while the key is blocked.
    #[pyo3(get)]
    remaining: u64,
    /// After how many seconds the same call would be admitted if nobody else called: 0 when admitted, None when never.
    #[pyo3(get)]
    retry_after: Option<f64>,
    /// After how many seconds the key is as new.
    #[pyo3(get)]
    reset_after: f64,
    /// The cost that was asked for.
    #[pyo3(get)]
    cost: u64,
    /// Who answered: `redis`, `memory`, or while Redis cannot `local`, `open` or `closed`.
    #[pyo3(get)]
    source: &'static str,
    /// Whether a value that was not ours stood at the key and was replaced.
    #[pyo3(get)]
    healed: bool,
    rules: Vec<RuleDecision>,
}

impl Decision {
    /// Takes the core's decision.
    pub fn new(decision: quotalock::Decision) -> Decision {
        Decision {
            allowed: decision.allowed,
            limit: decision.limit,
            remaining: decision.remaining,
            retry_after: decision.retry_after.map(convert::seconds),
            reset_after: convert::seconds(decision.reset_after),
            cost: decision.cost,
            source: decision.source.as_str(),
            healed: decision.healed,
            rules: decision.rules.iter().map(RuleDecision::new).collect(),
        }
    }

    fn numbers(&self) -> Numbers {
        (self.allowed, self.limit, self.remaining, self.retry_after, self.reset_after)
    }
}

#[pymethods]
impl Decision {
    /// The answer of each rule, in the order of the policy.
    #[getter]
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.rules.iter().copied())
    }

    /// Makes a decision of what was pickled.
    #[staticmethod]
    fn _unpickle(py: Python<'_>, pickled: Pickled) -> PyResult<Decision> {
        let ((allowed, limit, remaining, retry_after, reset_after), cost, source, healed, rules) = pickled;
        let known = Source::ALL.into_iter().map(Source::as_str).find(|known| *known == source);
        let source = known.ok_or_else(|| invalid(py, format!("source {source:?} is of another version")))?;
        let rules = rules.into_iter().map(RuleDecision::_unpickle).collect();
        Ok(Decision { allowed, limit, remaining, retry_after, reset_after, cost, source, healed, rules })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Pickled,))> {
        let d = slf.get();
        let rules = d.rules.iter().map(RuleDecision::numbers).collect();
        Ok((slf.getattr("_unpickle")?, ((d.numbers(), d.cost, d.source.to_owned(), d.healed, rules),)))
    }

    fn __bool__(&self) -> bool {
        self.allowed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("Decision({}", shown(self.numbers()));
        text += &format!(", cost={}, source='{}', healed={}", self.cost, self.source, truth(self.healed));
        if self.rules.len() > 1 {
            text += &format!(", rules={}", self.rules(py)?.repr()?);
        }
        Ok(text + ")")
    }
}

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
    fn new(rule: &quotalock::RuleDecision) -> RuleDecision {
        RuleDecision {
            allowed: rule.allowed,
            limit: rule.limit,
            remaining: rule.remaining,
            retry_after: rule.retry_after.map(convert::seconds),
            reset_after: convert::seconds(rule.reset_after),
        }
    }

    fn numbers(&self) -> Numbers {
        (self.allowed, self.limit, self.remaining, self.retry_after, self.reset_after)
    }
}

#[pymethods]
impl RuleDecision {
    /// Makes a rule's answer of what was pickled.
    #[staticmethod]
    fn _unpickle(pickled: Numbers) -> RuleDecision {
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
fn shown((allowed, limit, remaining, retry_after, reset_after): Numbers) -> String {
    let (allowed, retry_after) =
        (truth(allowed), retry_after.map_or_else(|| "None".into(), |wait| format!("{wait:?}")));
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
        Answer::Decision(decision) => Ok(Py::new(py, Decision::new(decision))?.into_any()),
        Answer::Flag(flag) => Ok(flag.into_pyobject(py)?.to_owned().into_any().unbind()),
        Answer::Stored(stored) => {
            let pair = stored.map(|stored| (PyBytes::new(py, &stored.value).unbind(), stored.ttl_ms));
            Ok(pair.into_pyobject(py)?.unbind())
        }
        other => Err(internal(py, format!("no Python value for {other:?}"))),
    }
}
