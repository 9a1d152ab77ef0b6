//! What JavaScript gives, whose only kind of number is a float, as the core takes it.

use quotalock::{Result, convert};

/// A cost or an amount.
pub fn unsigned(what: &str, given: f64) -> Result<u64> {
    convert::unsigned(what, convert::whole(what, given)?)
}

/// Milliseconds as microseconds.
pub fn micros(what: &str, given_ms: f64) -> Result<u64> {
    convert::micros_from_ms(what, convert::whole(what, given_ms)?)
}
