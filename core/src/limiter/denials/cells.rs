//! What may be remembered: generations that change when a denial may have become wrong.
//!
//! A key belongs to one of many cells. A call that may free something (a reset, a refund, another policy) is announced in its
//! cell before it is sent, and signed off when its answer has come. A denial is worth something only while its cell's generation is
//! what it was before its own call was sent, and if no such call was under way then. One that is never signed off, since
//! its process was killed or nobody knows whether it ran, counts as under way until it can no longer run.

use std::sync::atomic::{AtomicU64, Ordering};

/// How many words a cell has.
pub(super) const CELL: usize = 4;
const COUNT_BITS: u32 = 16;
const MOST: u64 = (1 << COUNT_BITS) - 1;

/// One cell: a generation; who is under way; the key and policy of the last call.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    generation: &'a AtomicU64,
    /// How many calls are under way, and above them the millisecond when all are over.
    pending: &'a AtomicU64,
    tag: &'a AtomicU64,
}

impl<'a> Cell<'a> {
    /// The cell in these words.
    pub fn new(words: &'a [AtomicU64; CELL]) -> Cell<'a> {
        let [generation, pending, tag, _] = words;
        Cell { generation, pending, tag }
    }

    pub fn generation(self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Notes whose call comes now; whether another's was before.
    pub fn is_other(self, tag: u64) -> bool {
        self.tag.load(Ordering::SeqCst) != tag && self.tag.swap(tag, Ordering::SeqCst) != tag
    }

    /// Whether nothing that may free something was under way at this microsecond.
    pub fn was_quiet(self, at: u64) -> bool {
        at >= (self.pending.load(Ordering::SeqCst) >> COUNT_BITS) * 1_000
    }

    /// Announces a call that is over at the millisecond `until`.
    pub fn announce(self, now: u64, until: u64) {
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
    pub fn sign_off(self, now: u64, until: u64) {
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
