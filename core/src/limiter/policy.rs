//! What a user asks for: one or more rules, as text or as objects, with one canonical form.

mod grammar;

use std::fmt;
use std::str::FromStr;

use crate::limiter::algorithm::Algorithm;
pub(crate) use crate::limiter::algorithm::Rate;
pub use crate::limiter::algorithm::{MAX_LIMIT, MAX_PERIOD, MIN_PERIOD, Rule};
use wire::base::error::{Code, Error, Result};

/// The most rules in one policy.
pub const MAX_RULES: usize = 10;

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

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.algorithm() != Algorithm::FIXED_WINDOW {
            write!(f, "{} ", self.algorithm().name())?;
        }
        let (count, unit) = grammar::largest_unit(self.period());
        match count {
            1 => write!(f, "{}/{unit}", self.limit())?,
            n => write!(f, "{}/{n} {unit}{}", self.limit(), if unit == "ms" { "" } else { "s" })?,
        }
        if self.capacity() != self.limit() {
            write!(f, " capacity {}", self.capacity())?;
        }
        Ok(())
    }
}
