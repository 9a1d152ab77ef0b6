//! Durations, counts and bytes, as they are read and written.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use crate::printable::shown;

/// Units of durations: their sign and their microseconds, the largest first.
const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000)];

/// Reads a duration such as `10m`, `1h30m`, `1.5s` or `500ms`, in microseconds.
///
/// # Errors
/// What is wrong with it.
pub fn duration(text: &str) -> Result<u64, String> {
    let cure = "write it as 10m, 1h30m or 500ms";
    let wrong = || format!("not a duration: {cure}");
    if text == "0" {
        return Ok(0);
    }
    let (mut rest, mut total) = (text, 0_u64);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(format!("no unit: {cure}"))?;
        let (number, behind) = rest.split_at(end);
        let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let (_, micros) = UNITS.iter().find(|(sign, _)| *sign == unit).ok_or_else(wrong)?;
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let part = number * *micros as f64;
        if part > 3_650_000.0 * 86_400e6 {
            return Err(format!("too long: {cure}"));
        }
        (total, rest) = (total.saturating_add(part.round() as u64), behind);
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

/// A duration as [`duration`] reads it, in the two largest units that say something; rounded up, so that nobody comes back
/// too early.
pub fn span(micros: u64) -> String {
    if micros == 0 {
        return "0s".into();
    }
    if micros < 1_000_000 {
        return format!("{}ms", micros.div_ceil(1_000));
    }
    if micros < 10_000_000 && !micros.is_multiple_of(1_000_000) {
        let tenths = micros.div_ceil(100_000);
        return if tenths.is_multiple_of(10) {
            format!("{}s", tenths / 10)
        } else {
            format!("{}.{}s", tenths / 10, tenths % 10)
        };
    }
    // Of units that follow each other, the second is the last that is told.
    let least = UNITS.windows(2).find(|pair| micros >= pair[0].1).map_or(1_000_000, |pair| pair[1].1.max(1_000_000));
    let mut rest = micros.div_ceil(least).saturating_mul(least);
    let mut said = String::new();
    for (sign, unit) in UNITS {
        if rest >= unit {
            said += &format!("{}{sign}", rest / unit);
            rest %= unit;
        }
    }
    said
}

/// A duration for scripts: milliseconds, rounded up.
pub fn millis(micros: u64) -> Value {
    micros.div_ceil(1_000).into()
}

/// Bytes for scripts: text as it is, what is not UTF-8 as people see it.
pub fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| shown(bytes), str::to_owned)
}

/// The bytes of an argument.
pub fn bytes(argument: &OsStr) -> &[u8] {
    argument.as_bytes()
}

/// `one thing`, `2 things`.
pub fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_it_is_written() {
        let second = 1_000_000;
        for (text, micros) in [
            ("500ms", second / 2),
            ("10m", 600 * second),
            ("1h30m", 5_400 * second),
            ("1.5s", second * 3 / 2),
            ("2d4h", 52 * 3_600 * second),
            ("42s", 42 * second),
        ] {
            assert_eq!(duration(text), Ok(micros));
            assert_eq!(span(micros), text);
        }
        assert_eq!(duration("0"), Ok(0));
        for wrong in ["", "10", "m", "10x", "-5s", "1..2s", "5 s", "1e9d", "99999999999d", "é"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_duration_never_says_too_little() {
        let said = [
            (0, "0s"),
            (1, "1ms"),
            (1_000_001, "1.1s"),
            (9_999_999, "10s"),
            (59_999_999, "1m"),
            (3_660_000_000, "1h1m"),
            (3_660_000_001, "1h2m"),
            (86_399_000_001, "1d"),
            (90_001_000_000, "1d2h"),
        ];
        for (micros, text) in said {
            assert_eq!(span(micros), text);
        }
    }
}
