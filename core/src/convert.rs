//! From the numbers of other languages to ours, with one wording of the refusal for all of them.

use std::fmt::Display;
use std::time::Duration;

use crate::limiter::policy::MAX_PERIOD;
use wire::base::error::{Code, Error, Result};

/// Up to here floats skip no whole number.
const EXACT: f64 = (1_u64 << 53) as f64;

/// A cost, an amount or a limit given as a signed number; `what` names it in the message.
///
/// # Errors
/// `invalid_argument` for a negative number.
#[inline]
pub fn unsigned(what: &str, given: i64) -> Result<u64> {
    u64::try_from(given)
        .map_err(|_| Error::invalid(format!("{what} {given} is negative: give a positive whole number")))
}

/// A rule's limit or capacity that no number of ours holds: more than any rule may have.
pub fn above_any_rule(what: &str, given: impl Display) -> Error {
    Error::new(Code::InvalidPolicy, format!("{what} {given} is more than 2^52: give less"))
}

/// A rule's limit or capacity given as a float, which is all that JavaScript has.
///
/// # Errors
/// `invalid_policy` for more than any rule may have; `invalid_argument` for a negative number, a fraction, NaN or an infinity.
pub fn rule_amount(what: &str, given: f64) -> Result<u64> {
    if given.is_finite() && given > EXACT {
        return Err(above_any_rule(what, given));
    }
    unsigned_float(what, given)
}

/// A whole number given as a float, which is all that JavaScript has.
///
/// # Errors
/// `invalid_argument` for a fraction, NaN, an infinity, or a number so large that floats skip whole numbers there.
pub fn whole(what: &str, given: f64) -> Result<i64> {
    if given.abs() > EXACT {
        return Err(Error::invalid(format!("{what} {given:?} is too large to be exact: give at most 2^52")));
    }
    // NaN is equal to nothing.
    if given.trunc() != given {
        return Err(Error::invalid(format!("{what} {given:?} is not a whole number: round it")));
    }
    Ok(given as i64)
}

/// As [`unsigned`], of a number given as a float.
///
/// # Errors
/// Those of [`whole`] and [`unsigned`].
pub fn unsigned_float(what: &str, given: f64) -> Result<u64> {
    unsigned(what, whole(what, given)?)
}

/// As [`micros_from_ms`], of a number given as a float.
///
/// # Errors
/// Those of [`whole`] and [`micros_from_ms`].
pub fn micros_from_float_ms(what: &str, given: f64) -> Result<u64> {
    micros_from_ms(what, whole(what, given)?)
}

/// Microseconds from milliseconds (PHP, Node).
///
/// # Errors
/// `invalid_argument` for a negative number, or one over 36,500 days.
pub fn micros_from_ms(what: &str, given: i64) -> Result<u64> {
    let micros = u64::try_from(given).ok().and_then(|ms| ms.checked_mul(1_000)).filter(|micros| *micros <= MAX_PERIOD);
    micros.ok_or_else(|| Error::invalid(format!("{what} of {given} ms is not between 0 and 36500 days: change it")))
}

/// Microseconds from seconds (Python), rounded to the nearest.
///
/// # Errors
/// `invalid_argument` for a number that is not finite, negative, or over 36,500 days.
pub fn micros_from_seconds(what: &str, given: f64) -> Result<u64> {
    let micros = (given * 1e6).round();
    // NaN fails both comparisons.
    if micros >= 0.0 && micros <= MAX_PERIOD as f64 {
        return Ok(micros as u64);
    }
    Err(Error::invalid(format!("{what} of {given} s is not between 0 and 36500 days: change it")))
}

/// Milliseconds (PHP, Node) from microseconds, rounded up: a caller that sleeps so long is never early.
pub fn ms(micros: u64) -> u64 {
    micros.div_ceil(1_000)
}

/// A moment in milliseconds since the epoch (PHP, Node) from microseconds, rounded down: what ends then is never shown to
/// last longer than it does.
pub fn moment(micros: u64) -> u64 {
    micros / 1_000
}

/// Seconds (Python) from microseconds.
pub fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Microseconds as a [`Duration`].
pub fn duration(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_taken_if_it_is_a_whole_number_in_bounds() {
        let (unsigned, micros) =
            (|given| unsigned_float("cost", given).ok(), |given| micros_from_float_ms("ttl", given).ok());
        assert_eq!([0.0, 7.0, -1.0, 0.5, f64::NAN].map(unsigned), [Some(0), Some(7), None, None, None]);
        assert_eq!([0.0, 7.0, -1.0, 0.5, 1e16].map(micros), [Some(0), Some(7_000), None, None, None]);
        assert_eq!([7.0, 1e16].map(|given| rule_amount("limit", given).ok()), [Some(7), None]);
    }
}
