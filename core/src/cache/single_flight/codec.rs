//! The stored form of an entry's header, as `codec.lua` describes it.

use super::HEADER;
use super::entry::{Entry, Kind};
use crate::call::lua::EXACT;

const MAGIC: &[u8] = b"QC\x01";
/// Lengths are less.
pub(super) const LONG: u64 = 1 << 49;

/// The entry that a value of so many bytes says, of which these are the first; none if it is not ours.
pub(super) fn decode(value: &[u8], length: usize) -> Option<Entry> {
    let rest = value.get(..HEADER)?.strip_prefix(MAGIC)?;
    let (kind, rest) = rest.split_first()?;
    let (owner, rest) = rest.split_first_chunk()?;
    let mut numbers = rest.chunks_exact(8).map_while(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
    let mut next = || numbers.next();
    let entry = Entry {
        kind: Kind::of(*kind)?,
        owner: *owner,
        version: next()?,
        last: next()?,
        made: next()?,
        fresh: next()?,
        stale: next()?,
        delta: next()?,
        deadline: next()?,
        ttl: next()?,
        failed: next()?,
        pause: next()?,
        guard: next()?,
        size: next()?,
        whole: false,
        dirty: false,
    };
    let Entry { version, last, made, deadline, failed, guard, .. } = entry;
    let Entry { fresh, stale, delta, ttl, pause, .. } = entry;
    let times_fit = [version, last, made, deadline, failed, guard].iter().all(|time| *time < EXACT);
    let lengths_fit = [fresh, stale, delta, ttl, pause].iter().all(|length| *length < LONG);
    let size_fits = length.checked_sub(HEADER).is_some_and(|size| entry.size == size as u64);
    (times_fit && lengths_fit && size_fits).then_some(entry)
}

/// The header that says an entry.
pub(super) fn encode(entry: &Entry) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    header.push(entry.kind as u8);
    header.extend_from_slice(&entry.owner);
    let Entry { version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size, .. } = *entry;
    for number in [version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header
}
