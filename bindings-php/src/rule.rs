//! `Quotalock\Rule`: one rule of a policy as an object.

use ext_php_rs::prelude::*;
use quotalock::{ALGORITHMS, Algorithm, Code, Error};

use crate::argument::{Int, Text};
use crate::class;
use crate::exception::Outcome;
use crate::property::{self, Property, Type};

/// The properties of the class.
pub const PROPERTIES: &[Property] = &[("limit", Type::Int), ("periodMs", Type::Int), ("algorithm", Type::Text)];

const DEFAULT_ALGORITHM: &str = "fixed-window";

/// A rule; its properties are PHP's own.
#[php_class]
#[php(name = "Quotalock\\Rule")]
#[derive(Clone)]
pub struct Rule(quotalock::Rule);

impl Rule {
    /// The rule of the core.
    pub fn rule(&self) -> quotalock::Rule {
        self.0
    }
}

#[php_impl]
impl Rule {
    /// Makes a rule of `limit` per `periodMs` milliseconds.
    #[php(defaults(algorithm = DEFAULT_ALGORITHM))]
    pub fn __construct(limit: Int, periodMs: Int, algorithm: Text) -> Outcome<Rule> {
        let refused = |message: String| Error::new(Code::InvalidPolicy, message);
        let (limit, period) = (limit.get(1)?, periodMs.get(2)?);
        let name = algorithm.utf8(3, "algorithm")?;
        let algorithm = Algorithm::by_name(&name).ok_or_else(|| {
            let known: Vec<&str> = ALGORITHMS.iter().map(|algorithm| algorithm.name()).collect();
            refused(format!("algorithm \"{name}\" is unknown: use one of {}", known.join(", ")))
        })?;
        let amount =
            u64::try_from(limit).map_err(|_| refused(format!("amount {limit} is negative: give 1 or more")))?;
        let micros = u64::try_from(period)
            .map_err(|_| refused(format!("period of {period} ms is negative: give 1 or more")))?
            .min(u64::MAX / 1_000)
            * 1_000;
        let rule = quotalock::Rule::new(algorithm, amount, micros)?;
        class::fill_this([
            property::int(rule.limit()),
            property::int(rule.period() / 1_000),
            property::text(rule.algorithm().name()),
        ]);
        Ok(Rule(rule))
    }
}
