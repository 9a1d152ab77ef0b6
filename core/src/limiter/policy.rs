//! What a user asks for: one or more rules, as text or as objects, with one canonical form.

mod grammar;

use std::fmt;
use std::str::FromStr;

use crate::base::error::{Code, Error, Result, span};
use crate::limiter::algorithm::Algorithm;

/// The largest amount of a rule, 2^52: sums of two stay exact in Lua's and JavaScript's numbers.
pub const MAX_LIMIT: u64 = 1 << 52;
/// The largest amount of a sliding-log, 2^39.
pub const MAX_LOG_LIMIT: u64 = crate::limiter::algorithm::log::LOG_MOST;
/// The shortest period of a rule in microseconds: 1 ms.
pub const MIN_PERIOD: u64 = 1_000;
/// The longest period or block in microseconds: 36,500 days.
pub const MAX_PERIOD: u64 = 36_500 * 86_400 * 1_000_000;
/// The most rules in one policy.
pub const MAX_RULES: usize = 10;

/// One limit: at most `limit` per `period`, counted by an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    algorithm: Algorithm,
    limit: u64,
    period: u64,
    capacity: u64,
    /// As the algorithm computes with them.
    rate: Rate,
}

/// A limit and a period; without their common divisor where a capacity makes the exact interval count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    pub limit: u64,
    pub period: u64,
}

impl Rate {
    /// Without the common divisor.
    pub fn reduced(limit: u64, period: u64) -> Rate {
        let divisor = greatest_common_divisor(limit, period);
        Rate { limit: limit / divisor, period: period / divisor }
    }
}

impl Rule {
    /// Makes a rule of `limit` (1 to [`MAX_LIMIT`]) per `period` microseconds ([`MIN_PERIOD`] to [`MAX_PERIOD`]).
    ///
    /// # Errors
    /// `invalid_policy` for an amount or period out of these bounds.
    pub fn new(algorithm: Algorithm, limit: u64, period: u64) -> Result<Rule> {
        Rule::of(algorithm, limit, period, None)
    }

    /// The same rule with another capacity: the most that may be consumed at once, 1 to [`MAX_LIMIT`].
    ///
    /// # Errors
    /// As [`of`](Rule::of).
    pub fn with_capacity(self, capacity: u64) -> Result<Rule> {
        Rule::of(self.algorithm, self.limit, self.period, Some(capacity))
    }

    /// As [`new`](Rule::new), with a capacity: the most that may be consumed at once, 1 to [`MAX_LIMIT`]; without one it is
    /// the limit.
    ///
    /// # Errors
    /// As [`new`](Rule::new); `invalid_policy` for a capacity with an algorithm that takes none, for 0, or for so much that
    /// it would take decades to fill.
    pub fn of(algorithm: Algorithm, limit: u64, period: u64, capacity: Option<u64>) -> Result<Rule> {
        let refuse = |message: String| Err(Error::new(Code::InvalidPolicy, message));
        if limit == 0 {
            return refuse("amount 0 admits nobody: give at least 1".into());
        }
        if limit > MAX_LIMIT {
            return refuse(format!("amount {limit} is more than {MAX_LIMIT} (2^52): give less"));
        }
        if algorithm.definition().has_log() && limit > MAX_LOG_LIMIT {
            return refuse(format!(
                "amount {limit} is more than {MAX_LOG_LIMIT} (2^39), too much for a log of all admissions: give less"
            ));
        }
        if period < MIN_PERIOD {
            return refuse(format!("period of {} is under 1 ms: give at least 1 ms", span(period)));
        }
        if !period.is_multiple_of(1_000) {
            return refuse(format!("period of {} is not in whole milliseconds: round it", span(period)));
        }
        if period > MAX_PERIOD {
            return refuse(format!("period of {} is over 36500 days: give less", span(period)));
        }
        if !algorithm.definition().has_capacity() {
            if capacity.is_some() {
                let name = algorithm.name();
                return refuse(format!("capacity is for token-bucket, not for {name}: leave it out"));
            }
            return Ok(Rule { algorithm, limit, period, capacity: limit, rate: Rate { limit, period } });
        }
        let (given, capacity, rate) = (capacity, capacity.unwrap_or(limit), Rate::reduced(limit, period));
        if capacity == 0 {
            return refuse("capacity 0 admits nobody: give at least 1".into());
        }
        let fits = |a: u64, b: u64| u128::from(a) * u128::from(b) <= u128::from(MAX_LIMIT);
        // Lua counts exactly to 2^53: both products appear there.
        if !fits(capacity, rate.limit)
            || u128::from(capacity) * u128::from(rate.period) > u128::from(rate.limit) * u128::from(MAX_PERIOD)
        {
            return refuse(match given {
                Some(_) => {
                    format!("amount {limit} with capacity {capacity} is too large to count exactly: give less")
                }
                None => format!(
                    "amount {limit} is too large to count exactly with a capacity of the same size: give a smaller capacity"
                ),
            });
        }
        Ok(Rule { algorithm, limit, period, capacity, rate })
    }

    /// How the rule counts.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The amount per period.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The period in microseconds.
    pub fn period(&self) -> u64 {
        self.period
    }

    /// The most that may be consumed at once: the limit, unless the rule says a capacity.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Limit and period as the algorithm computes with them.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }
}

/// Rules that must all admit a call. Made from text (`"10/minute;100/hour"`) or from [`Rule`]s; prints in one canonical
/// form, which parses back to the same policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    rules: Box<[Rule]>,
}

impl Policy {
    /// Makes a policy of 1 to [`MAX_RULES`] rules.
    ///
    /// # Errors
    /// `invalid_policy` for none or too many.
    pub fn new(rules: impl Into<Vec<Rule>>) -> Result<Policy> {
        let rules: Vec<Rule> = rules.into();
        if rules.is_empty() {
            return Err(Error::new(Code::InvalidPolicy, "policy is empty: give a rule such as \"10/minute\""));
        }
        if rules.len() > MAX_RULES {
            return Err(Error::new(
                Code::InvalidPolicy,
                format!("policy has {} rules, more than {MAX_RULES}: give fewer", rules.len()),
            ));
        }
        Ok(Policy { rules: rules.into() })
    }

    /// Parses `rule (';' rule)*`, a rule being `[algorithm] amount ('/' | 'per') [n] unit`.
    ///
    /// # Errors
    /// `invalid_policy`, naming the offending part.
    pub fn parse(text: &str) -> Result<Policy> {
        Policy::new(grammar::rules(text)?)
    }

    /// The rules, in the order given.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Policy> {
        Policy::parse(text)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, rule) in self.rules.iter().enumerate() {
            if i > 0 {
                f.write_str(";")?;
            }
            rule.fmt(f)?;
        }
        Ok(())
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.algorithm != Algorithm::FIXED_WINDOW {
            write!(f, "{} ", self.algorithm.name())?;
        }
        let (count, unit) = grammar::largest_unit(self.period);
        match count {
            1 => write!(f, "{}/{unit}", self.limit)?,
            n => write!(f, "{}/{n} {unit}{}", self.limit, if unit == "ms" { "" } else { "s" })?,
        }
        if self.capacity != self.limit {
            write!(f, " capacity {}", self.capacity)?;
        }
        Ok(())
    }
}
