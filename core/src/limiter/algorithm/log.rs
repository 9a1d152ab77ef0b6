//! The log of a key: one for all its sliding-log rules. Twin of `../script/{log,append,collapse,save_log}.lua`.
//!
//! A ring of entries of 12 bytes in the middle of the value: time (7 bytes), sum of all costs up to and with it (5 bytes,
//! it wraps). Entry `n` lies in slot `n % room`; the last one is `(last, sum)` and never read.

use super::{Moment, Words};
use wire::call::space::Space;

/// Sums wrap here.
pub(crate) const WRAP: u64 = 1 << 40;
/// The most that one rule counts.
pub(crate) const LOG_MOST: u64 = 1 << 39;
/// The bytes of an entry.
pub(crate) const ENTRY: u64 = 12;

/// What the log's record says, and where its entries are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Log {
    /// The number of the next entry.
    pub next: u64,
    pub sum: u64,
    pub last: u64,
    /// How many slots the ring has.
    pub room: u64,
    /// Where the ring begins in the value; 0 if there is none.
    pub base: u64,
    /// Whether the last entry is to be written.
    pub logged: bool,
    /// What the last append added.
    pub added: u64,
}

/// Up to where entries are passed over.
#[derive(Clone, Copy)]
pub(crate) enum Edge {
    /// Those at this time or before.
    Time(u64),
    /// Those after which more than this is left.
    Left(u64),
}

/// An entry that was looked for, and the sum of the one before it.
#[derive(Clone, Copy)]
pub(crate) struct LogPosition {
    pub number: u64,
    pub time: u64,
    pub total: u64,
    pub gone: u64,
}

impl Log {
    const NONE: Log = Log { next: 0, sum: 0, last: 0, room: 0, base: 0, logged: false, added: 0 };

    /// Adds a cost at `now`; a call of the same microsecond as the last shares its entry.
    pub fn append(&mut self, now: u64, cost: u64) {
        if self.next == 0 || self.last < now {
            (self.next, self.last) = (self.next + 1, now);
        }
        (self.sum, self.logged, self.added) = ((self.sum + cost) % WRAP, true, cost);
    }

    /// What was added after an entry with this sum.
    pub fn since(&self, total: u64) -> u64 {
        (self.sum + WRAP - total % WRAP) % WRAP
    }

    /// The words of a rule for which the last entry is the first that counts.
    pub fn beginning_at_last(&self, used: u64) -> Words {
        [self.next - 1, used, self.last, self.sum]
    }

    /// The bytes of the last entry.
    pub fn last_entry(&self) -> [u8; ENTRY as usize] {
        let mut bytes = [0; ENTRY as usize];
        bytes[..7].copy_from_slice(&self.last.to_le_bytes()[..7]);
        bytes[7..].copy_from_slice(&self.sum.to_le_bytes()[..5]);
        bytes
    }

    /// The place of an entry in the value.
    pub fn offset_of(&self, number: u64) -> u64 {
        self.base + ENTRY * (number % self.room.max(1))
    }
}

/// Entries are read from the store one by one: the log may be long.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'a> {
    pub log: &'a Log,
    /// None if no rule has a log.
    pub space: Option<&'a dyn Space>,
    pub key: &'a [u8],
}

impl Entries<'_> {
    /// Time and sum of an entry. What is cut off counts as over.
    pub fn entry(&self, number: u64) -> (u64, u64) {
        let log = self.log;
        if number + 1 == log.next {
            return (log.last, log.sum);
        }
        let bytes = self.space.map_or(&[][..], |space| space.range(self.key, log.offset_of(number), ENTRY));
        let Some((time, sum)) = bytes.split_first_chunk::<7>().filter(|_| bytes.len() == ENTRY as usize) else {
            return (0, log.sum);
        };
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        (number(time), number(sum))
    }

    /// The first entry after `low` that is not passed over. `low`, with its sum, is. Steps that double, then halves.
    pub fn beyond(&self, mut low: u64, gone: u64, edge: Edge) -> LogPosition {
        let mut found = LogPosition { number: self.log.next, time: 0, total: 0, gone };
        let mut passes = |number: u64, low: &mut u64| {
            let (time, total) = self.entry(number);
            let passed = match edge {
                Edge::Time(edge) => time <= edge,
                Edge::Left(most) => self.log.since(total) > most,
            };
            if passed {
                (*low, found.gone) = (number, total);
            } else {
                found = LogPosition { number, time, total, ..found };
            }
            (passed, found)
        };
        let (mut step, mut best) = (1, LogPosition { number: self.log.next, time: 0, total: 0, gone });
        while low + step < best.number {
            let (passed, now) = passes(low + step, &mut low);
            best = now;
            if !passed {
                break;
            }
            step *= 2;
        }
        while best.number - low > 1 {
            (_, best) = passes(low + (best.number - low) / 2, &mut low);
        }
        best
    }

    /// The first entry from `low` on that lies in the future, when the last one does.
    pub fn first_of_future(&self, mut low: u64, now: u64) -> u64 {
        let mut from = self.log.next - 1;
        while low < from {
            let middle = low + (from - low) / 2;
            if self.entry(middle).0 > now { from = middle } else { low = middle + 1 }
        }
        from
    }
}

impl<'a> Moment<'a> {
    pub fn new(now: u64, log: &'a Log, space: &'a dyn Space, key: &'a [u8]) -> Moment<'a> {
        Moment { now, entries: Entries { log, space: Some(space), key } }
    }

    /// For rules without a log.
    pub fn plain(now: u64) -> Moment<'static> {
        Moment { now, entries: Entries { log: &Log::NONE, space: None, key: &[] } }
    }
}
