//! What people and scripts read: text, or JSON with `--json`.
//!
//! Names of keys come from whoever made them, so they pass through [`shown`](crate::printable::shown) before a terminal sees them.

use std::io::{ErrorKind, Write};

use anstream::eprintln;
use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::printable::is_format;
use crate::shared::SharedArguments;

/// How errors are marked.
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Tells why a command failed, on standard error.
pub fn failed(failure: &Failure, as_json: bool) {
    let Failure { code, message, .. } = failure;
    match as_json {
        true => eprintln!("{}", plain(&json!({ "error": { "code": code, "message": message } }).to_string())),
        false => eprintln!("{BAD}quotalock:{BAD:#} {message} ({code})"),
    }
}

/// Prints what was found: as text for people, as JSON on one line for scripts.
///
/// # Errors
/// If it cannot be written.
pub fn answer(shared: &SharedArguments, text: &str, json: &Value) -> Result<(), Failure> {
    let printed = if shared.json { print(&format!("{}\n", plain(&json.to_string()))) } else { print(text) };
    printed.map(drop)
}

/// JSON text of which a terminal sees no control character: `serde_json` leaves those behind ASCII as they are.
pub fn plain(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if !character.is_control() && !is_format(character) {
            out.push(character);
        } else {
            let mut utf16 = [0; 2];
            character.encode_utf16(&mut utf16).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Prints text, and tells whether somebody still reads it: `head` leaves when it has seen enough, and that is no error.
///
/// # Errors
/// If it cannot be written.
pub fn print(text: &str) -> Result<bool, Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => {
            let message = format!("cannot write what was found: {error}");
            Err(Failure { exit: Exit::Findings, code: "not_written", message })
        }
    }
}

/// Says something about what goes on, on standard error; if nobody listens, nobody hears it.
pub fn tell(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "quotalock: {text}");
}

/// Lines of cells, in columns that are as wide as their widest cell.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Value, plain};

    #[test]
    fn json_cannot_speak_to_the_terminal() {
        let json = serde_json::json!({ "k": "a\u{9b}2J\u{202e}é\u{1b}\"\\\u{7f}" });
        let text = plain(&json.to_string());
        assert_eq!(text, "{\"k\":\"a\\u009b2J\\u202eé\\u001b\\\"\\\\\\u007f\"}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json);
    }
}
