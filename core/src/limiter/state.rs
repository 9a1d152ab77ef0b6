//! The state of a limiter's key: twin of `script/{load,migrate,collapse,expire,finish,save_log,carry_log}.lua`.
//!
//! Value: `QL`, a version byte, how many rules, their names (`id, limit, period`, and of a bucket its capacity), then what
//! each of them counted (its words, unsigned 64 bit, little endian); with a sliding-log a record 250 and the [`Log`]; if the key is blocked, a record 0: `length, until`; if amounts are held, a
//! record 251 and the [`Holds`]. A value of another form is not ours: it counts as none and is replaced.

use super::codec::{self, MAGIC, Others, push_record, put_numbers};
use super::holds::{Holds, Return};
use super::usage::share;
use crate::limiter::algorithm::log::{ENTRY, Entries, Log};
use crate::limiter::algorithm::{Bucket, Definition, Filled, Logged, Moment, RefundedCharge, Words};
use crate::limiter::policy::{Policy, Rate, Rule};
use wire::base::error::Result;
use wire::call::space::Space;

/// A key's state, brought to `now`.
pub(super) struct KeyState<'a> {
    pub policy: &'a Policy,
    pub key: &'a [u8],
    pub now: u64,
    pub words: Vec<Words>,
    log: Log,
    /// The log that no rule of this policy has, but one of another.
    other_log: Option<Log>,
    pub block_length: u64,
    pub block_until: u64,
    pub holds: Holds,
    /// Rules that another policy of this name has.
    others: Others,
    /// The names of the rules, those of other policies too.
    names: Vec<u8>,
    /// When what a rule took over from one of another rate may be gone, as long as it is not written down.
    ends: Vec<Option<u64>>,
    /// Whether a value stood at the key.
    pub present: bool,
    /// Whether that value was not ours.
    pub foreign: bool,
    /// Whether the state must be written even if nothing is charged.
    pub dirty: bool,
}

fn definition_of(rule: &Rule) -> &'static Definition {
    rule.algorithm().definition()
}

impl<'a> KeyState<'a> {
    pub fn load(policy: &'a Policy, space: &dyn Space, key: &'a [u8], now: u64) -> Result<KeyState<'a>> {
        let with_log = policy.rules().iter().any(|rule| definition_of(rule).has_log());
        let value = space.get(key)?.filter(|value| !value.is_empty());
        let parsed = value.map(|value| codec::parse(value, &codec::heading(policy), with_log));
        let foreign = matches!(parsed, Some(None));
        let mut parsed = parsed.flatten().unwrap_or_default();
        let log = if with_log { parsed.log.unwrap_or_default() } else { Log::default() };
        // All of them: the second one is to be settled as well.
        let back = parsed
            .records
            .iter_mut()
            .filter_map(|record| record.settle(now, parsed.log.as_ref()).then_some(()))
            .count()
            > 0;
        if with_log {
            let entries = Entries { log: &log, space: Some(space), key };
            parsed.records.iter_mut().for_each(|record| record.restore(&entries));
        }
        let placed = codec::assign_records(policy, &mut parsed.records, log.next, now);
        let others = codec::others(policy, &parsed.records);
        let layout = codec::layout(policy, &placed, &parsed.records, &others);
        let mut state = KeyState {
            policy,
            key,
            now,
            words: placed.iter().map(|rule| rule.words).collect(),
            log,
            other_log: parsed.log.filter(|_| !with_log && others.have_log()),
            block_length: parsed.block_length,
            block_until: parsed.block_until,
            holds: parsed.holds,
            present: value.is_some(),
            foreign,
            dirty: foreign || back,
            ends: placed.iter().map(|rule| rule.kept.map(|(_, stop)| stop)).collect(),
            names: codec::names(policy, &placed, &others),
            others,
        };
        state.holds.arrange(&layout, policy.rules().len());
        for (i, (kept, _)) in placed.iter().enumerate().filter_map(|(i, rule)| Some((i, rule.kept?))) {
            state.dirty = true;
            state.carry(i, kept);
        }
        if state.block_until > now + state.block_length {
            (state.block_until, state.dirty) = (now + state.block_length, true);
        }
        state.collapse(space);
        let moment = Moment::new(now, &state.log, space, key);
        if with_log {
            for (logged, words, limit, period) in state.others.logged() {
                state.dirty |= (logged.trim)(words, period, &moment);
                (logged.most)(words, limit, &moment.entries);
            }
        }
        for (rule, words) in policy.rules().iter().zip(&mut state.words) {
            state.dirty |= (definition_of(rule).settle)(rule, words, &moment);
        }
        if let Some(returned) = state.holds.expire(now, state.rules_as_new()) {
            state.dirty = true;
            returned.iter().for_each(|hold| state.give(space, hold));
            // What came back may have made rules as new.
            state.holds.uncount(state.rules_as_new());
        }
        state.follow(space);
        Ok(state)
    }

    /// Takes over what was counted at another rate, the shares of holds included.
    fn carry(&mut self, i: usize, kept: Rate) {
        let (rule, words) = (&self.policy.rules()[i], &mut self.words[i]);
        (definition_of(rule).carry)(rule, words, kept, self.now);
        if let Some(Bucket { refilled, .. }) = &definition_of(rule).bucket {
            let (words, bucket) = (*words, self.bucket(i));
            self.holds.refill(bucket, |filled| refilled(rule, kept, &words, filled));
        }
    }

    /// How many buckets stand before a rule.
    fn bucket(&self, i: usize) -> usize {
        self.policy.rules()[..i].iter().filter(|rule| definition_of(rule).has_capacity()).count()
    }

    pub fn rule_count(&self) -> usize {
        self.words.len()
    }

    /// The clock went back: entries of the log from the future become one of now.
    fn collapse(&mut self, space: &dyn Space) {
        if self.log.last <= self.now || self.log.next == 0 {
            return;
        }
        let oldest = self.oldest();
        let from = Moment::new(self.now, &self.log, space, self.key).entries.first_of_future(oldest, self.now);
        (self.log.next, self.log.last, self.log.logged, self.dirty) = (from + 1, self.now, true, true);
        let log = self.log;
        self.all_logged().for_each(|(logged, words)| (logged.gather)(words, from, &log));
    }

    /// The words of the rules of this policy that have a log.
    fn logged(&mut self) -> impl Iterator<Item = (&'static Logged, &mut Words)> {
        let rules = self.policy.rules().iter().zip(&mut self.words);
        rules.filter_map(|(rule, words)| Some((definition_of(rule).log.as_ref()?, words)))
    }

    /// The words of all rules that the log is kept for, those of other policies too.
    fn all_logged(&mut self) -> impl Iterator<Item = (&'static Logged, &mut Words)> {
        let rules = self.policy.rules().iter().zip(&mut self.words);
        let own = rules.filter_map(|(rule, words)| Some((definition_of(rule).log.as_ref()?, words)));
        own.chain(self.others.logged().map(|(logged, words, ..)| (logged, words)))
    }

    /// The first entry of the log that still counts.
    fn oldest(&mut self) -> u64 {
        let next = self.log.next;
        self.all_logged().map(|(logged, words)| (logged.oldest)(words)).fold(next, u64::min)
    }

    /// The wait of each rule for a cost.
    pub fn waits(&self, space: &dyn Space, cost: u64) -> Vec<Option<u64>> {
        let moment = Moment::new(self.now, &self.log, space, self.key);
        self.policy
            .rules()
            .iter()
            .zip(&self.words)
            .map(|(rule, words)| (definition_of(rule).wait)(rule, words, &moment, cost))
            .collect()
    }

    pub fn charge(&mut self, space: &dyn Space, cost: u64) {
        let most = self.logged().map(|(logged, words)| (logged.bound)(words)).min();
        if let Some(most) = most {
            self.log.append(self.now, cost.min(most));
            let log = self.log;
            self.others.charge(&log);
        }
        let moment = Moment::new(self.now, &self.log, space, self.key);
        for (rule, words) in self.policy.rules().iter().zip(&mut self.words) {
            (definition_of(rule).charge)(rule, words, &moment, cost);
        }
    }

    /// Gives back an amount to every rule.
    pub fn refund(&mut self, space: &dyn Space, amount: u64) {
        let charged = RefundedCharge { since: self.now, filled: None };
        let moment = Moment::new(self.now, &self.log, space, self.key);
        for (rule, words) in self.policy.rules().iter().zip(&mut self.words) {
            (definition_of(rule).refund)(rule, words, &moment, amount, &charged);
        }
    }

    /// Gives back some of what was held, to the rules that count it.
    pub fn give(&mut self, space: &dyn Space, hold: &Return) {
        let moment = Moment::new(self.now, &self.log, space, self.key);
        let mut buckets = 0;
        for (i, (rule, words)) in self.policy.rules().iter().zip(&mut self.words).enumerate() {
            if hold.counted & 1 << i != 0 {
                (definition_of(rule).refund)(rule, words, &moment, hold.amount, &hold.charged(buckets));
            }
            buckets += usize::from(definition_of(rule).has_capacity());
        }
    }

    /// When each of the buckets is full again.
    pub fn filled(&self) -> Vec<Filled> {
        let rules = self.policy.rules().iter().zip(&self.words);
        rules.filter_map(|(rule, words)| Some((definition_of(rule).bucket.as_ref()?.filled)(words))).collect()
    }

    /// The rules that are as new: a bit each.
    fn rules_as_new(&self) -> u32 {
        let rules = self.policy.rules().iter().zip(&self.words).enumerate();
        rules.filter(|(_, (rule, words))| definition_of(rule).is_fresh(words)).fold(0, |over, (i, _)| over | 1 << i)
    }

    /// How long a time is at most that is told of a rule by a call that writes nothing.
    pub fn most(&self, i: usize) -> u64 {
        self.ends[i].map_or(u64::MAX, |end| end - self.now)
    }

    pub fn block_left(&self) -> u64 {
        self.block_until.saturating_sub(self.now)
    }

    pub fn remaining(&self, space: &dyn Space, i: usize) -> u64 {
        let rule = &self.policy.rules()[i];
        (definition_of(rule).remaining)(rule, &self.words[i], &Moment::new(self.now, &self.log, space, self.key))
    }

    pub fn reset_after(&self, space: &dyn Space, i: usize) -> u64 {
        let rule = &self.policy.rules()[i];
        (definition_of(rule).reset_after)(rule, &self.words[i], &Moment::new(self.now, &self.log, space, self.key))
    }

    /// Writes the state, or removes the key when there is nothing to remember.
    pub fn save(&mut self, space: &mut dyn Space) {
        let resets = (0..self.words.len()).map(|i| self.reset_after(space, i));
        let held = if self.holds.is_empty() { 0 } else { self.holds.latest().saturating_sub(self.now) };
        let others = self.others.until.saturating_sub(self.now);
        let life = resets.chain([self.block_left(), held, others]).max().unwrap_or(0);
        if life == 0 {
            space.delete(self.key);
            return;
        }
        let mut tail = Vec::new();
        if self.block_until > self.now {
            push_record(&mut tail, codec::BLOCK, &[self.block_length, self.block_until]);
        }
        if !self.holds.is_empty() {
            let (numbers, bytes) = self.holds.record();
            push_record(&mut tail, codec::HOLDS, &numbers);
            tail.extend_from_slice(bytes);
        }
        if self.policy.rules().iter().any(|rule| definition_of(rule).has_log()) {
            self.save_log(space, tail, milliseconds(life));
        } else if let Some(log) = self.other_log {
            self.carry_log(space, log, &tail, milliseconds(life));
        } else {
            space.set(self.key, [self.head(), tail].concat(), milliseconds(life));
        }
        let used = |(i, rule): (usize, &Rule)| share(rule.capacity() - self.remaining(space, i), rule.capacity());
        let share = self.policy.rules().iter().enumerate().map(used).max().unwrap_or(0);
        space.weigh(self.key, share);
    }

    /// Writes a state with the log of another policy: as it is, and where it is if it can be.
    fn carry_log(&self, space: &mut dyn Space, log: Log, tail: &[u8], ttl: u64) {
        let mut head = self.head();
        let (start, size) = (head.len() as u64 + codec::LOG_SIZE, ENTRY * log.room);
        codec::put_log(&mut head, &Log { base: start, ..log }, tail.len());
        if start == log.base {
            if !tail.is_empty() {
                space.set_range(self.key, start + size, tail, ttl);
            }
            space.set_range(self.key, 0, &head, ttl);
        } else {
            head.extend_from_slice(space.range(self.key, log.base, size));
            head.extend_from_slice(tail);
            space.set(self.key, head, ttl);
        }
    }

    /// All that stands before the log.
    fn head(&self) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.push((self.words.len() + self.others.count()) as u8);
        head.extend_from_slice(&self.names);
        for (rule, words) in self.policy.rules().iter().zip(&self.words) {
            put_numbers(&mut head, &words[..definition_of(rule).words.len()]);
        }
        head.extend_from_slice(&self.others.words());
        head
    }

    /// Writes a state with a log: what changed of it, or all of it when it has to be larger, smaller or elsewhere.
    fn save_log(&mut self, space: &mut dyn Space, tail: Vec<u8>, ttl: u64) {
        let oldest = self.oldest();
        let (mut head, live) = (self.head(), self.log.next - oldest);
        let start = head.len() as u64 + codec::LOG_SIZE;
        if self.log.base == start && live <= self.log.room && 2 * self.log.room <= 32 + 3 * live {
            if self.log.logged {
                space.set_range(self.key, self.log.offset_of(self.log.next - 1), &self.log.last_entry(), ttl);
            }
            if !tail.is_empty() {
                space.set_range(self.key, start + ENTRY * self.log.room, &tail, ttl);
            }
            codec::put_log(&mut head, &self.log, tail.len());
            space.set_range(self.key, 0, &head, ttl);
            return;
        }
        let mut ring = Vec::new();
        if live > 0 {
            let count = live - 1;
            if count > 0 {
                let straight = count.min(self.log.room - oldest % self.log.room);
                ring.extend_from_slice(space.range(self.key, self.log.offset_of(oldest), ENTRY * straight));
                ring.extend_from_slice(space.range(self.key, self.log.base, ENTRY * (count - straight)));
                ring.resize((ENTRY * count) as usize, 0);
            }
            ring.extend_from_slice(&self.log.last_entry());
        }
        self.all_logged().for_each(|(logged, words)| (logged.renumber)(words, oldest));
        (self.log.next, self.log.room, self.log.base) = (live, live + live / 4 + 8, start);
        ring.resize((ENTRY * self.log.room) as usize, 0);
        let mut value = self.head();
        codec::put_log(&mut value, &self.log, tail.len());
        value.extend_from_slice(&ring);
        value.extend_from_slice(&tail);
        space.set(self.key, value, ttl);
    }
}

/// The TTL for something that must be remembered for so many microseconds.
pub(super) fn milliseconds(life: u64) -> u64 {
    life.div_ceil(1_000) + 1
}
