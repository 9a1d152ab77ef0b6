//! Remembered denials as words: written without a lock, and taken for nothing unless all words are of one writing.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Policies of more rules are not remembered.
pub(crate) const MOST_RULES: usize = 4;
/// How many words a slot has: three lines of a cache.
pub(super) const SLOT: usize = 24;
/// Words before those of the rules.
const HEAD: usize = 12;
/// Words of a rule.
const RULE: usize = 3;
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
pub(super) struct DenialEntry {
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

/// Odd numbers without a pattern, one for each word that the checksum is of.
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
    factors[CHECK] = 0;
    factors
};

fn rule_count(word: u64) -> usize {
    (word & ((1 << COUNT_BITS) - 1)) as usize
}

/// The sum of a head and of the words of its rules.
#[inline(always)]
fn checksum(words: &[u64; SLOT], rule_count: usize) -> u64 {
    let mut sum = 0x6c62_272e_07bb_0142_u64;
    let mut add = |at: usize| sum = sum.wrapping_add(words[at].wrapping_mul(FACTORS[at]));
    (0..HEAD).for_each(&mut add);
    places(rule_count).for_each(|place| place.for_each(&mut add));
    sum ^ sum >> 32
}

/// Where the words of so many rules are. The compiler knows the places.
#[inline(always)]
fn places(rule_count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..MOST_RULES).filter(move |rule| *rule < rule_count).map(|rule| HEAD + RULE * rule..HEAD + RULE * (rule + 1))
}

impl DenialEntry {
    /// Becomes the entry in these words, if it has this id; else it is nothing. Made where it lies, since moving it takes longer.
    #[inline(always)]
    pub fn read(&mut self, slot: &[AtomicU64; SLOT], id: [u64; 2]) -> bool {
        // Each word is read once: another entry may be written meanwhile.
        let mut words = [0; SLOT];
        let load = |words: &mut [u64; SLOT], at: usize| words[at] = slot[at].load(Ordering::Relaxed);
        (0..2).for_each(|at| load(&mut words, at));
        if words[..2] != id {
            return false;
        }
        (2..HEAD).for_each(|at| load(&mut words, at));
        let rule_count = rule_count(words[COUNT]);
        places(rule_count).for_each(|place| place.for_each(|at| load(&mut words, at)));
        if rule_count > MOST_RULES || words[CHECK] != checksum(&words, rule_count) {
            return false;
        }
        (self.id, self.policy, self.generation) = (id, words[2], words[3]);
        (self.asked, self.until) = (words[5], words[6]);
        self.answered = words[5].wrapping_add(words[COUNT] >> COUNT_BITS);
        self.denial.cost = words[4];
        self.denial.whole = RuleNumbers::of([words[8], words[9], words[10]]);
        self.denial.rule_count = rule_count;
        for (rule, place) in self.denial.rules.iter_mut().zip(places(rule_count)) {
            *rule = RuleNumbers::of([words[place.start], words[place.start + 1], words[place.start + 2]]);
        }
        true
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
        for (place, rule) in words[HEAD..].as_chunks_mut::<RULE>().0.iter_mut().zip(&denial.rules) {
            *place = rule.words();
        }
        words[CHECK] = checksum(&words, denial.rule_count);
        for (place, word) in slot.iter().zip(words).take(HEAD + RULE * denial.rule_count) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Whether this id stands in these words.
    #[inline]
    pub fn is_of(slot: &[AtomicU64; SLOT], id: [u64; 2]) -> bool {
        slot[0].load(Ordering::Relaxed) == id[0] && slot[1].load(Ordering::Relaxed) == id[1]
    }

    /// When what stands in these words is over, whosever it is.
    pub fn end(slot: &[AtomicU64; SLOT]) -> u64 {
        slot[6].load(Ordering::Relaxed)
    }
}
