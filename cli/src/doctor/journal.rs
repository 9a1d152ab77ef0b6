//! The undo file: what `--fix` is about to change, a line of JSON for each key.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::{Exit, Failure};

/// One key that gets a TTL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
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
    /// Its value as `DUMP` writes it, in hexadecimal digits; files of version 0.1 have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value_hex: String,
}

impl JournalEntry {
    /// Describes a key.
    pub fn new(name: &[u8], value: &[u8], expires_at_ms: u64, family: &str, server: &str) -> JournalEntry {
        let key = std::str::from_utf8(name).ok().map(str::to_owned);
        let key_hex = key.is_none().then(|| hex(name));
        let (family, server) = (family.to_owned(), server.to_owned());
        JournalEntry { key, key_hex, expires_at_ms, family, server, value_hex: hex(value) }
    }

    /// Its name; none if the line does not state it.
    pub fn name(&self) -> Option<Vec<u8>> {
        match (&self.key, &self.key_hex) {
            (Some(key), _) => Some(key.clone().into_bytes()),
            (None, Some(hex)) => unhex(hex),
            _ => None,
        }
    }

    /// Its value as `DUMP` wrote it; nothing if the line has none.
    pub fn value(&self) -> Option<Vec<u8>> {
        unhex(&self.value_hex)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(hex: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    if hex.len().is_multiple_of(2) { (0..hex.len()).step_by(2).map(byte).collect() } else { None }
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
        // The name of the file must outlive a crash as well.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| failed(path, "cannot make", &error))?;
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
    pub fn add(&mut self, entries: &[JournalEntry]) -> Result<(), Failure> {
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
pub fn read(path: &Path) -> Result<Vec<JournalEntry>, Failure> {
    let file = File::open(path).map_err(|error| failed(path, "cannot read", &error))?;
    let mut entries = Vec::new();
    let mut broken = None;
    for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.map_err(|error| failed(path, "cannot read", &error))?;
        if let Some(number) = broken {
            let message = format!("line {number} of {} is none of an undo file", path.display());
            return Err(Failure { exit: Exit::Usage, code: "undo_file", message });
        }
        match serde_json::from_slice::<JournalEntry>(&line) {
            Ok(entry) if entry.name().is_some() && entry.value().is_some() => entries.push(entry),
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
    use super::JournalEntry;

    #[test]
    fn a_name_of_any_bytes_comes_back() {
        for name in [&b"a:1"[..], b"\xff\x00", "ä".as_bytes(), b""] {
            let line = serde_json::to_string(&JournalEntry::new(name, name, 1, "x", "h:1")).unwrap();
            let entry: JournalEntry = serde_json::from_str(&line).unwrap();
            assert_eq!((entry.name().as_deref(), entry.value().as_deref()), (Some(name), Some(name)), "{line}");
        }
        assert_eq!(
            JournalEntry { key: None, key_hex: Some("ä1".into()), ..JournalEntry::new(b"", b"", 1, "", "") }.name(),
            None
        );
    }
}
