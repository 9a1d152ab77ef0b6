//! What stands at the key of an entry, told without a call.

use super::entry::{CacheEntry, EntryKind};

/// What a value says about an entry of a cache, or about an id of a `once`. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// What there is for those who ask.
    pub kind: EntryKind,
    /// The bytes of the value, or of the text of the error.
    pub size: u64,
    /// How old that is.
    pub age: u64,
    /// For how long it is fresh yet; 0 if it is not.
    pub fresh: u64,
    /// For how long it is served yet, fresh or not.
    pub served: u64,
    /// How long the last load took; 0 if unknown.
    pub load: u64,
    /// How long the lease of the caller that loads it lasts yet; 0 if no caller does.
    pub lease: u64,
    /// How long that lease was.
    pub lease_ttl: u64,
    /// For how long no caller loads it, because the last attempt failed; 0 if it did not.
    pub pause: u64,
    /// The last token given.
    pub token: u64,
    /// Whether a time lies in a future that it can't lie in, since the server's clock went back: the next call corrects it.
    pub is_ahead: bool,
}

impl StoredEntry {
    /// What a value of `length` bytes, of which at least the first [`ENTRY_HEADER`](crate::stored::ENTRY_HEADER) are given, says at
    /// a time of the server's clock; none if it is not ours: then it counts as none, and the next call that writes replaces it.
    pub fn read(header: &[u8], length: usize, now: u64) -> Option<StoredEntry> {
        let entry = CacheEntry::read(header, length, now)?;
        let (left, lasting) =
            if entry.kind == EntryKind::Nothing { (0, 0) } else { (entry.left(now), entry.made + entry.fresh) };
        Some(StoredEntry {
            kind: entry.kind,
            size: entry.size,
            age: if entry.kind == EntryKind::Nothing { 0 } else { now - entry.made },
            fresh: lasting.saturating_sub(now),
            served: left,
            load: entry.delta,
            lease: entry.deadline.saturating_sub(now),
            lease_ttl: entry.ttl,
            pause: (entry.failed + entry.pause).saturating_sub(now),
            token: entry.last,
            is_ahead: entry.dirty,
        })
    }
}
