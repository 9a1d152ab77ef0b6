//! The state of a limiter's key: twin of `scripts/limit/{load,place,finish}.lua`.
//!
//! Value: `QL`, a version byte, then a record per rule of `id, period, words` (unsigned 64 bit, little endian);
//! last, if the key is blocked, a record of id 0: `length, until`. A value of another form is not ours: it counts as none
//! and is replaced.

use crate::algorithm::{Algorithm, Words};
use crate::policy::Policy;
use crate::store::memory::Space;

const MAGIC: &[u8] = b"QL\x01";
const EXACT: u64 = 1 << 53;
const BLOCK: u8 = 0;

struct Record {
    id: u8,
    /// The rule's period, or a block's length.
    period: u64,
    words: Words,
}

/// A key's state, brought to `now`.
pub(super) struct State<'a> {
    policy: &'a Policy,
    now: u64,
    pub words: Vec<Words>,
    pub block_length: u64,
    pub block_until: u64,
    /// Whether a value stood at the key.
    pub present: bool,
    /// Whether that value was not ours.
    pub foreign: bool,
    /// Whether the state must be written even if nothing is charged.
    pub dirty: bool,
}

impl<'a> State<'a> {
    pub fn load(policy: &'a Policy, value: Option<&[u8]>, now: u64) -> State<'a> {
        let mut state = State {
            policy,
            now,
            words: vec![Words::default(); policy.rules().len()],
            block_length: 0,
            block_until: 0,
            present: value.is_some(),
            foreign: false,
            dirty: false,
        };
        match value.map(parse) {
            Some(Some(records)) => state.place(records),
            Some(None) => (state.foreign, state.dirty) = (true, true),
            None => {}
        }
        for (rule, words) in policy.rules().iter().zip(&mut state.words) {
            state.dirty |= (rule.algorithm().definition().settle)(rule, words, now);
        }
        if state.block_until > now + state.block_length {
            (state.block_until, state.dirty) = (now + state.block_length, true);
        }
        state
    }

    /// Gives each record to its rule: by place, else to the first rule of the same algorithm and period, else of the
    /// same algorithm. Records of no rule (the policy lost it) are dropped.
    fn place(&mut self, records: Vec<Record>) {
        let rules = self.policy.rules();
        let mut found = vec![false; rules.len()];
        let mut spare = Vec::new();
        for (i, record) in records.into_iter().enumerate() {
            let at_home = rules
                .get(i)
                .is_some_and(|r| r.algorithm().definition().id == record.id && r.reduced().1 == record.period);
            if record.id == BLOCK {
                (self.block_length, self.block_until) = (record.period, record.words[0]);
            } else if at_home {
                (self.words[i], found[i]) = (record.words, true);
            } else {
                spare.push(record);
            }
        }
        for same_period in [true, false] {
            for (i, rule) in rules.iter().enumerate() {
                let fits = |r: &Record| {
                    r.id == rule.algorithm().definition().id && (r.period == rule.reduced().1 || !same_period)
                };
                if found[i] {
                    continue;
                }
                if let Some(at) = spare.iter().position(fits) {
                    (self.words[i], found[i]) = (spare.remove(at).words, true);
                }
            }
        }
    }

    pub fn block_left(&self) -> u64 {
        self.block_until.saturating_sub(self.now)
    }

    pub fn reset_after(&self, i: usize) -> u64 {
        let rule = &self.policy.rules()[i];
        (rule.algorithm().definition().reset_after)(rule, &self.words[i], self.now)
    }

    /// Writes the state, or removes the key when there is nothing to remember.
    pub fn save(&self, space: &mut dyn Space, key: &[u8]) {
        let resets = (0..self.words.len()).map(|i| self.reset_after(i));
        let life = resets.chain([self.block_left()]).max().unwrap_or(0);
        if life == 0 {
            space.delete(key);
            return;
        }
        let mut value = Vec::with_capacity(MAGIC.len() + 33 * self.words.len() + 17);
        value.extend_from_slice(MAGIC);
        let mut put = |id: u8, first: u64, numbers: &[u64]| {
            value.push(id);
            [&[first], numbers].concat().iter().for_each(|n| value.extend_from_slice(&n.to_le_bytes()));
        };
        for (rule, words) in self.policy.rules().iter().zip(&self.words) {
            let definition = rule.algorithm().definition();
            put(definition.id, rule.reduced().1, &words[..definition.words.len()]);
        }
        if self.block_until > self.now {
            put(BLOCK, self.block_length, &[self.block_until]);
        }
        space.set(key, value, life / 1_000 + 1 + u64::from(life % 1_000 > 0));
    }
}

/// The records of a value, or none if the value is not ours.
fn parse(value: &[u8]) -> Option<Vec<Record>> {
    let mut rest = value.strip_prefix(MAGIC)?;
    let mut records = Vec::new();
    while let Some((&id, body)) = rest.split_first() {
        // A block is the last record.
        let last = id == BLOCK && body.len() == 16;
        let count = if last { 1 } else { Algorithm::by_id(id)?.definition().words.len() };
        let (numbers, after) = body.split_at_checked(8 * (count + 1))?;
        let mut numbers = numbers.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let mut number = || numbers.next().filter(|n| *n < EXACT);
        let period = number()?;
        let mut words = Words::default();
        for word in &mut words[..count] {
            *word = number()?;
        }
        records.push(Record { id, period, words });
        rest = after;
    }
    Some(records)
}
