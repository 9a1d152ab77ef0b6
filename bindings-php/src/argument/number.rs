//! Arguments that are numbers, and those that are yes or no.

use ext_php_rs::types::Zval;
use quotalock::convert;

use super::optional::Optional;
use super::{caller_is_strict, wrong_type};
use crate::exception::Problem;

/// The whole number that a value is, as [`Int::get`] takes it; none for anything else.
pub fn whole(value: &Zval) -> Option<i64> {
    if value.is_long() || caller_is_strict() {
        return value.long();
    }
    let cut_nothing = |float: f64| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64);
    value.double().and_then(cut_nothing).or_else(|| value.str().and_then(|text| text.trim().parse().ok()))
}

/// A parameter of type `int`.
pub type Int<'a> = Optional<'a, i64>;

impl Int<'_> {
    /// The number. Whole floats and decimal strings are taken from files without strict types, as PHP does; nothing is
    /// cut off, and booleans are no numbers.
    pub fn get(&self, position: u32) -> Result<i64, Problem> {
        match self {
            Optional::Default(value) => Ok(*value),
            Optional::Given(value) => whole(value).ok_or_else(|| wrong_type(position, c"int", value)),
        }
    }

    /// The number if it is not negative, else an error that calls it `what`.
    pub fn unsigned(&self, position: u32, what: &str) -> Result<u64, Problem> {
        Ok(convert::unsigned(what, self.get(position)?)?)
    }

    /// Milliseconds as microseconds; an error calls them `what`.
    pub fn micros(&self, position: u32, what: &str) -> Result<u64, Problem> {
        Ok(convert::micros_from_ms(what, self.get(position)?)?)
    }
}

/// A parameter of type `bool`.
pub type Flag<'a> = Optional<'a, bool>;

impl Flag<'_> {
    /// Yes or no. Files without strict types may say 1 and 0, also as text, where the empty one is no. Nothing else is
    /// taken: a setting that reads "false" or "off" is no yes.
    pub fn get(&self, position: u32) -> Result<bool, Problem> {
        let value = match self {
            Optional::Default(value) => return Ok(*value),
            Optional::Given(value) => *value,
        };
        if let Some(flag) = value.bool() {
            return Ok(flag);
        }
        let number = match value.str() {
            _ if caller_is_strict() => None,
            Some("") => Some(0),
            _ => whole(value),
        };
        match number {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => Err(wrong_type(position, c"bool", value)),
        }
    }
}

/// A parameter of type `float`.
pub type Float<'a> = Optional<'a, f64>;

impl Float<'_> {
    /// The number. Integers are taken as PHP does everywhere, decimal strings from files without strict types.
    pub fn get(&self, position: u32) -> Result<f64, Problem> {
        let value = match self {
            Optional::Default(value) => return Ok(*value),
            Optional::Given(value) => *value,
        };
        let number = value.double().or_else(|| value.long().map(|whole| whole as f64));
        let text = || value.str().filter(|_| !caller_is_strict()).and_then(|text| text.trim().parse().ok());
        number.or_else(text).ok_or_else(|| wrong_type(position, c"float", value))
    }
}
