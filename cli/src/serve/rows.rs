//! What a key of ours says, as a row of the page.

use std::fmt::Write as _;

use quotalock::Holder;
use quotalock::stored::{
    ENTRY_HEADER, EntryKind, KeyKind, KeyName, StoredEntry, StoredLimiter, StoredLock, StoredStock,
};

use super::api::{CacheRow, DenialState, DeniedRow, HolderRow, LockKind, LockRow, StockPhase, StockRow};
use super::seen::Rank;
use crate::commands::top_keys::{KeyStanding, tightest};
use crate::words::text;

/// The `id` of a key: hexadecimal digits, so that each key has one, whatever its bytes.
pub fn id(key: &[u8]) -> String {
    key.iter().fold(String::with_capacity(2 * key.len()), |mut id, byte| {
        // Writing to a String cannot fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// The key of an `id`.
pub fn key_of(id: &str) -> Option<Vec<u8>> {
    let pairs = id.as_bytes().chunks(2);
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.map(|pair| Some((digit(*pair.first()?)? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

/// A key of a limiter; none if it is not near its limit. Times: the server's, in microseconds, and ours, in milliseconds.
pub fn denied(key: &[u8], name: &KeyName, stored: &StoredLimiter, near: u64, now_ms: u64) -> Option<(Rank, DeniedRow)> {
    let (standing, rule, said, used_percent) = tightest(stored, near)?;
    // A block says nothing of rules, but what is left is worth knowing.
    let why = format!("{rule}: {} of {} left", said.remaining, said.capacity);
    let until = |wait: u64| (wait < u64::MAX).then(|| now_ms.saturating_add(wait.div_ceil(1_000)));
    let (state, until_ms) = match standing {
        KeyStanding::Blocked(left) => (DenialState::Blocked, until(left)),
        KeyStanding::Denied(wait) => (DenialState::Denied, until(wait)),
        KeyStanding::Near(_) => (DenialState::Near, None),
    };
    let row = DeniedRow {
        id: id(key),
        limiter: text(&name.name),
        scope: name.scope.as_deref().map(text),
        key: name.key.as_deref().map(text).unwrap_or_default(),
        state,
        why,
        used_percent,
        until_ms,
        per_s: None,
    };
    Some((standing.rank(), row))
}

/// The kind of lock that a key is.
fn lock_kind(kind: KeyKind) -> Option<LockKind> {
    match kind {
        KeyKind::Lock => Some(LockKind::Lock),
        KeyKind::Semaphore => Some(LockKind::Semaphore),
        KeyKind::ReadWrite => Some(LockKind::Rw),
        _ => None,
    }
}

/// A lock; none if nobody holds it.
pub fn lock(key: &[u8], name: &KeyName, stored: &StoredLock, has_ttl: bool, now: u64) -> Option<(Rank, LockRow)> {
    if stored.holders.is_empty() {
        return None;
    }
    let waiters = stored.waiters.len() as u64;
    let row = LockRow {
        id: id(key),
        name: text(&name.name),
        kind: lock_kind(name.kind)?,
        holders: stored.holders.iter().map(|one| holder(one, now)).collect(),
        waiters,
        waited_ms: stored.waiters.iter().map(|waiter| waiter.waited.div_ceil(1_000)).max(),
        permits: stored.holders.iter().map(|holder| holder.permits).sum(),
        has_ttl,
    };
    // Those with the most waiters first, then those that are held longest.
    let since = stored.holders.iter().map(|holder| holder.since).min().unwrap_or(0);
    let crowd = u8::MAX - u8::try_from(waiters).unwrap_or(u8::MAX);
    Some(((crowd, since), row))
}

fn holder(holder: &Holder, now: u64) -> HolderRow {
    let says = holder.pid != 0;
    HolderRow {
        host: says.then(|| holder.host.clone()),
        process: says.then_some(holder.pid),
        label: holder.label.clone(),
        age_ms: now.saturating_sub(holder.since).div_ceil(1_000),
        remaining_ms: holder.left.div_ceil(1_000),
        token: holder.token.to_string(),
    }
}

/// A sale.
pub fn stock(name: &KeyName, stored: &StoredStock) -> StockRow {
    let StoredStock { available, held, sold, has_ended } = *stored;
    StockRow {
        name: text(&name.name),
        scope: name.scope.as_deref().map(text),
        available: Some(available),
        held: Some(held),
        sold: Some(sold),
        total: Some(available.saturating_add(held).saturating_add(sold)),
        phase: if has_ended { StockPhase::Ended } else { StockPhase::Open },
    }
}

/// Counts an entry of a cache.
pub fn entry(row: &mut CacheRow, value: &[u8], now: u64) {
    let header = &value[..value.len().min(ENTRY_HEADER)];
    let Some(stored) = StoredEntry::read(header, value.len(), now) else { return };
    row.entries += 1;
    match stored.kind {
        EntryKind::Error => row.failed += 1,
        EntryKind::Nothing => {}
        _ if stored.fresh > 0 => row.fresh += 1,
        _ => row.stale += 1,
    }
    row.loading += u64::from(stored.lease > 0);
}

#[cfg(test)]
mod tests {
    use super::{id, key_of};

    #[test]
    fn each_key_has_an_id() {
        for key in [&b""[..], b"ql:limit:a:{\xff\x00}", b"ql:lock:{x}"] {
            assert_eq!(key_of(&id(key)).as_deref(), Some(key));
        }
        for wrong in ["0", "0g", "+1", "zz", "0\u{e9}"] {
            assert_eq!(key_of(wrong), None, "{wrong}");
        }
    }
}
