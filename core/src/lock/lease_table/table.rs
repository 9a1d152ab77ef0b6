//! A table of leases, and its stored form: twin of `{codec,load,find,place,renew,save,wake}.lua`.

use std::collections::VecDeque;

use super::{
    AttemptId, Channel, HEARTBEAT, LONGEST_TOMBSTONE, MOST_TOMBSTONES, MOST_WAITERS, PATIENCE, RIGHT_OF_WAY, kept_for,
};
use wire::base::clock::clamp;
use wire::call::lua::EXACT;

const MAGIC: &[u8] = b"QK\x01";
/// The bytes before the first record.
pub(super) const HEAD: usize = 17;
/// The bytes of a record, of a holder without who it is.
pub(super) const TOMBSTONE_SIZE: usize = 24;
pub(super) const WAITER_SIZE: usize = 53;
pub(super) const HOLDER_SIZE: usize = 54;
/// What is added to how a waiter waits once it was told.
pub(super) const TOLD: u8 = 128;

/// An id that was cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tombstone {
    pub id: AttemptId,
    pub until: u64,
}

/// One who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiter {
    pub id: AttemptId,
    pub until: u64,
    pub since: u64,
    pub weight: u64,
    /// Whether it waits in order from the start; else it only wants a hint.
    pub fair: bool,
    /// Whether it got its hint and did not ask again yet.
    pub told: bool,
    pub channel: Channel,
}

impl Waiter {
    /// Whether it goes before those who come later.
    pub fn in_order(&self, now: u64) -> bool {
        waits_in_order(self.fair, self.since, now)
    }

    /// Whether it goes before newcomers.
    pub fn goes_first(&self, now: u64) -> bool {
        self.in_order(now) || self.told
    }
}

/// Whether nobody overtakes who has waited since then.
pub(super) fn waits_in_order(fair: bool, since: u64, now: u64) -> bool {
    fair || now.saturating_sub(since) >= PATIENCE
}

/// One who holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseHolder {
    pub id: AttemptId,
    pub deadline: u64,
    pub ttl: u64,
    pub token: u64,
    pub since: u64,
    pub weight: u64,
    pub who: Vec<u8>,
}

/// What stands at a key, brought to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaseTable {
    /// The last token given.
    pub last: u64,
    pub tombstones: VecDeque<Tombstone>,
    pub waiters: Vec<Waiter>,
    pub holders: Vec<LeaseHolder>,
    /// Whether the value was not ours.
    pub foreign: bool,
    /// Whether something was changed that must be written.
    pub changed: bool,
    /// Whether the holder that shall leave did hold.
    pub left: bool,
}

impl LeaseTable {
    /// Reads a value and brings it to now, without the holder that leaves.
    pub fn load(value: Option<&[u8]>, now: u64, leaving: Option<&AttemptId>) -> LeaseTable {
        let mut table = match value.map(decode) {
            Some(Some(table)) => table,
            Some(None) => LeaseTable { foreign: true, ..LeaseTable::default() },
            None => LeaseTable::default(),
        };
        // Also one that is over leaves: else a clock that goes back would let it hold again.
        table.changed = leaving.is_some_and(|id| table.holding(id).is_some());
        table.bring_to(now);
        let before = table.holders.len();
        table.holders.retain(|held| Some(&held.id) != leaving);
        table.left = table.holders.len() < before;
        table
    }

    /// Mends what a clock that went back left, and drops what is over.
    fn bring_to(&mut self, now: u64) {
        let stands = |tombstone: &Tombstone| tombstone.until > now && tombstone.until <= now + LONGEST_TOMBSTONE;
        while self.tombstones.front().is_some_and(|first| !stands(first)) {
            self.tombstones.pop_front();
        }
        for waiter in &mut self.waiters {
            self.changed |= clamp(&mut waiter.until, now + HEARTBEAT) | clamp(&mut waiter.since, now);
        }
        for held in &mut self.holders {
            self.changed |= clamp(&mut held.deadline, now + held.ttl) | clamp(&mut held.since, now);
        }
        self.waiters.retain(|waiter| waiter.until > now);
        self.holders.retain(|held| held.deadline > now);
    }

    /// The milliseconds that it is kept.
    pub fn memory(&self, now: u64) -> u64 {
        let latest = self.holders.iter().map(|held| held.deadline).max();
        kept_for(latest.map_or(0, |latest| latest - now))
    }

    /// The permits that are held.
    pub fn held(&self) -> u64 {
        self.holders.iter().map(|held| held.weight).sum()
    }

    pub fn is_cancelled(&self, id: &AttemptId) -> bool {
        self.tombstones.iter().any(|tombstone| tombstone.id == *id)
    }

    pub fn holding(&self, id: &AttemptId) -> Option<usize> {
        self.holders.iter().position(|held| held.id == *id)
    }

    pub fn waiting(&self, id: &AttemptId) -> Option<usize> {
        self.waiters.iter().position(|waiter| waiter.id == *id)
    }

    /// Where a waiter belongs: behind the last who came before it. What came in one microsecond is told apart by its id, so
    /// the order is the same in all tables, and no two can each wait for the other's turn.
    pub fn queue_position(&self, since: u64, id: &AttemptId) -> usize {
        let came_before = |waiter: &Waiter| (waiter.since, &waiter.id) < (since, id);
        self.waiters.iter().rposition(came_before).map_or(0, |last| last + 1)
    }

    /// Those among the first `stop` who go before this waiter.
    pub fn ahead(&self, stop: usize, waiting: Option<usize>, now: u64) -> impl Iterator<Item = &Waiter> {
        let others = self.waiters[..stop].iter().enumerate().filter(move |(at, _)| Some(*at) != waiting);
        others.map(|(_, waiter)| waiter).filter(move |waiter| waiter.goes_first(now))
    }

    /// Lengthens a lease; it never becomes shorter.
    pub fn renew(&mut self, at: usize, now: u64, ttl: u64) {
        let held = &mut self.holders[at];
        (held.deadline, held.ttl) = (held.deadline.max(now + ttl), held.ttl.max(ttl));
    }

    /// Takes a waiter away; whether others may profit.
    pub fn dismiss(&mut self, at: usize, now: u64) -> bool {
        let waiter = self.waiters.remove(at);
        waiter.goes_first(now)
    }

    /// Refuses an id from now on.
    pub fn bury(&mut self, id: AttemptId, until: u64) {
        if let Some(at) = self.tombstones.iter().position(|tombstone| tombstone.id == id) {
            self.tombstones.remove(at);
        } else if self.tombstones.len() >= MOST_TOMBSTONES {
            self.tombstones.pop_front();
        }
        self.tombstones.push_back(Tombstone { id, until });
    }

    /// Marks the first waiters who fit, and returns their places: those in order first, since no other is granted before
    /// them. One that only wants a hint goes before newcomers once it was told, but not for long: if it does not ask again
    /// it is forgotten. Once it has waited for long enough it is in order too.
    pub fn wake(&mut self, permits: u64, now: u64) -> Vec<usize> {
        let (mut room, mut told) = (permits.saturating_sub(self.held()), Vec::new());
        for in_order in [true, false] {
            if room == 0 {
                break;
            }
            for (at, waiter) in
                self.waiters.iter_mut().enumerate().filter(|(_, waiter)| waiter.in_order(now) == in_order)
            {
                if waiter.weight <= room {
                    room -= waiter.weight;
                    if !std::mem::replace(&mut waiter.told, true) {
                        told.push(at);
                        if !in_order {
                            waiter.until = waiter.until.min(now + RIGHT_OF_WAY);
                        }
                    }
                } else if in_order {
                    room = 0;
                    break;
                }
            }
        }
        told.sort_unstable();
        told
    }
}

/// The table that a value says; none if it is not ours.
pub(super) fn decode(value: &[u8]) -> Option<LeaseTable> {
    let mut rest = Bytes(value.strip_prefix(MAGIC)?);
    let mut table = LeaseTable { last: rest.exact()?, ..LeaseTable::default() };
    let (tombstones, waiters) =
        (u32::from_le_bytes(rest.next_array()?) as usize, u16::from_le_bytes(rest.next_array()?));
    let crowded = tombstones > TOMBSTONE_SIZE * MOST_TOMBSTONES || usize::from(waiters) > MOST_WAITERS;
    if crowded || tombstones % TOMBSTONE_SIZE != 0 {
        return None;
    }
    for _ in 0..tombstones / TOMBSTONE_SIZE {
        table.tombstones.push_back(Tombstone { id: rest.next_array()?, until: u64::from_le_bytes(rest.next_array()?) });
    }
    for _ in 0..waiters {
        let (id, until, since, weight) = (rest.next_array()?, rest.exact()?, rest.exact()?, rest.weight()?);
        let [how] = rest.next_array()?;
        let (told, fair) = (how & TOLD != 0, how & !TOLD == 2);
        if !fair && how & !TOLD != 1 {
            return None;
        }
        table.waiters.push(Waiter { id, until, since, weight, fair, told, channel: rest.next_array()? });
    }
    while !rest.0.is_empty() {
        let id = rest.next_array()?;
        let (deadline, ttl, token, since) = (rest.exact()?, rest.exact()?, rest.exact()?, rest.exact()?);
        let (weight, size) = (rest.weight()?, u16::from_le_bytes(rest.next_array()?));
        let (who, others) = rest.0.split_at_checked(size.into())?;
        rest.0 = others;
        table.holders.push(LeaseHolder { id, deadline, ttl, token, since, weight, who: who.to_vec() });
    }
    Some(table)
}

/// The value that says a table.
pub(super) fn encode(table: &LeaseTable) -> Vec<u8> {
    let mut value = MAGIC.to_vec();
    push_numbers(&mut value, &[table.last]);
    value.extend_from_slice(&((table.tombstones.len() * TOMBSTONE_SIZE) as u32).to_le_bytes());
    value.extend_from_slice(&(table.waiters.len() as u16).to_le_bytes());
    for tombstone in &table.tombstones {
        value.extend_from_slice(&tombstone.id);
        push_numbers(&mut value, &[tombstone.until]);
    }
    for waiter in &table.waiters {
        value.extend_from_slice(&waiter.id);
        push_numbers(&mut value, &[waiter.until, waiter.since]);
        value.extend_from_slice(&(waiter.weight as u32).to_le_bytes());
        value.push(if waiter.fair { 2 } else { 1 } | if waiter.told { TOLD } else { 0 });
        value.extend_from_slice(&waiter.channel);
    }
    for held in &table.holders {
        value.extend_from_slice(&held.id);
        push_numbers(&mut value, &[held.deadline, held.ttl, held.token, held.since]);
        value.extend_from_slice(&(held.weight as u32).to_le_bytes());
        value.extend_from_slice(&(held.who.len() as u16).to_le_bytes());
        value.extend_from_slice(&held.who);
    }
    value
}

fn push_numbers(value: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|n| value.extend_from_slice(&n.to_le_bytes()));
}

/// What is left to be read.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    /// A number that scripts can count exactly.
    fn exact(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.next_array()?)).filter(|n| *n < EXACT)
    }

    fn weight(&mut self) -> Option<u64> {
        Some(u32::from_le_bytes(self.next_array()?).into())
    }
}
