//! Rules as objects, and what may stand for a policy.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use quotalock::{Algorithm, Policy, convert};

use crate::argument::{self, kind, seconds, shown, whole};
use crate::error::raised;

/// One limit as an object: at most `limit` per `period` seconds, counted by `algorithm`; `capacity` is the most at once
/// where the algorithm has one.
#[pyclass(frozen, eq, module = "quotalock")]
#[derive(PartialEq, Eq)]
pub struct Rule(quotalock::Rule);

#[pymethods]
impl Rule {
    #[new]
    #[pyo3(signature = (limit, period, algorithm = argument::Algorithm("fixed-window"), capacity = None),
           text_signature = "(limit, period, algorithm='fixed-window', capacity=None)")]
    fn new(
        limit: &Bound<'_, PyAny>,
        period: &Bound<'_, PyAny>,
        algorithm: argument::Algorithm<'_>,
        capacity: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Rule> {
        let py = limit.py();
        let (limit, period) = (amount("limit", limit)?, seconds("period", period.as_borrowed())?);
        let capacity = capacity.map(|capacity| amount("capacity", capacity)).transpose()?;
        let algorithm = Algorithm::parse(algorithm.0);
        let rule = algorithm.and_then(|algorithm| quotalock::Rule::of(algorithm, limit, period, capacity));
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

    /// The most that may be consumed at once: the limit, unless another capacity was given.
    #[getter]
    fn capacity(&self) -> u64 {
        self.0.capacity()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let capacity = self.given_capacity().map_or(String::new(), |capacity| format!(", {capacity}"));
        format!("Rule({}, {:?}, {:?}{capacity})", self.limit(), self.period(), self.algorithm())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0.limit(), self.0.period(), self.algorithm(), self.capacity()).hash(&mut hasher);
        hasher.finish()
    }

    fn __getnewargs__(&self) -> (u64, f64, &'static str, Option<u64>) {
        (self.limit(), self.period(), self.algorithm(), self.given_capacity())
    }
}

impl Rule {
    /// The capacity if it is not the limit: only then every algorithm takes it back.
    fn given_capacity(&self) -> Option<u64> {
        Some(self.capacity()).filter(|capacity| *capacity != self.limit())
    }
}

/// A rule's limit or capacity.
fn amount(what: &str, given: &Bound<'_, PyAny>) -> PyResult<u64> {
    // An int that no number of ours holds.
    let is_huge = given.is_exact_instance_of::<PyInt>() && given.extract::<i64>().is_err() && given.gt(0)?;
    if is_huge {
        Err(raised(given.py(), &convert::above_any_rule(what, shown(given))))
    } else {
        whole(what, given.as_borrowed())
    }
}

/// Reads a policy: text, a [`Rule`], or several rules.
pub fn policy(given: &Bound<'_, PyAny>) -> PyResult<Policy> {
    let policy = if let Some(text) = text(given)? {
        Policy::parse(text)
    } else if let Ok(rule) = given.cast::<Rule>() {
        Policy::new([rule.get().0])
    } else {
        let mut rules = Vec::new();
        for item in given.try_iter().map_err(|_| refused(given))? {
            let item = item?;
            rules.push(item.cast::<Rule>().map_err(|_| refused_in_list(&item))?.get().0);
        }
        Policy::new(rules)
    };
    policy.map_err(|error| raised(given.py(), &error))
}

/// The text of a policy: as it was given, or of its rules.
pub fn spelled<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<Cow<'a, str>> {
    Ok(match text(given)? {
        Some(text) => text.into(),
        None => policy(given)?.to_string().into(),
    })
}

fn text<'a>(given: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a str>> {
    let is_text = given.is_instance_of::<PyString>();
    is_text.then(|| argument::text("policy", given.as_borrowed(), shown)).transpose()
}

fn refused_in_list(item: &Bound<'_, PyAny>) -> PyErr {
    if item.is_instance_of::<PyString>() {
        let advice = "give one str for all of them, such as \"10/minute;100/hour\", or a list of Rules";
        return PyTypeError::new_err(format!("policy is a list with the str {}: {advice}", shown(item)));
    }
    refused(item)
}

fn refused(given: &Bound<'_, PyAny>) -> PyErr {
    let advice = "give a str such as \"10/minute\", a Rule, or a list of Rules";
    PyTypeError::new_err(format!("policy {} is {}: {advice}", shown(given), kind(given)))
}
