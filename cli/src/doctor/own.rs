//! Our own keys: whether what stands there is ours, and how long it should live.

use quotalock::reports::REPORTS_KEPT;
use quotalock::stored::{ENTRY_HEADER, KeyKind, KeyName, StoredEntry, StoredLimiter, StoredLock, newer_format};

use super::families::{Family, WRONG_REPORTS, WRONG_TYPE};
use super::proof::ValueView;
use crate::pages::READ;

/// A day in milliseconds: for so long the table of a lock is kept.
const DAY_MS: u64 = 86_400_000;

/// What one of our keys is about.
pub struct Own(KeyName);

/// Reads a name; none if it is not one of ours.
pub fn of(prefix: &str, name: &[u8]) -> Option<Own> {
    KeyName::parse(prefix, name).map(Own)
}

/// Why a key of another type is reported: nothing has to be watched.
pub const WHY_WRONG: &str = "the server states its type, and a call that needs another is refused";

/// What it means that the key is of another Redis type than the one that calls need; none if it is of that type, or calls take any.
pub fn wrong_type(own: &Own, seen: &ValueView) -> Option<&'static Family> {
    let kind = seen.redis_type();
    // A type that the server did not state is not judged.
    let is_wrong = !kind.is_empty() && own.0.is_wrong_type(kind);
    is_wrong.then_some(if own.0.kind == KeyKind::Reports { &WRONG_REPORTS } else { &WRONG_TYPE })
}

/// Whether the value is none of ours: the next call that writes replaces it. A value of which only a part was read is not judged
/// by what is missing.
pub fn is_damaged(own: &Own, value: &[u8], now_ms: u64) -> bool {
    let now = now_ms.saturating_mul(1_000);
    let is_cut = value.len() >= READ;
    let begins = |magic: &[u8]| value.starts_with(magic);
    // A value that is gone, or no text, was looked at too late or is another kind of thing. One of a newer version is whole.
    if !own.0.beside.is_empty() || value.is_empty() || newer_format(value).is_some() {
        return false;
    }
    match own.0.kind {
        KeyKind::Limiter if is_cut => !begins(b"QL"),
        KeyKind::Limiter => StoredLimiter::read(value, now).is_none(),
        KeyKind::Lock | KeyKind::Semaphore | KeyKind::ReadWrite if is_cut => !begins(b"QK"),
        KeyKind::Lock | KeyKind::Semaphore | KeyKind::ReadWrite => StoredLock::read(value, now).is_none(),
        KeyKind::Cache | KeyKind::Once if is_cut => !begins(b"QC"),
        KeyKind::Cache | KeyKind::Once => {
            let header = &value[..value.len().min(ENTRY_HEADER)];
            StoredEntry::read(header, value.len(), now).is_none()
        }
        KeyKind::Request => !begins(b"QR") && !begins(b"QT"),
        _ => false,
    }
}

/// For how many milliseconds a key without a TTL should live, as far as its value tells.
pub fn life(own: &Own, seen: &ValueView, now_ms: u64) -> Option<u64> {
    let ValueView::Text(value) = seen else {
        let is_stream = matches!(seen, ValueView::Other(kind, _) if kind == b"stream");
        return (own.0.kind == KeyKind::Reports && is_stream).then_some(REPORTS_KEPT / 1_000);
    };
    let now = now_ms.saturating_mul(1_000);
    let micros = match own.0.kind {
        KeyKind::Limiter => {
            let stored = StoredLimiter::read(value, now)?;
            let resets = stored.rules.iter().map(|(_, said)| said.reset_after).max()?;
            let holds = stored.holds.iter().map(|hold| hold.left).max().unwrap_or(0);
            resets.max(stored.block_left).max(holds)
        }
        KeyKind::Lock | KeyKind::Semaphore | KeyKind::ReadWrite => {
            StoredLock::read(value, now)?;
            return Some(DAY_MS);
        }
        KeyKind::Cache | KeyKind::Once => {
            let stored = StoredEntry::read(&value[..value.len().min(ENTRY_HEADER)], value.len(), now)?;
            stored.served.max(stored.lease)
        }
        _ => return None,
    };
    // A moment more: the value itself says when it is over.
    Some(micros.div_ceil(1_000) + 1_000)
}
