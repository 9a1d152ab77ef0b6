//! The state of a limiter's key: twin of `scripts/limit/{load,place,expire,finish}.lua`.
//!
//! Value: `QL`, a version byte, then a record per rule of `id, period, words` (unsigned 64 bit, little endian); if the key
//! is blocked, a record 0: `length, until`; if amounts are held, a record 251 and the [`Holds`]. A value of another form is
//! not ours: it counts as none and is replaced.

use super::holds::Holds;
use crate::algorithm::{Algorithm, Words};
use crate::policy::Policy;
use crate::store::memory::Space;

const MAGIC: &[u8] = b"QL\x01";
const EXACT: u64 = 1 << 53;
const BLOCK: u8 = 0;
const HOLDS: u8 = 251;

struct Record {
    id: u8,
    period: u64,
    words: Words,
}

/// What a value of ours says.
#[derive(Default)]
struct Parsed {
    records: Vec<Record>,
    block_length: u64,
    block_until: u64,
    holds: Holds,
}

/// A key's state, brought to `now`.
pub(super) struct State<'a> {
    pub policy: &'a Policy,
    pub now: u64,
    pub words: Vec<Words>,
    pub block_length: u64,
    pub block_until: u64,
    pub holds: Holds,
    /// Whether a value stood at the key.
    pub present: bool,
    /// Whether that value was not ours.
    pub foreign: bool,
    /// Whether the state must be written even if nothing is charged.
    pub dirty: bool,
}

impl<'a> State<'a> {
    pub fn load(policy: &'a Policy, value: Option<&[u8]>, now: u64) -> State<'a> {
        let parsed = value.map(parse);
        let foreign = matches!(parsed, Some(None));
        let parsed = parsed.flatten().unwrap_or_default();
        let mut state = State {
            policy,
            now,
            words: place(policy, parsed.records),
            block_length: parsed.block_length,
            block_until: parsed.block_until,
            holds: parsed.holds,
            present: value.is_some(),
            foreign,
            dirty: foreign,
        };
        if state.block_until > now + state.block_length {
            (state.block_until, state.dirty) = (now + state.block_length, true);
        }
        for (rule, words) in policy.rules().iter().zip(&mut state.words) {
            state.dirty |= (rule.algorithm().definition().settle)(rule, words, now);
        }
        if let Some(returned) = state.holds.expire(now) {
            state.dirty = true;
            returned.iter().for_each(|hold| state.refund(hold.amount, hold.since));
        }
        state
    }

    /// The wait of each rule for a cost.
    pub fn waits(&self, cost: u64) -> Vec<Option<u64>> {
        let rules = self.policy.rules().iter().zip(&self.words);
        rules.map(|(rule, words)| (rule.algorithm().definition().wait)(rule, words, self.now, cost)).collect()
    }

    pub fn charge(&mut self, cost: u64) {
        for (rule, words) in self.policy.rules().iter().zip(&mut self.words) {
            (rule.algorithm().definition().charge)(rule, words, self.now, cost);
        }
    }

    /// Gives back an amount that was charged at `since`.
    pub fn refund(&mut self, amount: u64, since: u64) {
        for (rule, words) in self.policy.rules().iter().zip(&mut self.words) {
            (rule.algorithm().definition().refund)(rule, words, self.now, amount, since);
        }
    }

    pub fn block_left(&self) -> u64 {
        self.block_until.saturating_sub(self.now)
    }

    pub fn remaining(&self, i: usize) -> u64 {
        let rule = &self.policy.rules()[i];
        (rule.algorithm().definition().remaining)(rule, &self.words[i], self.now)
    }

    pub fn reset_after(&self, i: usize) -> u64 {
        let rule = &self.policy.rules()[i];
        (rule.algorithm().definition().reset_after)(rule, &self.words[i], self.now)
    }

    /// Writes the state, or removes the key when there is nothing to remember.
    pub fn save(&self, space: &mut dyn Space, key: &[u8]) {
        let resets = (0..self.words.len()).map(|i| self.reset_after(i));
        let held = if self.holds.is_empty() { 0 } else { self.holds.latest().saturating_sub(self.now) };
        let life = resets.chain([self.block_left(), held]).max().unwrap_or(0);
        if life == 0 {
            space.delete(key);
            return;
        }
        let mut value = MAGIC.to_vec();
        for (rule, words) in self.policy.rules().iter().zip(&self.words) {
            let definition = rule.algorithm().definition();
            put(&mut value, definition.id, &[rule.reduced().1]);
            put_numbers(&mut value, &words[..definition.words.len()]);
        }
        if self.block_until > self.now {
            put(&mut value, BLOCK, &[self.block_length, self.block_until]);
        }
        if !self.holds.is_empty() {
            let (numbers, bytes) = self.holds.record();
            put(&mut value, HOLDS, &numbers);
            value.extend_from_slice(bytes);
        }
        space.set(key, value, milliseconds(life));
    }
}

fn put(value: &mut Vec<u8>, id: u8, numbers: &[u64]) {
    value.push(id);
    put_numbers(value, numbers);
}

fn put_numbers(value: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|n| value.extend_from_slice(&n.to_le_bytes()));
}

/// The TTL for something that must be remembered for so many microseconds.
pub(super) fn milliseconds(life: u64) -> u64 {
    life.div_ceil(1_000) + 1
}

/// Gives each record to its rule: by place, else to the first rule of the same algorithm and period, else of the same
/// algorithm. Records of no rule (the policy lost it) are dropped.
fn place(policy: &Policy, records: Vec<Record>) -> Vec<Words> {
    let rules = policy.rules();
    let mut placed: Vec<Option<Words>> = vec![None; rules.len()];
    let mut spare = Vec::new();
    for (i, record) in records.into_iter().enumerate() {
        let fits = |rule: &crate::policy::Rule| {
            rule.algorithm().definition().id == record.id && rule.reduced().1 == record.period
        };
        match rules.get(i) {
            Some(rule) if fits(rule) => placed[i] = Some(record.words),
            _ => spare.push(record),
        }
    }
    for same_period in [true, false] {
        for (rule, words) in rules.iter().zip(&mut placed).filter(|(_, words)| words.is_none()) {
            let id = rule.algorithm().definition().id;
            let fits = |r: &Record| r.id == id && (r.period == rule.reduced().1 || !same_period);
            *words = spare.iter().position(fits).map(|at| spare.remove(at).words);
        }
    }
    placed.into_iter().map(Option::unwrap_or_default).collect()
}

/// Takes a number from the front.
fn number(rest: &mut &[u8]) -> Option<u64> {
    let (bytes, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    Some(u64::from_le_bytes(*bytes)).filter(|n| *n < EXACT)
}

/// The parts of a value, or none if the value is not ours.
fn parse(value: &[u8]) -> Option<Parsed> {
    let mut rest = value.strip_prefix(MAGIC)?;
    let (mut parsed, mut last) = (Parsed::default(), None);
    while let Some((&id, body)) = rest.split_first() {
        rest = body;
        match id {
            BLOCK if last.is_none() => {
                (parsed.block_length, parsed.block_until) = (number(&mut rest)?, number(&mut rest)?);
                last = Some(BLOCK);
            }
            HOLDS => {
                let mut numbers = [0; 4];
                for n in &mut numbers {
                    *n = number(&mut rest)?;
                }
                parsed.holds = Holds::read(numbers, rest)?;
                rest = &[];
            }
            _ if last.is_none() => {
                let (definition, period) = (Algorithm::by_id(id)?.definition(), number(&mut rest)?);
                let mut words = Words::default();
                for word in &mut words[..definition.words.len()] {
                    *word = number(&mut rest)?;
                }
                parsed.records.push(Record { id, period, words });
            }
            _ => return None,
        }
    }
    Some(parsed)
}
