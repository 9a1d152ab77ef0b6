//! The undo file: what `--fix` is about to change, a line of JSON for each key.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};

/// One key that gets a TTL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name, if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Its name in hexadecimal digits, else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_hex: Option<String>,
    /// When it was made to expire, in milliseconds since the epoch, by the server's clock.
    pub expires_at_ms: u64,
    /// Whose it was taken for.
    pub family: String,
    /// The server that had it.
    pub server: String,
}

impl Entry {
    /// Describes a key.
    pub fn new(name: &[u8], expires_at_ms: u64, family: &str, server: &str) -> Entry {
        let key = std::str::from_utf8(name).ok().map(str::to_owned);
        let hex = || name.iter().map(|byte| format!("{byte:02x}")).collect();
        let key_hex = key.is_none().then(hex);
        Entry { key, key_hex, expires_at_ms, family: family.to_owned(), server: server.to_owned() }
    }

    /// Its name; none if the line does not tell.
    pub fn name(&self) -> Option<Vec<u8>> {
        match (&self.key, &self.key_hex) {
            (Some(key), _) => Some(key.clone().into_bytes()),
            (None, Some(hex)) if hex.len().is_multiple_of(2) => {
                let byte = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
                (0..hex.len()).step_by(2).map(byte).collect()
            }
            _ => None,
        }
    }
}

/// A file to which lines are added.
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Makes a file that is not there yet, which its owner alone may read: names of keys may be secrets.
    ///
    /// # Errors
    /// If it is there, or cannot be made.
    pub fn create(path: &Path) -> Result<Journal, Failure> {
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = opened.map_err(|error| failed(path, "cannot make", &error))?;
        Ok(Journal { path: path.to_path_buf(), file })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds lines, and returns when the disk has them.
    ///
    /// # Errors
    /// If it has not: then none of these keys may be changed.
    pub fn add(&mut self, entries: &[Entry]) -> Result<(), Failure> {
        let mut lines = Vec::new();
        for entry in entries {
            let written = serde_json::to_writer(&mut lines, entry).map_err(std::io::Error::from);
            written.map_err(|error| failed(&self.path, "cannot write", &error))?;
            lines.push(b'\n');
        }
        let written = self.file.write_all(&lines).and_then(|()| self.file.sync_data());
        written.map_err(|error| failed(&self.path, "cannot write", &error))
    }
}

/// The lines of a file; one that ends in the middle was never carried out.
///
/// # Errors
/// If it cannot be read, or another line is none.
pub fn read(path: &Path) -> Result<Vec<Entry>, Failure> {
    let file = File::open(path).map_err(|error| failed(path, "cannot read", &error))?;
    let mut entries = Vec::new();
    let mut broken = None;
    for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(|error| failed(path, "cannot read", &error))?;
        if let Some(number) = broken {
            let message = format!("line {number} of {} is none of an undo file", path.display());
            return Err(Failure { exit: Exit::Usage, code: "undo_file", message });
        }
        match serde_json::from_slice::<Entry>(&line) {
            Ok(entry) if entry.name().is_some() => entries.push(entry),
            _ => broken = Some(number + 1),
        }
    }
    Ok(entries)
}

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Failure {
    let message = format!("{what} the undo file {}: {error}", path.display());
    Failure { exit: Exit::Findings, code: "undo_file", message }
}

#[cfg(test)]
mod tests {
    use super::Entry;

    #[test]
    fn a_name_of_any_bytes_comes_back() {
        for name in [&b"a:1"[..], b"\xff\x00", "ä".as_bytes(), b""] {
            let line = serde_json::to_string(&Entry::new(name, 1, "x", "h:1")).unwrap();
            let entry: Entry = serde_json::from_str(&line).unwrap();
            assert_eq!(entry.name().as_deref(), Some(name), "{line}");
        }
        assert_eq!(Entry { key: None, key_hex: Some("ä1".into()), ..Entry::new(b"", 1, "", "") }.name(), None);
    }
}
