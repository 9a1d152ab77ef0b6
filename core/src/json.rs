//! JSON that every language can read back.

use wire::base::error::{Error, Result};

/// The most arrays and objects within each other: PHP reads no more unless it is told to, and Python's and JavaScript's own
/// stacks end at some depth.
pub const MAX_JSON_DEPTH: usize = 512;

/// Checks that all languages can read a JSON text back, which is JSON already: not too deep, and no half of a surrogate pair,
/// which is no character. Call it before JSON is stored.
///
/// # Errors
/// `invalid_argument` for a text that some language cannot read.
pub fn check_json(text: &[u8]) -> Result<()> {
    let (mut depth, mut in_text, mut at) = (0_usize, false, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if in_text => at += escaped(&text[at..])?,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_JSON_DEPTH {
            return Err(Error::invalid(format!(
                "the JSON is more than {MAX_JSON_DEPTH} arrays and objects deep, which not every language reads: make it flatter"
            )));
        }
    }
    Ok(())
}

/// How long an escape is behind its backslash.
fn escaped(rest: &[u8]) -> Result<usize> {
    let Some(unit) = unit(rest) else { return Ok(1) };
    let is_pair = || rest.get(5) == Some(&b'\\') && unit_is_low(&rest[6..]);
    match unit {
        0xd800..=0xdbff if is_pair() => Ok(11),
        0xd800..=0xdfff => Err(Error::invalid(format!(
            "the JSON has half of a surrogate pair, \\u{unit:04x}, which is no character: leave it out, or store it another way"
        ))),
        _ => Ok(5),
    }
}

/// What `uXXXX` stands for; none if it is another escape.
fn unit(rest: &[u8]) -> Option<u16> {
    let digits = rest.strip_prefix(b"u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn unit_is_low(rest: &[u8]) -> bool {
    unit(rest).is_some_and(|unit| (0xdc00..=0xdfff).contains(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::base::error::Code;

    fn is_read(text: &str) -> bool {
        match check_json(text.as_bytes()) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.code(), Code::InvalidArgument);
                false
            }
        }
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let nested = |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[[],", "]"), ("[\"\\\"[[\",", "]")] {
            assert!(is_read(&nested(open, close, MAX_JSON_DEPTH - 1)), "{open}");
            assert!(!is_read(&nested(open, close, MAX_JSON_DEPTH + 1)), "{open}");
        }
        assert!(is_read(&nested("[", "]", MAX_JSON_DEPTH)));
        assert!(is_read(&format!("\"{}\"", "[".repeat(1_000))), "in a text they are none");
        assert!(is_read(&format!("[{}0]", "[],".repeat(1_000))), "side by side they are not deep");
    }

    #[test]
    fn halves_of_pairs_are_refused() {
        for good in
            [r#""\ud83d\ude00""#, r#""\u0041""#, r#""\\ud800""#, r#""\uD83D\uDE00\uD83D\uDE00""#, "\"\u{1f600}\""]
        {
            assert!(is_read(good), "{good}");
        }
        for bad in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ude00\ud83d""#,
            r#""\ud83d\ud83d\ude00""#,
            r#""\ud83dx""#,
            r#""\\\ud800""#,
            r#"{"\uDFFF":1}"#,
            r#""\ud83d\\ude00""#,
        ] {
            assert!(!is_read(bad), "{bad}");
        }
        assert!(is_read("\"\\"), "what ends too early is not JSON, and not our business");
    }
}
