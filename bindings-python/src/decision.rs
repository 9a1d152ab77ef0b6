//! Decisions: the core's, as Python shows them.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quotalock::{Source, convert};

use crate::exception::invalid;
use crate::rule_decision::{Numbers, RuleDecision, shown, truth};

/// A decision as it is pickled: what it has in common with rules, then cost, source, healed, the rules and would_deny.
pub type Pickled = (Numbers, u64, String, bool, Vec<Numbers>, bool);

/// The answer of a limiter for one key; as a bool, whether the call was admitted.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(Clone, PartialEq)]
pub struct Decision {
    /// Whether the call was admitted. A denied call was charged nothing.
    #[pyo3(get)]
    allowed: bool,
    /// Whether the policy denies, and only the limiter's `enforce=False` lets the call pass: it was charged nothing.
    #[pyo3(get)]
    would_deny: bool,
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
    /// The cost that was asked for; of `consume_up_to` what was taken.
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
            would_deny: decision.would_deny,
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

    /// The decision as it is pickled.
    pub fn pickled(&self) -> Pickled {
        let rules = self.rules.iter().map(RuleDecision::numbers).collect();
        (self.numbers(), self.cost, self.source.to_owned(), self.healed, rules, self.would_deny)
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
    pub fn _unpickle(py: Python<'_>, pickled: Pickled) -> PyResult<Decision> {
        let ((allowed, limit, remaining, retry_after, reset_after), cost, source, healed, rules, would_deny) = pickled;
        let source = known(py, &source)?;
        let rules = rules.into_iter().map(RuleDecision::_unpickle).collect();
        Ok(Decision { allowed, would_deny, limit, remaining, retry_after, reset_after, cost, source, healed, rules })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Pickled,))> {
        Ok((slf.getattr("_unpickle")?, (slf.get().pickled(),)))
    }

    fn __bool__(&self) -> bool {
        self.allowed
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let mut text = format!("Decision({}", shown(self.numbers()));
        text += &format!(", cost={}, source='{}', healed={}", self.cost, self.source, truth(self.healed));
        if self.would_deny {
            text += ", would_deny=True";
        }
        if self.rules.len() > 1 {
            text += &format!(", rules={}", self.rules(py)?.repr()?);
        }
        Ok(text + ")")
    }
}

/// The source of a pickled decision.
pub fn known(py: Python<'_>, source: &str) -> PyResult<&'static str> {
    let known = Source::ALL.into_iter().map(Source::as_str).find(|known| *known == source);
    known.ok_or_else(|| invalid(py, format!("source {source:?} is of another version")))
}
