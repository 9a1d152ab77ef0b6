//! What stands at a lock's key, told without a call.

use super::Who;
use super::inspect::Holder;
use super::table::{LeaseHolder, LeaseTable, Waiter};

/// What a value says about a lock. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLock {
    /// The last fencing token given.
    pub token: u64,
    /// Those who hold, the first first.
    pub holders: Vec<Holder>,
    /// Those who wait, in order: one of each process.
    pub waiters: Vec<StoredWaiter>,
    /// How many attempts were given up so lately that their late calls must do nothing.
    pub given_up: u64,
    /// Whether a time lies in a future that it can't lie in, since the server's clock went back: the next call corrects it.
    pub is_ahead: bool,
}

/// One who waits for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredWaiter {
    /// For how long it has waited.
    pub waited: u64,
    /// After how long it is forgotten if it doesn't ask again.
    pub left: u64,
    /// How many permits it wants.
    pub permits: u64,
    /// Whether no later waiter goes before it.
    pub is_in_order: bool,
}

impl StoredLock {
    /// What a value says at a time of the server's clock; none if it is not ours: then it counts as none, and the next call
    /// that writes replaces it.
    pub fn read(value: &[u8], now: u64) -> Option<StoredLock> {
        let table = Some(LeaseTable::load(Some(value), now, None)).filter(|table| !table.foreign)?;
        Some(StoredLock {
            token: table.last,
            holders: table.holders.iter().map(|held| holder(held, now)).collect(),
            waiters: table.waiters.iter().map(|waiter| waiting(waiter, now)).collect(),
            given_up: table.tombstones.len() as u64,
            is_ahead: table.changed,
        })
    }
}

fn holder(held: &LeaseHolder, now: u64) -> Holder {
    let Who { host, pid, label } = Who::decode(&held.who);
    let LeaseHolder { token, weight: permits, since, deadline: until, .. } = *held;
    Holder { host, pid, label, token, permits, since, until, left: until - now }
}

fn waiting(waiter: &Waiter, now: u64) -> StoredWaiter {
    StoredWaiter {
        waited: now - waiter.since,
        left: waiter.until - now,
        permits: waiter.weight,
        is_in_order: waiter.in_order(now),
    }
}
