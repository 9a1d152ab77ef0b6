//! A table in a file that processes of all languages may join, if they are of one user.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Seed, memory, seed};
use crate::base::error::{Error, Result, shown};

/// Words before the table: the magic, its size in words, the seed.
pub const HEADER: usize = 8;

/// What such a file holds.
pub struct Format {
    /// What it begins with: what it is, and of which version.
    pub magic: [u8; 8],
    /// What it is called: `deny cache file`.
    pub name: &'static str,
    /// What is in it: `denials`.
    pub of: &'static str,
    /// How many bytes it may have.
    pub sizes: RangeInclusive<u64>,
    /// Whether all of its version have the size that is asked for.
    pub is_fixed: bool,
}

/// Joins the table in this file, or makes it with so many words; what is there keeps its size.
///
/// # Errors
/// `invalid_argument` for a file that is not such a table, is of another version, or is not this user's alone.
pub(super) fn join(path: &Path, format: &Format, words: usize) -> Result<(&'static [AtomicU64], Seed)> {
    let refuse = |why: String| Error::invalid(format!("{} {} {why}", format.name, shown(path.as_os_str().as_bytes())));
    for _ in 0..3 {
        let file = match OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOFOLLOW).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(path, format, words)
                    .map_err(|error| refuse(format!("cannot be made ({error}): give another path")))?;
                continue;
            }
            Err(error) => return Err(refuse(format!("cannot be opened ({error}): give another path"))),
        };
        let about = file.metadata().map_err(|error| refuse(format!("cannot be looked at ({error})")))?;
        // SAFETY: it takes nothing and always succeeds.
        let user = unsafe { libc::geteuid() };
        if !about.is_file() || about.uid() != user || about.mode() & 0o077 != 0 {
            return Err(refuse("is not a file of this user alone: give another path, or remove it".into()));
        }
        let size = about.size() as usize / size_of::<u64>();
        if !format.sizes.contains(&about.size()) {
            return Err(refuse(format!("is not a table of {}: give another path", format.of)));
        }
        let all = memory::map_file(&file, size)
            .ok_or_else(|| refuse("cannot be mapped into memory: give another path".into()))?;
        let (header, table) = all.split_at(HEADER);
        let [magic, told, first, second] = [0, 1, 2, 3].map(|at| header[at].load(Ordering::Relaxed));
        if magic != u64::from_le_bytes(format.magic) || told != size as u64 || (format.is_fixed && size != words) {
            return Err(refuse("is not a table of this version: remove it when nobody uses it".into()));
        }
        return Ok((table, [first, second]));
    }
    Err(refuse("goes away as soon as it is made: give another path".into()))
}

/// Makes the file under another name first: nobody joins half of one.
fn make(path: &Path, format: &Format, words: usize) -> std::io::Result<()> {
    let [first, second] = seed().map_err(|error| std::io::Error::other(error.message().to_owned()))?;
    let mut name = path.as_os_str().to_owned();
    name.push(OsStr::new(&format!(".{}-{first:x}", std::process::id())));
    let other = PathBuf::from(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&other)?;
    let made = fill(&mut file, format, words, [first, second]).and_then(|()| match fs::hard_link(&other, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    });
    fs::remove_file(&other)?;
    made
}

fn fill(file: &mut File, format: &Format, words: usize, [first, second]: Seed) -> std::io::Result<()> {
    // What a full file system refused later would end the process.
    // SAFETY: the descriptor is open.
    let code = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, (words * size_of::<u64>()) as libc::off_t) };
    if code != 0 {
        return Err(std::io::Error::from_raw_os_error(code));
    }
    let header = [u64::from_le_bytes(format.magic), words as u64, first, second];
    file.write_all(&header.map(u64::to_ne_bytes).concat())
}
