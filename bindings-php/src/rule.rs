//! `Quotalock\Rule`: one rule of a policy as an object.

use ext_php_rs::prelude::*;
use quotalock::{Algorithm, convert};

use crate::argument::{Int, Maybe, Text};
use crate::class;
use crate::exception::Outcome;
use crate::property::{self, Property, Type};

/// The properties of the class.
pub const PROPERTIES: &[Property] =
    &[("limit", Type::Int), ("periodMs", Type::Int), ("algorithm", Type::Text), ("capacity", Type::Int)];

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
    /// Makes a rule of `limit` per `periodMs` milliseconds; without a `capacity` it is the limit.
    #[php(defaults(algorithm = DEFAULT_ALGORITHM))]
    pub fn __construct(limit: Int, periodMs: Int, algorithm: Text, capacity: Maybe<Int>) -> Outcome<Rule> {
        let (limit, period) = (limit.unsigned(1, "limit")?, periodMs.micros(2, "period")?);
        let algorithm = Algorithm::parse(&algorithm.utf8(3, "algorithm")?)?;
        let capacity = capacity.0.map(|capacity| capacity.unsigned(4, "capacity")).transpose()?;
        let rule = quotalock::Rule::of(algorithm, limit, period, capacity)?;
        class::fill_this([
            property::int(rule.limit()),
            property::int(convert::ms(rule.period())),
            property::text(rule.algorithm().name()),
            property::int(rule.capacity()),
        ]);
        Ok(Rule(rule))
    }
}
