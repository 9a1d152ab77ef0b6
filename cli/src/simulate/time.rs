//! Times of access logs, as microseconds since the epoch: `17/May/2015:10:05:03 +0000`, ISO 8601, and counts of seconds,
//! milliseconds, microseconds or nanoseconds.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, date};
use jiff::tz::Offset;

const SECOND: u64 = 1_000_000;
const DAY: u64 = 86_400;
const EPOCH: Date = date(1970, 1, 1);
const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// A time in any of these forms; none if it is in none of them. Without a zone it is of UTC, and without a year of the latest one
/// that is no more than a day ahead of this machine's clock.
pub fn parse(text: &[u8]) -> Option<u64> {
    static LATEST: OnceLock<u64> = OnceLock::new();
    let latest = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64);
        now + DAY * SECOND
    };
    access(text).or_else(|| iso(text)).or_else(|| count(text)).or_else(|| bsd(text, *LATEST.get_or_init(latest)))
}

/// As RFC 3164 has it, without a year: `May 17 10:05:03`, or `May  7 10:05:03`. It is of the latest year in which it is not after
/// `latest`.
pub fn bsd(text: &[u8], latest: u64) -> Option<u64> {
    let &[m1, m2, m3, b' ', d1, d2, b' ', ..] = text.first_chunk::<15>()? else { return None };
    let name = [m1 | 0x20, m2 | 0x20, m3 | 0x20];
    let month = MONTHS.iter().position(|known| **known == name)? as i64 + 1;
    let day = digits(&[if d1 == b' ' { b'0' } else { d1 }, d2])?;
    let seconds = clock(text.get(7..15)?)?;
    let (micros, rest) = fraction(&text[15..])?;
    if !rest.is_empty() {
        return None;
    }
    let newest = i64::from(utc(latest).year());
    // A leap day is in one of eight years at least.
    (newest - 8..=newest)
        .rev()
        .find_map(|year| moment(day_of(year, month, day)?, seconds, 0, micros).filter(|time| *time <= latest))
}

/// As the common format has it, without the brackets: `17/May/2015:10:05:03 +0000`.
pub fn access(text: &[u8]) -> Option<u64> {
    let (&[d1, d2, b'/', m1, m2, m3, b'/', y1, y2, y3, y4, b':', ..], zone) =
        (text.first_chunk::<20>()?, text.get(20..)?)
    else {
        return None;
    };
    let name = [m1 | 0x20, m2 | 0x20, m3 | 0x20];
    let month = MONTHS.iter().position(|known| **known == name)? as i64 + 1;
    let year = digits(&[y1, y2, y3, y4])?;
    // A day before the tenth may be written with a space.
    let day = digits(&[if d1 == b' ' { b'0' } else { d1 }, d2])?;
    let seconds = clock(text.get(12..20)?)?;
    // HAProxy writes milliseconds, and no zone.
    let (micros, zone) = fraction(zone)?;
    let zone = if zone.is_empty() { 0 } else { offset(zone.strip_prefix(b" ")?)? };
    moment(day_of(year, month, day)?, seconds, zone, micros)
}

/// `2015-05-17T10:05:03.123Z`, with a space for the `T`, a comma for the point, `+02:00`, `+0200`, `+02` or nothing for the `Z`.
pub fn iso(text: &[u8]) -> Option<u64> {
    let head = text.first_chunk::<19>()?;
    let (&[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't' | b' ' | b'_', ..], rest) = (head, &text[19..])
    else {
        return None;
    };
    let date = day_of(digits(&[y1, y2, y3, y4])?, digits(&[m1, m2])?, digits(&[d1, d2])?)?;
    let seconds = clock(&head[11..])?;
    let (micros, zone) = fraction(rest)?;
    let zone = zone.strip_prefix(b" ").unwrap_or(zone);
    let zone = match zone {
        b"" | b"Z" | b"z" | b"UTC" | b"GMT" => 0,
        zone => offset(zone)?,
    };
    moment(date, seconds, zone, micros)
}

/// A number of seconds, milliseconds, microseconds or nanoseconds since the epoch, told apart by its size; seconds may have a
/// fraction.
pub fn count(text: &[u8]) -> Option<u64> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=19).contains(&length) {
        return None;
    }
    let mut whole = 0_u64;
    for byte in &text[..length] {
        whole = whole.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
    }
    let (micros, rest) = fraction(&text[length..])?;
    if !rest.is_empty() {
        return None;
    }
    // Each unit's range from 1973 to 5138.
    match whole {
        0..100_000_000_000 => whole.checked_mul(SECOND)?.checked_add(micros),
        100_000_000_000..100_000_000_000_000 => whole.checked_mul(1_000)?.checked_add(micros / 1_000),
        100_000_000_000_000..100_000_000_000_000_000 => Some(whole),
        _ => Some(whole / 1_000),
    }
}

/// `.123` or `,123` as microseconds, and what follows; 0 if there is none.
fn fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let Some(b'.' | b',') = text.first() else { return Some((0, text)) };
    let length = text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let micros = (0..6).fold(0, |micros, at| {
        let digit = text[1..=length].get(at).map_or(0, |byte| u64::from(byte - b'0'));
        micros * 10 + digit
    });
    (length > 0).then(|| (micros, &text[1 + length..]))
}

/// The seconds of `10:05:03`. A leap second is the next one.
fn clock(text: &[u8]) -> Option<i64> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = text.first_chunk::<8>()? else { return None };
    let (hour, minute, second) = (digits(&[h1, h2])?, digits(&[m1, m2])?, digits(&[s1, s2])?);
    (hour < 24 && minute < 60 && second <= 60).then_some(hour * 3_600 + minute * 60 + second)
}

/// The seconds that a zone is ahead of UTC: `+0200`, `+02:00`, `+02`.
fn offset(zone: &[u8]) -> Option<i64> {
    let (sign, zone) = match zone.split_first()? {
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match *zone {
        [h1, h2] => (digits(&[h1, h2])?, 0),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => (digits(&[h1, h2])?, digits(&[m1, m2])?),
        _ => return None,
    };
    (hours <= 15 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

fn digits(text: &[u8]) -> Option<i64> {
    let mut number = 0;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(number)
}

fn day_of(year: i64, month: i64, day: i64) -> Option<Date> {
    Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
}

/// None before 1970.
fn moment(date: Date, seconds: i64, zone: i64, micros: u64) -> Option<u64> {
    let seconds = u64::try_from(date.duration_since(EPOCH).as_secs() + seconds - zone).ok()?;
    Some(seconds * SECOND + micros)
}

/// A time by the calendar, at most the last that jiff knows, in the year 9999.
fn utc(micros: u64) -> DateTime {
    let known = i64::try_from(micros).ok().and_then(|micros| Timestamp::from_microsecond(micros).ok());
    Offset::UTC.to_datetime(known.unwrap_or(Timestamp::MAX))
}

/// A time as people write it: `2015-05-17 10:05:03`, of UTC.
pub fn written(micros: u64) -> String {
    utc(micros).strftime("%F %T").to_string()
}

#[cfg(test)]
mod tests {
    use super::{access, bsd, iso, parse, written};

    #[test]
    fn one_moment_in_every_form() {
        let forms = [
            "17/May/2015:10:05:03 +0000",
            "17/may/2015:12:05:03 +0200",
            "17/May/2015:10:05:03",
            "2015-05-17T10:05:03Z",
            "2015-05-17 10:05:03",
            "2015-05-17T12:05:03+02:00",
            "2015-05-17T04:35:03-0530",
            "2015-05-17T10:05:03.000000",
            "1431857103",
            "1431857103.0",
            "1431857103000",
            "1431857103000000",
            "1431857103000000000",
        ];
        for form in forms {
            assert_eq!(parse(form.as_bytes()), Some(1_431_857_103_000_000), "{form}");
        }
        assert_eq!(parse(b"1431857103.25"), Some(1_431_857_103_250_000));
        assert_eq!(iso(b"2015-05-17T10:05:03,1234567Z"), Some(1_431_857_103_123_456));
        assert_eq!(written(1_431_857_103_250_000), "2015-05-17 10:05:03");
    }

    #[test]
    fn a_time_without_a_year_is_of_the_latest_that_fits() {
        let at = |text: &str, now: &str| bsd(text.as_bytes(), iso(now.as_bytes()).unwrap()).map(written);
        let wanted = |text: &str| Some(text.to_owned());
        assert_eq!(at("May 17 10:05:03", "2015-06-01T00:00:00Z"), wanted("2015-05-17 10:05:03"));
        assert_eq!(at("May  7 10:05:03", "2015-05-01T00:00:00Z"), wanted("2014-05-07 10:05:03"));
        assert_eq!(at("Dec 31 23:59:59", "2016-01-01T00:00:00Z"), wanted("2015-12-31 23:59:59"));
        assert_eq!(at("Feb 29 10:05:03", "2027-01-01T00:00:00Z"), wanted("2024-02-29 10:05:03"));
        for text in ["May 17 10:05", "Mai 17 10:05:03", "May 32 10:05:03", "May 17 10:05:03 2015"] {
            assert_eq!(at(text, "2027-01-01T00:00:00Z"), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_time() {
        let not = [
            "",
            "-",
            "17/Mai/2015:10:05:03 +0000",
            "31/Apr/2015:10:05:03 +0000",
            "29/Feb/2015:10:05:03 +0000",
            "17/May/2015:24:05:03 +0000",
            "17/May/2015:10:05:03 UTC",
            "2015-13-17T10:05:03Z",
            "2015-05-17",
            "2015-05-17T10:05",
            "2015-05-17T10:05:03.Z",
            "99999999999999999999",
            "1.2.3",
            "-5",
            "12a",
            "17/May/1815:10:05:03 +0000",
            "\u{661}\u{662}",
        ];
        for text in not {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_is_written_as_it_was_read() {
        let mut micros = 0;
        while micros < 400 * 366 * 86_400_000_000 {
            let text = written(micros);
            assert_eq!(iso(text.as_bytes()), Some(micros), "{text}");
            micros += 86_400_000_000 - 7_000_000;
        }
        assert_eq!(access(b"29/Feb/2000:00:00:00 +0000"), Some(951_782_400_000_000));
        assert_eq!(access(b"29/Feb/2100:00:00:00 +0000"), None);
    }
}
