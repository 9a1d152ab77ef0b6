//! Rules as objects, and what may stand for a policy.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use quotalock::{Algorithm, Policy, convert};

use crate::argument::{kind, seconds, shown, whole};
use crate::error::raised;

/// One limit as an object: at most `limit` per `period` seconds, counted by `algorithm`.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq, Eq)]
pub struct Rule(quotalock::Rule);

#[pymethods]
impl Rule {
    #[new]
    #[pyo3(signature = (limit, period, algorithm = "fixed-window"))]
    fn new(limit: &Bound<'_, PyAny>, period: &Bound<'_, PyAny>, algorithm: &str) -> PyResult<Rule> {
        let py = limit.py();
        let (limit, period) = (whole("limit", limit.as_borrowed())?, seconds("period", period.as_borrowed())?);
        let rule = Algorithm::parse(algorithm).and_then(|algorithm| quotalock::Rule::new(algorithm, limit, period));
        rule.map(Rule).map_err(|error| raised(py, &error))
    }

    /// The amount per period.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit()
    }

    /// The period in seconds.
    #[getter]
    fn period(&self) -> f64 {
        convert::seconds(self.0.period())
    }

    /// How the rule counts, such as `fixed-window`.
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.0.algorithm().name()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Rule({}, {:?}, {:?})", self.limit(), self.period(), self.algorithm())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0.limit(), self.0.period(), self.algorithm()).hash(&mut hasher);
        hasher.finish()
    }

    fn __getnewargs__(&self) -> (u64, f64, &'static str) {
        (self.limit(), self.period(), self.algorithm())
    }
}

/// Reads a policy: text, a [`Rule`], or several rules.
pub fn policy(given: &Bound<'_, PyAny>) -> PyResult<Policy> {
    let py = given.py();
    let refused = |what: &Bound<'_, PyAny>| {
        let advice = "give a str such as \"10/minute\", a Rule, or a list of Rules";
        PyTypeError::new_err(format!("policy {} is {}: {advice}", shown(what), kind(what)))
    };
    let policy = if let Ok(text) = given.cast::<PyString>() {
        Policy::parse(text.to_str().map_err(|_| refused(given))?)
    } else if let Ok(rule) = given.cast::<Rule>() {
        Policy::new([rule.get().0])
    } else {
        let mut rules = Vec::new();
        for item in given.try_iter().map_err(|_| refused(given))? {
            let item = item?;
            rules.push(item.cast::<Rule>().map_err(|_| refused(&item))?.get().0);
        }
        Policy::new(rules)
    };
    policy.map_err(|error| raised(py, &error))
}
