//! Remembered denials as words: written without a lock, and taken for nothing unless all words are of one writing.

use std::sync::atomic::{AtomicU64, Ordering};

/// Policies of more rules are not remembered.
pub(crate) const MOST_RULES: usize = 4;
/// How many words a slot has: three lines of a cache.
pub(super) const SLOT: usize = 24;
/// Words before those of the rules.
const HEAD: usize = 12;
/// In this word stand the count of rules and, above it, how long after its call the answer came.
const COUNT: usize = 7;
const COUNT_BITS: u32 = 8;
const CHECK: usize = 11;

/// What one rule said: its wait (none: never), what is left, and when it is as new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleNumbers {
    pub retry_after: Option<u64>,
    pub remaining: u64,
    pub reset_after: u64,
}

impl RuleNumbers {
    fn of([wait, remaining, reset_after]: [u64; 3]) -> RuleNumbers {
        RuleNumbers { retry_after: Some(wait).filter(|wait| *wait != u64::MAX), remaining, reset_after }
    }

    fn words(self) -> [u64; 3] {
        [self.retry_after.unwrap_or(u64::MAX), self.remaining, self.reset_after]
    }
}

/// The numbers of a denial. Times are microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Denial {
    pub cost: u64,
    /// What all say together.
    pub whole: RuleNumbers,
    pub rule_count: usize,
    pub rules: [RuleNumbers; MOST_RULES],
}

/// A denial with what decides whether it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub id: [u64; 2],
    pub policy: u64,
    pub generation: u64,
    /// When its call was sent, at the latest when it was denied.
    pub asked: u64,
    /// When it is over.
    pub until: u64,
    /// When its answer had come.
    pub answered: u64,
    pub denial: Denial,
}

/// Odd numbers without a pattern, one for each word.
const FACTORS: [u64; SLOT] = {
    let (mut factors, mut state, mut at) = ([0; SLOT], 0_u64, 0);
    while at < SLOT {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        factors[at] = (mixed ^ (mixed >> 31)) | 1;
        at += 1;
    }
    factors
};

fn rule_count(word: u64) -> usize {
    (word & ((1 << COUNT_BITS) - 1)) as usize
}

/// How many words say something.
fn used(word: u64) -> usize {
    HEAD + 3 * rule_count(word).min(MOST_RULES)
}

fn checksum(words: &[u64; SLOT]) -> u64 {
    let mut sum = 0x6c62_272e_07bb_0142_u64;
    for at in (0..used(words[COUNT])).filter(|at| *at != CHECK) {
        sum = sum.wrapping_add(words[at].wrapping_mul(FACTORS[at]));
    }
    sum ^ sum >> 32
}

impl Entry {
    /// The entry in these words, if it has this id.
    #[inline]
    pub fn read(slot: &[AtomicU64; SLOT], id: [u64; 2]) -> Option<Entry> {
        let load = |at: usize| slot[at].load(Ordering::Relaxed);
        if load(0) != id[0] || load(1) != id[1] {
            return None;
        }
        let mut words = [0; SLOT];
        let count = load(COUNT);
        (0..used(count)).for_each(|at| words[at] = load(at));
        words[COUNT] = count;
        if rule_count(count) > MOST_RULES || words[CHECK] != checksum(&words) {
            return None;
        }
        let whole = RuleNumbers::of([words[8], words[9], words[10]]);
        let mut denial = Denial { cost: words[4], whole, rule_count: rule_count(count), ..Denial::default() };
        let (numbers, _) = words[HEAD..].as_chunks::<3>();
        for (rule, numbers) in denial.rules.iter_mut().zip(numbers).take(denial.rule_count) {
            *rule = RuleNumbers::of(*numbers);
        }
        Some(Entry {
            id: [words[0], words[1]],
            policy: words[2],
            generation: words[3],
            asked: words[5],
            until: words[6],
            answered: words[5].wrapping_add(count >> COUNT_BITS),
            denial,
        })
    }

    /// Writes the entry. Who is killed meanwhile, or writes at the same time, leaves what no reader takes for an entry.
    pub fn write(&self, slot: &[AtomicU64; SLOT]) {
        let denial = &self.denial;
        let mut words = [0; SLOT];
        let count = denial.rule_count as u64 | self.answered.wrapping_sub(self.asked) << COUNT_BITS;
        let [retry_after, remaining, reset_after] = denial.whole.words();
        words[..CHECK].copy_from_slice(&[
            self.id[0],
            self.id[1],
            self.policy,
            self.generation,
            denial.cost,
            self.asked,
            self.until,
            count,
            retry_after,
            remaining,
            reset_after,
        ]);
        for (place, rule) in words[HEAD..].as_chunks_mut::<3>().0.iter_mut().zip(&denial.rules) {
            *place = rule.words();
        }
        words[CHECK] = checksum(&words);
        for (place, word) in slot.iter().zip(words).take(used(count)) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// When what stands in these words is over, whosever it is.
    pub fn end(slot: &[AtomicU64; SLOT]) -> u64 {
        slot[6].load(Ordering::Relaxed)
    }
}
