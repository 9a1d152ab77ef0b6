//! Denials that Redis gave a moment ago, remembered for all clients of this process and, where memory is shared, of its
//! relatives: the same call need not ask again before it can be admitted.
//!
//! A key belongs to one of many cells. A call that may free something (a reset, a refund, another policy) is announced in its
//! cell before it is sent, and signed off when its answer has come. A denial is worth something only while its cell's generation is
//! what it was before its own call was sent, and if no such call was under way then. One that is never signed off, since
//! its process was killed or nobody knows whether it ran, counts as under way until it can no longer run.
//!
//! Nothing here waits, and nothing in it is believed that could be wrong: see [ADR 20](../../docs/adr/0020-remembered-denials.md).

mod process;
mod slots;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

pub use process::{
    DEFAULT_DENY_CACHE_KB, DENY_CACHE_FILE_VARIABLE, DenyCache, MAX_DENY_CACHE_KB, MIN_DENY_CACHE_KB, deny_cache,
    deny_cache_file, prepare_deny_cache,
};
pub(crate) use process::{may_know, table};
pub(crate) use slots::{Denial, MOST_RULES, RuleNumbers};
use slots::{DenialEntry, SLOT};

use wire::base::hash::hash;
use wire::base::shared::Seed;

/// As many places a key may have.
const WAYS: usize = 4;
/// Clocks of two hosts drift apart by no more than one part in this.
const DRIFT: u64 = 1_000;
/// A call may arrive so much later than its time, in milliseconds, where the server's clock is misjudged.
const LATE: u64 = 100;

/// A table of remembered denials.
pub(crate) struct DenialTable {
    cells: &'static [[AtomicU64; CELL]],
    slots: &'static [[AtomicU64; SLOT]],
    seed: Seed,
}

/// What one limiter needs of the table.
#[derive(Clone, Copy)]
pub(crate) struct Shelf {
    table: &'static DenialTable,
    /// The key of the hash of its keys.
    keys: [u64; 2],
    server: [u64; 2],
    policy: u64,
}

/// What stands for a key of a limiter.
#[derive(Clone, Copy)]
pub(crate) struct DenialPlace {
    /// The same for all policies and servers.
    key: [u64; 2],
}

/// What is known of a call from before it was sent.
#[derive(Clone, Copy)]
pub(crate) struct DenialVersion {
    generation: u64,
    /// When it was about to be sent, in microseconds.
    asked: u64,
    /// If it was announced: the millisecond when it is over.
    until: Option<u64>,
}

/// What a call may do to what was denied.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frees {
    /// Under the same policy it only takes.
    Nothing,
    /// It may free something when it runs.
    Now,
    /// It may hold something that becomes free again by itself, at the latest after so many microseconds.
    Later(u64),
}

impl DenialTable {
    /// A table in this memory, which is at least [`MIN_DENY_CACHE_KB`]; a quarter is for cells.
    fn new(words: &'static [AtomicU64], seed: Seed) -> DenialTable {
        let cell_count = (words.len() / 4 / CELL).max(1);
        let cell_count = 1 << cell_count.ilog2();
        let (cells, slots) = words.split_at(cell_count * CELL);
        DenialTable { cells: cells.as_chunks().0, slots: slots.as_chunks().0, seed }
    }

    /// What a limiter has here: of a server, whose keys begin with this stem, and with a policy that this number stands for.
    pub fn shelf(&'static self, server: &str, stem: &[u8], policy: u64) -> Shelf {
        let [first, second] = self.seed;
        Shelf {
            table: self,
            keys: hash([first ^ 1, second], stem),
            server: hash([first ^ 2, second], server.as_bytes()),
            policy,
        }
    }

    fn cell(&self, place: DenialPlace) -> Cell<'_> {
        Cell::new(&self.cells[place.key[0] as usize & (self.cells.len() - 1)])
    }

    fn ways(&self, id: [u64; 2]) -> &[[AtomicU64; SLOT]] {
        let sets = self.slots.len() / WAYS;
        let set = ((u128::from(id[1]) * sets as u128) >> 64) as usize;
        &self.slots[set * WAYS..][..WAYS]
    }

    /// When the last of all denials is over.
    fn latest(&self) -> &AtomicU64 {
        // A word that cells do not use.
        &self.cells[0][CELL - 1]
    }

    fn in_use(&self, now: u64) -> usize {
        self.slots.iter().filter(|slot| DenialEntry::end(slot) > now).count()
    }
}

impl Shelf {
    /// What stands for a key.
    #[inline]
    pub fn place(&self, key: &[u8]) -> DenialPlace {
        DenialPlace { key: hash(self.keys, key) }
    }

    fn id(&self, place: DenialPlace) -> [u64; 2] {
        [place.key[0] ^ self.server[0], place.key[1] ^ self.server[1]]
    }

    /// Does something with the denial that holds for this cost at the moment that `now` tells, if there is one, and with its age: how
    /// many microseconds ago its answer came.
    #[inline(always)]
    pub fn with_denial<T>(
        &self,
        place: DenialPlace,
        cost: u64,
        most: u64,
        now: impl Fn() -> u64,
        then: impl FnOnce(&Denial, u64) -> Option<T>,
    ) -> Option<T> {
        let id = self.id(place);
        let slot = self.table.ways(id).iter().find(|slot| DenialEntry::is_of(slot, id))?;
        let mut entry = DenialEntry::default();
        if !entry.read(slot, id) {
            return None;
        }
        let now = now();
        let until = entry.until.min(entry.asked.saturating_add(most));
        let holds = entry.policy == self.policy
            && cost >= entry.denial.cost
            && entry.answered <= now
            && now < until
            && self.table.cell(place).generation() == entry.generation;
        if holds { then(&entry.denial, now - entry.answered) } else { None }
    }

    /// A call is about to be sent, which can run for `timeout` microseconds.
    pub fn mark(&self, place: DenialPlace, frees: Frees, now: u64, timeout: u64) -> DenialVersion {
        let cell = self.table.cell(place);
        let is_other = cell.is_other(place.key[1] ^ self.policy);
        if frees == Frees::Nothing && !is_other {
            return DenialVersion { generation: cell.generation(), asked: now, until: None };
        }
        let held = if let Frees::Later(held) = frees { slower(held) } else { 0 };
        let until = now.saturating_add(timeout).saturating_add(held).div_ceil(1_000) + LATE;
        cell.announce(now, until);
        DenialVersion { generation: cell.generation(), asked: now, until: Some(until) }
    }

    /// The answer to a call that was marked has come; `holds` if something may become free by itself.
    pub fn answered(&self, place: DenialPlace, mark: &DenialVersion, holds: bool, now: u64) {
        if let Some(until) = mark.until.filter(|_| !holds) {
            self.table.cell(place).sign_off(now, until);
        }
    }

    /// Remembers the denial of a call that was marked for at most `most` microseconds, unless it may be wrong by now.
    pub fn remember(&self, place: DenialPlace, mark: &DenialVersion, denial: Denial, most: u64, now: u64) {
        let cell = self.table.cell(place);
        if mark.until.is_some() || cell.generation() != mark.generation || !cell.was_quiet(mark.asked) {
            return;
        }
        let life = denial.whole.retry_after.map_or(most, |retry_after| (retry_after - retry_after / DRIFT).min(most));
        let (id, until) = (self.id(place), mark.asked.saturating_add(life));
        if until <= now {
            return;
        }
        let ways = self.table.ways(id);
        let own = ways.iter().find(|slot| DenialEntry::is_of(slot, id));
        let slot = own.or_else(|| ways.iter().min_by_key(|slot| DenialEntry::end(slot)));
        let entry = DenialEntry {
            id,
            policy: self.policy,
            generation: mark.generation,
            asked: mark.asked,
            until,
            answered: now,
            denial,
        };
        slot.into_iter().for_each(|slot| entry.write(slot));
        self.table.latest().fetch_max(until, Ordering::Relaxed);
    }
}

/// As long by a clock that runs fast.
fn slower(time: u64) -> u64 {
    time.saturating_add(time / DRIFT)
}

/// How many words a cell has.
const CELL: usize = 4;
/// How many bits of a word count the calls that are under way in a cell.
const COUNT_BITS: u32 = 16;
const MOST: u64 = (1 << COUNT_BITS) - 1;

/// One cell: a generation; who is under way; the key and policy of the last call.
#[derive(Clone, Copy)]
struct Cell<'a> {
    generation: &'a AtomicU64,
    /// How many calls are under way, and above them the millisecond when all are over.
    pending: &'a AtomicU64,
    tag: &'a AtomicU64,
}

impl<'a> Cell<'a> {
    /// The cell in these words.
    fn new(words: &'a [AtomicU64; CELL]) -> Cell<'a> {
        let [generation, pending, tag, _] = words;
        Cell { generation, pending, tag }
    }

    fn generation(self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Notes whose call comes now; whether another's was before.
    fn is_other(self, tag: u64) -> bool {
        self.tag.load(Ordering::SeqCst) != tag && self.tag.swap(tag, Ordering::SeqCst) != tag
    }

    /// Whether nothing that may free something was under way at this microsecond.
    fn was_quiet(self, at: u64) -> bool {
        at >= (self.pending.load(Ordering::SeqCst) >> COUNT_BITS) * 1_000
    }

    /// Announces a call that is over at the millisecond `until`.
    fn announce(self, now: u64, until: u64) {
        let more = |pending: u64| {
            let (count, end) = (pending & MOST, pending >> COUNT_BITS);
            // All that were under way are over.
            let count = if end * 1_000 <= now { 0 } else { count };
            Some(end.max(until) << COUNT_BITS | (count + 1).min(MOST))
        };
        let _ = self.pending.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Signs off a call that was announced until `until`: it ran.
    fn sign_off(self, now: u64, until: u64) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        let less = |pending: u64| match pending & MOST {
            // It is counted no more, or there are too many to know.
            _ if until * 1_000 <= now => None,
            0 | MOST => None,
            1 => Some(0),
            _ => Some(pending - 1),
        };
        let _ = self.pending.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
    }
}
