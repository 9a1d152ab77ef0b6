//! The table of this process, which is shared with what it forks, and with others by a file.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use once_cell::race::OnceBox;

use super::DenialTable;
use wire::base::clock::boot_micros;
use wire::base::error::{Error, Result};
use wire::base::hash::hash;
use wire::base::shared::{self, Format, Seed, SharedBy};

/// How many kibibytes the table has, unless told otherwise.
pub const DEFAULT_DENY_CACHE_KB: u64 = 2_048;
/// The smallest table in kibibytes, besides none.
pub const MIN_DENY_CACHE_KB: u64 = 16;
/// The largest table in kibibytes: 1 GiB.
pub const MAX_DENY_CACHE_KB: u64 = 1 << 20;
/// The environment variable that names the file in which processes of this user share their table.
pub const DENY_CACHE_FILE_VARIABLE: &str = "QUOTALOCK_DENY_CACHE_FILE";

/// What a file with a table is.
pub(super) const FORMAT: Format = Format {
    magic: *b"QLdeny\0\x01",
    name: "deny cache file",
    of: "denials",
    sizes: MIN_DENY_CACHE_KB * 1_024..=MAX_DENY_CACHE_KB * 1_024,
    is_fixed: false,
};

static TABLE: OnceBox<SharedDenials> = OnceBox::new();

struct SharedDenials {
    table: Option<DenialTable>,
    place: SharedBy,
    kilobytes: u64,
    /// Why it is not in the file that was named.
    problem: Option<Error>,
}

/// What there is of the memory in which denials are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DenyCache {
    /// Who shares it.
    pub place: SharedBy,
    /// Its size in kibibytes.
    pub kilobytes: u64,
    /// For how many denials it has room.
    pub slots: usize,
    /// How many it remembers now.
    pub in_use: usize,
}

/// The file that the environment names, in [`DENY_CACHE_FILE_VARIABLE`].
pub fn deny_cache_file() -> Option<PathBuf> {
    std::env::var_os(DENY_CACHE_FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Makes the memory in which denials are remembered, for all clients of this process and of those that it forks from now on:
/// call it before the first client is made, and before workers are forked. 0 switches it off. With a file, all processes of this
/// user that name it share one table, which has the size that the first of them gave it; put it where it is gone when the host
/// starts anew, as in `/dev/shm`. Without this call the first client makes one of [`DEFAULT_DENY_CACHE_KB`], in the
/// [`deny_cache_file`] if there is one.
///
/// # Errors
/// `invalid_argument` for a size that is neither 0 nor [`MIN_DENY_CACHE_KB`] to [`MAX_DENY_CACHE_KB`], or if there is one of another
/// size already; and for a file that cannot be used: then there is memory without it.
pub fn prepare_deny_cache(kilobytes: u64, file: Option<&Path>) -> Result<()> {
    if kilobytes != 0 && !(MIN_DENY_CACHE_KB..=MAX_DENY_CACHE_KB).contains(&kilobytes) {
        return Err(Error::invalid(format!(
            "deny_cache_kb of {kilobytes} is neither 0 nor {MIN_DENY_CACHE_KB} to {MAX_DENY_CACHE_KB}: change it"
        )));
    }
    let made = TABLE.get_or_init(|| Box::new(SharedDenials::new(kilobytes, file)));
    if made.kilobytes != kilobytes && made.place != SharedBy::File {
        let there = made.kilobytes;
        return Err(Error::invalid(format!(
            "the deny cache has {there} KiB already: set its size before the first client is made"
        )));
    }
    made.problem.clone().map_or(Ok(()), Err)
}

/// What there is of it; makes nothing.
pub fn deny_cache() -> DenyCache {
    let nothing = DenyCache { place: SharedBy::Nobody, kilobytes: 0, slots: 0, in_use: 0 };
    TABLE.get().and_then(|kept| Some((kept, kept.table.as_ref()?))).map_or(nothing, |(kept, table)| DenyCache {
        place: kept.place,
        kilobytes: kept.kilobytes,
        slots: table.slots.len(),
        in_use: table.in_use(boot_micros()),
    })
}

/// The table of this process; none if it is off, or the system gives no memory for it.
pub(crate) fn table() -> Option<&'static DenialTable> {
    let make = || Box::new(SharedDenials::new(DEFAULT_DENY_CACHE_KB, deny_cache_file().as_deref()));
    TABLE.get_or_init(make).table.as_ref()
}

/// Whether anything is remembered that is not over.
pub(crate) fn may_know() -> bool {
    let table = TABLE.get().and_then(|kept| kept.table.as_ref());
    table.is_some_and(|table| table.latest().load(Ordering::Relaxed) > boot_micros())
}

impl SharedDenials {
    // Of two threads that make it at once one loses, and its memory, which nobody touched, stays mapped.
    fn new(kilobytes: u64, path: Option<&Path>) -> SharedDenials {
        let nothing = |problem| SharedDenials { table: None, place: SharedBy::Nobody, kilobytes, problem };
        let words = kilobytes as usize * 1_024 / size_of::<u64>();
        if words == 0 {
            return nothing(None);
        }
        let (joined, problem) = shared::join(path, &FORMAT, words);
        let joined = joined.map(|(words, seed)| since_boot(seed).map(|seed| (words, seed))).transpose();
        let problem = match joined {
            Ok(Some((words, seed))) => {
                let kilobytes = (size_of_val(words) as u64).div_ceil(1_024);
                let table = Some(DenialTable::new(words, seed));
                return SharedDenials { table, place: SharedBy::File, kilobytes, problem: None };
            }
            Ok(None) => problem,
            Err(problem) => Some(problem),
        };
        // Without a seed anybody could aim.
        let Ok(seed) = shared::seed() else { return nothing(problem) };
        for (shared, place) in [(true, SharedBy::Forks), (false, SharedBy::Own)] {
            if let Some(words) = shared::map(words, shared) {
                return SharedDenials { table: Some(DenialTable::new(words, seed)), place, kilobytes, problem };
            }
        }
        nothing(problem)
    }
}

/// The seed of a file until the host is started anew: what was written before bears times of another clock.
fn since_boot(seed: Seed) -> Result<Seed> {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").map_err(|error| {
        let why = format!("the system does not tell when it was started ({error})");
        Error::invalid(format!("deny cache file cannot be trusted: {why}"))
    })?;
    Ok(hash(seed, &boot))
}
