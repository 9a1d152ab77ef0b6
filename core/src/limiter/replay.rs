//! Policies in a time of the caller's own, for simulations: what `memory://` would decide if its clock said so.

use super::state::KeyState;
use crate::limiter::algorithm::{Definition, Moment, Words};
use crate::limiter::policy::{Policy, Rule};
use wire::base::error::Result;
use wire::call::resp::Reply;
use wire::call::space::{Object, Planted, Space};

/// Decides by one policy for keys that are numbered from 0 on, at times that the caller tells.
///
/// It is the arithmetic of every store without one: no client, no names of keys, no TTLs. A key takes 16 to 32 bytes for each
/// rule, and with a `sliding-log` 12 to 15 more for each admission that counts.
///
/// ```
/// use quotalock::{Policy, Replay};
///
/// let mut replay = Replay::new(Policy::parse("2/minute")?);
/// let start = 1_700_000_000_000_000;
/// assert!(replay.consume(0, start, 1).allowed && replay.consume(0, start, 1).allowed);
/// let denied = replay.consume(0, start + 1_000_000, 1);
/// assert_eq!((denied.allowed, denied.retry_after), (false, Some(59_000_000)));
/// # Ok::<(), quotalock::Error>(())
/// ```
pub struct Replay {
    policy: Policy,
    /// The numbers of all keys, one after another; none if a rule has a log.
    words: Vec<u64>,
    /// How many of them a key has; 0 if a rule has a log.
    width: usize,
    /// The stored values of all keys, if a rule has a log.
    values: Vec<ReplayKey>,
}

/// What a [`Replay`] decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Whether the call is admitted. A denied one is charged nothing.
    pub allowed: bool,
    /// After how many microseconds the same call would be admitted: 0 when admitted, none when never.
    pub retry_after: Option<u64>,
    /// What the rule that binds would let be consumed now.
    pub remaining: u64,
    /// Which rule binds, by its place in the policy: the denying one with the longest `retry_after`, else that with the least
    /// remaining.
    pub binds: usize,
}

fn definition_of(rule: &Rule) -> &'static Definition {
    rule.algorithm().definition()
}

impl Replay {
    /// Makes one whose keys are all as new.
    pub fn new(policy: Policy) -> Replay {
        let with_log = policy.rules().iter().any(|rule| definition_of(rule).has_log());
        let width = policy.rules().iter().map(|rule| definition_of(rule).words.len()).sum();
        Replay { policy, words: Vec::new(), width: if with_log { 0 } else { width }, values: Vec::new() }
    }

    /// What it decides by.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How many bytes all keys take.
    pub fn size(&self) -> usize {
        let values: usize = self.values.iter().map(|kept| kept.0.as_ref().map_or(0, Vec::capacity)).sum();
        self.words.capacity() * size_of::<u64>() + self.values.capacity() * size_of::<ReplayKey>() + values
    }

    /// Charges a key `cost` (up to [`MAX_COST`](crate::MAX_COST)) at `now`, in microseconds since the epoch, if all rules admit
    /// it. A key that was not asked about before is as new. A time before that of an earlier call is healed as in every store.
    pub fn consume(&mut self, key: usize, now: u64, cost: u64) -> Replayed {
        if self.width == 0 {
            return self.consume_logged(key, now, cost);
        }
        let start = key * self.width;
        if self.words.len() < start + self.width {
            self.words.resize(start + self.width, 0);
        }
        let (rules, kept) = (self.policy.rules(), &mut self.words[start..start + self.width]);
        if let [rule] = rules {
            return one(rule, kept, now, cost);
        }
        several(rules, kept, now, cost)
    }

    /// As the stores do it, with their form of a value.
    fn consume_logged(&mut self, key: usize, now: u64, cost: u64) -> Replayed {
        if self.values.len() <= key {
            self.values.resize_with(key + 1, ReplayKey::default);
        }
        let kept = &mut self.values[key];
        // Nothing but our own is ever kept, so it can always be read.
        let Ok(state) = KeyState::load(&self.policy, kept, &[], now) else {
            return Replayed { allowed: false, retry_after: None, remaining: 0, binds: 0 };
        };
        let reply = state.consume(kept, cost, false).reply;
        let number = |at: usize| match reply.get(at) {
            Some(Reply::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        // Behind `1, now, healed, block` each rule has three: wait, remaining, reset.
        let rules = (0..self.policy.rules().len()).map(|i| (number(4 + 3 * i), number(5 + 3 * i).unwrap_or(0)));
        combined(rules)
    }
}

/// One rule, whose numbers are all there are.
fn one(rule: &Rule, kept: &mut [u64], now: u64, cost: u64) -> Replayed {
    let (definition, at) = (definition_of(rule), Moment::plain(now));
    let mut words = Words::default();
    words[..kept.len()].copy_from_slice(kept);
    let back = (definition.settle)(rule, &mut words, &at);
    let wait = (definition.wait)(rule, &words, &at, cost);
    if wait == Some(0) {
        (definition.charge)(rule, &mut words, &at, cost);
    }
    if wait == Some(0) || back {
        kept.copy_from_slice(&words[..kept.len()]);
    }
    let remaining = (definition.remaining)(rule, &words, &at);
    Replayed { allowed: wait == Some(0), retry_after: wait, remaining, binds: 0 }
}

/// All or none.
fn several(rules: &[Rule], kept: &mut [u64], now: u64, cost: u64) -> Replayed {
    let (at, mut all) = (Moment::plain(now), [Words::default(); crate::limiter::policy::MAX_RULES]);
    let mut waits = [None; crate::limiter::policy::MAX_RULES];
    let (mut stored, mut back, mut allowed) = (&kept[..], false, true);
    for (i, rule) in rules.iter().enumerate() {
        let (words, rest) = stored.split_at(definition_of(rule).words.len());
        all[i][..words.len()].copy_from_slice(words);
        stored = rest;
        back |= (definition_of(rule).settle)(rule, &mut all[i], &at);
        waits[i] = (definition_of(rule).wait)(rule, &all[i], &at, cost);
        allowed &= waits[i] == Some(0);
    }
    if allowed {
        rules.iter().zip(&mut all).for_each(|(rule, words)| (definition_of(rule).charge)(rule, words, &at, cost));
    }
    if allowed || back {
        let words = rules.iter().zip(&all).flat_map(|(rule, words)| &words[..definition_of(rule).words.len()]);
        kept.iter_mut().zip(words).for_each(|(kept, word)| *kept = *word);
    }
    combined(rules.iter().enumerate().map(|(i, rule)| (waits[i], (definition_of(rule).remaining)(rule, &all[i], &at))))
}

/// What the rules say together, given the wait of each and what it would let be consumed: as of a decision.
fn combined(rules: impl Iterator<Item = (Option<u64>, u64)>) -> Replayed {
    // `None` is never, which is longer than any time.
    let length = |wait: Option<u64>| wait.unwrap_or(u64::MAX);
    let each = rules.enumerate().map(|(binds, (retry_after, remaining))| {
        let allowed = retry_after == Some(0);
        Replayed { allowed, retry_after, remaining, binds }
    });
    let tighter = |a: Replayed, b: Replayed| {
        let replaces = match (a.allowed, b.allowed) {
            (true, true) => b.remaining < a.remaining,
            (false, false) => length(b.retry_after) > length(a.retry_after),
            (allowed, _) => allowed,
        };
        if replaces { b } else { a }
    };
    // A policy has a rule.
    each.reduce(tighter).unwrap_or(Replayed { allowed: true, retry_after: Some(0), remaining: 0, binds: 0 })
}

/// The value of one key, the only one that there is.
#[derive(Default)]
struct ReplayKey(Option<Vec<u8>>);

impl Space for ReplayKey {
    fn get(&self, _key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(self.0.as_deref())
    }

    fn range(&self, _key: &[u8], from: u64, length: u64) -> &[u8] {
        let value = self.0.as_deref().unwrap_or_default();
        let size = value.len() as u64;
        &value[from.min(size) as usize..from.saturating_add(length).min(size) as usize]
    }

    fn set_range(&mut self, _key: &[u8], from: u64, bytes: &[u8], _ttl: u64) {
        let Some(value) = &mut self.0 else { return };
        let (from, to) = (from as usize, from as usize + bytes.len());
        value.resize(value.len().max(to), 0);
        value[from..to].copy_from_slice(bytes);
    }

    fn set(&mut self, _key: &[u8], value: Vec<u8>, _ttl: u64) {
        self.0 = Some(value);
    }

    fn object(&mut self, _key: &[u8]) -> Result<Option<&mut Object>> {
        Ok(None)
    }

    fn set_object(&mut self, _key: &[u8], _object: Box<Object>, _ttl: u64) {}

    fn set_ttl(&mut self, _key: &[u8], _ttl: u64) {}

    fn delete(&mut self, _key: &[u8]) -> bool {
        self.0.take().is_some()
    }

    fn plant(&mut self, _key: &[u8], _value: Planted) {}

    fn ttl(&self, _key: &[u8]) -> i64 {
        -1
    }
}
