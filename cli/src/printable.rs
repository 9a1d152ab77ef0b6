//! Text of others, such as names of keys, made fit for a terminal or for HTML.

use std::fmt::Write as _;

/// Bytes as a terminal may see them: control characters, escapes and what is not UTF-8 as `\x1b`.
pub fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                _ if character.is_control() || is_format(character) => text.extend(character.escape_unicode()),
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Whether a character moves or hides others: marks of direction, and those without a width.
pub fn is_format(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Text that may stand in HTML, also in an attribute.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_name_cannot_speak_to_the_terminal() {
        assert_eq!(shown(b"user:42"), "user:42");
        assert_eq!(shown(b"a\x1b[2Jb\n\xff\\"), "a\\u{1b}[2Jb\\u{a}\\xff\\\\");
        assert_eq!(shown("a\u{202e}b".as_bytes()), "a\\u{202e}b");
    }
}
