//! Numbers as people read them.

/// A count with commas: `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 client`, `2 clients`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A part of a whole in percent: `12.3 %`. What is not all or nothing is never written as such.
pub fn share(part: u64, whole: u64) -> String {
    percent(100.0 * part as f64 / whole.max(1) as f64)
}

/// A percentage: `12.3 %`.
pub fn percent(number: f64) -> String {
    let digits = if number > 0.0 && number < 1.0 || number > 99.0 && number < 100.0 { 2 } else { 1 };
    match format!("{number:.digits$}").as_str() {
        "0.00" if number > 0.0 => "under 0.01 %".into(),
        "100.00" if number < 100.0 => "over 99.99 %".into(),
        whole if whole.ends_with(".0") => format!("{} %", &whole[..whole.len() - 2]),
        text => format!("{text} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::{count, counted, percent, share};

    #[test]
    fn numbers_are_written_out() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([counted(1, "line"), counted(1_000, "line")], ["1 line", "1,000 lines"]);
        assert_eq!([share(0, 0), share(1, 8), share(8, 8)], ["0 %", "12.5 %", "100 %"]);
        assert_eq!([share(1, 3_000), share(1, 1_000_000), share(2_999, 3_000)], ["0.03 %", "under 0.01 %", "99.97 %"]);
        assert_eq!(percent(33.333), "33.3 %");
    }
}
