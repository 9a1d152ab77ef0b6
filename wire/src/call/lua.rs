//! Lua as the scripts are written: its names, told from what stands in strings and comments.

use std::borrow::Cow;

/// What a script counts exactly: every whole number below 2^53.
pub const EXACT: u64 = 1 << 53;

/// The shortest TTL, in milliseconds, of what a script writes in a test's time, which stands still while the server's runs.
pub const TEST_TTL: u64 = 3_600_000;

/// Numbers that a script calls by a name, and that Rust knows as well.
pub type Constants = [(&'static str, u64)];

/// Writes a line of code with some of its names replaced: whole identifiers, none of them in a string or a comment, and
/// none that is a field of something.
pub fn replace_names<'a>(line: &str, replacement: impl Fn(&str) -> Option<Cow<'a, str>>) -> String {
    let (mut written, mut rest, mut is_field) = (String::with_capacity(line.len()), line, false);
    while let Some(first) = rest.chars().next() {
        let (token, behind) = rest.split_at(token_size(rest, first));
        let replaced = if is_name_start(first) && !is_field { replacement(token) } else { None };
        written.push_str(replaced.as_deref().unwrap_or(token));
        is_field = token == ".";
        rest = behind;
    }
    written
}

/// The bytes of the token that code begins with.
fn token_size(code: &str, first: char) -> usize {
    let until = |ends: fn(char) -> bool| code.find(ends).unwrap_or(code.len());
    match first {
        '-' if code.starts_with("--") => until(|c| c == '\n'),
        '.' => until(|c| c != '.'),
        '\'' | '"' => string_size(code, first),
        c if is_name(c) => until(|c| !is_name(c)),
        c => c.len_utf8(),
    }
}

/// The bytes of a string in quotes.
fn string_size(code: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in code.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    code.len()
}

/// Whether a character may be in a name of Lua.
pub fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_name_start(c: char) -> bool {
    is_name(c) && !c.is_ascii_digit()
}

/// A number as short as Lua can read it; a power of two is one when the script is compiled.
fn written(number: u64) -> String {
    match number.is_power_of_two() && number > 1 << 20 {
        true => format!("2^{}", number.trailing_zeros()),
        false => number.to_string(),
    }
}

/// Adds code as a server gets it: without lines of comment, and with numbers for the names of constants. A name that ends in
/// `_TEXT` is the number as text: a server takes long to write a number that a command is given.
pub(crate) fn write_out(text: &mut String, code: &str, constants: &Constants) {
    let number = |name: &str| constants.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let value = |name: &str| match name.strip_suffix("_TEXT") {
        Some(name) => number(name).map(|number| format!("'{number}'").into()),
        None => number(name).map(|number| written(number).into()),
    };
    for line in code.lines().filter(|line| !line.trim_start().starts_with("--")) {
        text.push_str(&replace_names(line, value));
        text.push('\n');
    }
}

/// Whether a name is a rule's own, and says nothing of it.
pub fn is_lower(stem: &str) -> bool {
    !stem.contains(|c: char| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_a_whole() {
        let replaced = |code: &str| replace_names(code, |name| (name == "top_1").then_some(Cow::Borrowed("X")));
        for (code, expected) in [
            ("stop_1 = top_1 + top_10 + top_1", "stop_1 = X + top_10 + X"),
            ("top_1", "X"),
            ("'top_1' .. top_1..\"top_1\"", "'top_1' .. X..\"top_1\""),
            (r"'\'top_1' .. top_1 .. '\\' .. top_1", r"'\'top_1' .. X .. '\\' .. X"),
            ("t.top_1, t[top_1] = 1top_1, -top_1 -- top_1", "t.top_1, t[X] = 1top_1, -X -- top_1"),
            ("f(top_1)--top_1\ntop_1", "f(X)--top_1\nX"),
            ("a - top_1 -- µ 'top_1", "a - X -- µ 'top_1"),
        ] {
            assert_eq!(replaced(code), expected);
        }
    }

    #[test]
    fn constants_become_numbers() {
        let mut text = String::new();
        let constants = [("EXACT", EXACT), ("MOST", 1024), ("NONE", 0), ("LONGEST", 3_153_600_000_000_000)];
        let code = "-- EXACT\nif a < EXACT and b > MOST * NONE then -- MOST\n  --> x\n  c = 'MOST' .. LONGEST\nend\nf(MOST_TEXT)\n";
        write_out(&mut text, code, &constants);
        let written = "if a < 2^53 and b > 1024 * 0 then -- MOST\n  c = 'MOST' .. 3153600000000000\nend\nf('1024')\n";
        assert_eq!(text, written);
    }

    #[test]
    fn a_name_begins_with_a_letter_or_a_line_below() {
        assert_eq!(['a', 'Z', '_', '1', '-', ' '].map(is_name_start), [true, true, true, false, false, false]);
        assert_eq!(['a', '_', '1', '-'].map(is_name), [true, true, true, false]);
        assert_eq!(["limit", "a_1", "LIMIT", "aB"].map(is_lower), [true, true, false, false]);
    }
}
