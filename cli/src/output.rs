//! What people and scripts read: text, or JSON with `--json`.
//!
//! Names of keys come from whoever made them, so they pass through [`shown`] before a terminal sees them.

use std::fmt::Write;
use std::io::Write as _;

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use serde_json::json;

use crate::exit::Failure;

/// How errors are marked.
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Tells why a command failed, on standard error.
pub fn failed(failure: &Failure, as_json: bool) {
    let Failure { code, message, .. } = failure;
    match as_json {
        true => eprintln!("{}", json!({ "error": { "code": code, "message": message } })),
        false => eprintln!("{BAD}quotalock:{BAD:#} {message} ({code})"),
    }
}

/// Writes to standard output. Who reads it may have gone, as `head` does: then nobody is told.
pub fn print(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

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
fn is_format(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
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
