//! Tables of words that processes share: in memory that forked processes inherit, or in a file that they name.

mod file;
mod memory;

use std::path::Path;
use std::sync::atomic::AtomicU64;

pub use file::{Format, HEADER};
pub use memory::map;

use super::error::{Error, Result};
use super::random;

/// Two random words, which cannot be guessed.
pub type Seed = [u64; 2];

/// Who shares a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedBy {
    /// No process: there is no table, because it is switched off or not needed yet, or the system gave no memory.
    Nobody,
    /// This process alone: the system gave no memory to share.
    Own,
    /// This process and those that it forks.
    Forks,
    /// All processes of this user that name the file.
    File,
}

/// A table in the file, if one is named; else none, with the reason if that was named and cannot be used.
pub fn join(
    path: Option<&Path>,
    format: &Format,
    words: usize,
) -> (Option<(&'static [AtomicU64], Seed)>, Option<Error>) {
    match path.map(|path| file::join(path, format, words)).transpose() {
        Ok(joined) => (joined, None),
        Err(problem) => (None, Some(problem)),
    }
}

/// A random seed, which cannot be guessed.
pub fn seed() -> Result<Seed> {
    let bytes: [u8; 16] = random::bytes()?;
    let (seed, _) = bytes.as_chunks::<8>();
    Ok([u64::from_ne_bytes(seed[0]), u64::from_ne_bytes(seed[1])])
}
