//! The table of this process, which is shared with what it forks.

use once_cell::race::OnceBox;

use super::{Table, memory};
use crate::base::clock::boot_micros;
use crate::base::error::{Error, Result};
use crate::base::random;

/// How many kibibytes the table has, unless told otherwise.
pub const DEFAULT_DENY_CACHE_KB: u64 = 2_048;
/// The smallest table in kibibytes, besides none.
pub const MIN_DENY_CACHE_KB: u64 = 16;
/// The largest table in kibibytes: 1 GiB.
pub const MAX_DENY_CACHE_KB: u64 = 1 << 20;

static TABLE: OnceBox<Kept> = OnceBox::new();

struct Kept {
    table: Option<Table>,
    is_shared: bool,
    kilobytes: u64,
}

/// What there is of the memory in which denials are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DenyCache {
    /// Its size in kibibytes; 0 if nothing is remembered.
    pub kilobytes: u64,
    /// Whether the processes that this one forks share it.
    pub is_shared: bool,
    /// For how many denials it has room.
    pub slots: usize,
    /// How many it remembers now.
    pub in_use: usize,
}

/// Makes the memory in which denials are remembered, for all clients of this process and of those that it forks from now on:
/// call it before the first client is made, and before workers are forked. 0 switches it off. Without this call the first
/// client makes one of [`DEFAULT_DENY_CACHE_KB`].
///
/// # Errors
/// `invalid_argument` for a size that is neither 0 nor [`MIN_DENY_CACHE_KB`] to [`MAX_DENY_CACHE_KB`], or if there is one of another
/// size already.
pub fn prepare_deny_cache(kilobytes: u64) -> Result<()> {
    if kilobytes != 0 && !(MIN_DENY_CACHE_KB..=MAX_DENY_CACHE_KB).contains(&kilobytes) {
        return Err(Error::invalid(format!(
            "deny_cache_kb of {kilobytes} is neither 0 nor {MIN_DENY_CACHE_KB} to {MAX_DENY_CACHE_KB}: change it"
        )));
    }
    let made = TABLE.get_or_init(|| Box::new(Kept::new(kilobytes)));
    if made.kilobytes == kilobytes {
        return Ok(());
    }
    let there = made.kilobytes;
    Err(Error::invalid(format!("the deny cache has {there} KiB already: set its size before the first client is made")))
}

/// What there is of it; makes nothing.
pub fn deny_cache() -> DenyCache {
    let kept = TABLE.get();
    let table = kept.and_then(|kept| kept.table.as_ref());
    DenyCache {
        kilobytes: kept.filter(|kept| kept.table.is_some()).map_or(0, |kept| kept.kilobytes),
        is_shared: kept.is_some_and(|kept| kept.is_shared),
        slots: table.map_or(0, |table| table.slots.len()),
        in_use: table.map_or(0, |table| table.in_use(boot_micros())),
    }
}

/// The table of this process; none if it is off, or the system gives no memory for it.
pub(crate) fn table() -> Option<&'static Table> {
    TABLE.get_or_init(|| Box::new(Kept::new(DEFAULT_DENY_CACHE_KB))).table.as_ref()
}

impl Kept {
    fn new(kilobytes: u64) -> Kept {
        let words = kilobytes as usize * 1_024 / size_of::<u64>();
        // Nobody aims at what is not there, and without a seed there is nothing.
        let seed = random::bytes().ok().filter(|_| words > 0).map(|bytes: [u8; 16]| {
            let (seed, _) = bytes.as_chunks::<8>();
            [u64::from_ne_bytes(seed[0]), u64::from_ne_bytes(seed[1])]
        });
        let make = |shared| Some(Table::new(memory::map(words, shared)?, seed?));
        let shared = make(true);
        let is_shared = shared.is_some();
        // Of two threads that make it at once one loses, and its memory, which nobody touched, stays mapped.
        Kept { table: shared.or_else(|| make(false)), is_shared, kilobytes }
    }
}
