//! What stands at a limiter's key, told without a call.

use super::codec;
use super::holds::{Holds, SETTLED, Unsettled};
use super::spec::rule_decision;
use super::state::KeyState;
use crate::limiter::decision::RuleDecision;
use crate::limiter::policy::{MAX_RULES, Policy, Rule};
use wire::base::error::Result;
use wire::call::space::{Object, Planted, Space};

/// What a value says about a limiter's key. Durations are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLimiter {
    /// The rules that are counted, and what each says to a call that costs 1: first those of the policy of the last call that
    /// wrote, then those of other policies of this name. The value doesn't tell where the ones end and the others begin.
    pub rules: Vec<(Rule, RuleDecision)>,
    /// For how long everything is denied yet; 0 if it is not blocked.
    pub block_left: u64,
    /// Amounts that reservations hold.
    pub holds: Vec<StoredHold>,
    /// Whether a time lies in a future that it can't lie in, since the server's clock went back: the next call that writes
    /// corrects it.
    pub is_ahead: bool,
}

/// An amount that a reservation holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHold {
    /// How much.
    pub amount: u64,
    /// How long it lasts yet, in microseconds.
    pub left: u64,
    /// What becomes of it then; none if it is settled already, and only remembered.
    pub unsettled: Option<Unsettled>,
}

impl StoredLimiter {
    /// What a value says at a time of the server's clock, in microseconds; none if it is not ours: then it counts as none, and
    /// the next call that writes replaces it.
    pub fn read(value: &[u8], now: u64) -> Option<StoredLimiter> {
        let mut parsed = codec::parse(value, b"", false)?;
        let rules = parsed.records.iter().map(codec::Record::rule).collect::<Option<Vec<Rule>>>()?;
        // A block of a length that counts from now on at most.
        let block_ahead = parsed.block_until > now.saturating_add(parsed.block_length);
        let log = parsed.log;
        let ahead = parsed.records.iter_mut().filter_map(|record| record.settle(now, log.as_ref()).then_some(()));
        let is_ahead = ahead.count() > 0;
        let mut stored =
            StoredLimiter { rules: Vec::new(), block_left: 0, holds: Vec::new(), is_ahead: is_ahead || block_ahead };
        for rules in rules.chunks(MAX_RULES) {
            stored.ask(Policy::new(rules).ok()?, value, now)?;
        }
        Some(stored)
    }

    /// Adds what a policy that is counted there says.
    fn ask(&mut self, policy: Policy, value: &[u8], now: u64) -> Option<()> {
        let space = OneValue(value);
        let state = KeyState::load(&policy, &space, b"", now).ok().filter(|state| !state.foreign)?;
        let waits = state.waits(&space, 1);
        for (at, (rule, wait)) in policy.rules().iter().zip(waits).enumerate() {
            let (left, reset_after) = (state.remaining(&space, at), state.reset_after(&space, at));
            self.rules.push((*rule, rule_decision(rule, rule.capacity(), wait, left, reset_after)));
        }
        self.block_left = state.block_left();
        self.holds = holds(&state.holds, now);
        Some(())
    }

    /// The policy that a call must have to count as these rules do: the first [`MAX_RULES`] of them.
    pub fn policy(&self) -> Option<Policy> {
        Policy::new(self.rules.iter().take(MAX_RULES).map(|(rule, _)| *rule).collect::<Vec<Rule>>()).ok()
    }
}

fn holds(holds: &Holds, now: u64) -> Vec<StoredHold> {
    if holds.is_empty() {
        return Vec::new();
    }
    let stands = holds.listed().filter(|hold| hold.stop > now);
    let told = stands.map(|hold| StoredHold {
        amount: hold.amount,
        left: hold.stop - now,
        unsettled: match hold.state {
            SETTLED => None,
            state if state == Unsettled::Returned as u8 => Some(Unsettled::Returned),
            _ => Some(Unsettled::Spent),
        },
    });
    told.collect()
}

/// A space of one value that nobody writes to.
struct OneValue<'a>(&'a [u8]);

impl Space for OneValue<'_> {
    fn get(&self, _key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(Some(self.0))
    }

    fn range(&self, _key: &[u8], from: u64, length: u64) -> &[u8] {
        let end = from.saturating_add(length).min(self.0.len() as u64);
        self.0.get(from as usize..end as usize).unwrap_or_default()
    }

    fn object(&mut self, _key: &[u8]) -> Result<Option<&mut Object>> {
        Ok(None)
    }

    fn ttl(&self, _key: &[u8]) -> i64 {
        -1
    }

    fn delete(&mut self, _key: &[u8]) -> bool {
        false
    }

    fn set_range(&mut self, _key: &[u8], _from: u64, _bytes: &[u8], _ttl: u64) {}
    fn set(&mut self, _key: &[u8], _value: Vec<u8>, _ttl: u64) {}
    fn set_object(&mut self, _key: &[u8], _object: Box<Object>, _ttl: u64) {}
    fn set_ttl(&mut self, _key: &[u8], _ttl: u64) {}
    fn plant(&mut self, _key: &[u8], _value: Planted) {}
}

#[cfg(test)]
mod tests {
    use super::StoredLimiter;

    #[test]
    fn a_count_that_was_handed_over_is_read_as_any_other() {
        let now = 1_700_000_000_000_000_u64;
        let mut value = b"QL\x02\x02".to_vec();
        // The id of a fixed window, and of one that was handed over.
        for (id, limit, period) in [(1, 2_u64, 10_000_000_u64), (129, 40, 1_000_000_000)] {
            value.push(id);
            value.extend_from_slice(&limit.to_le_bytes()[..7]);
            value.extend_from_slice(&period.to_le_bytes()[..7]);
        }
        for word in [1, now + 10_000_000, now, 9, now + 1_000_000_000, now] {
            value.extend_from_slice(&word.to_le_bytes());
        }
        let told = StoredLimiter::read(&value, now).unwrap();
        let rules = told.rules.iter().map(|(rule, said)| (rule.limit(), said.remaining, said.reset_after));
        assert_eq!(rules.collect::<Vec<_>>(), [(2, 1, 10_000_000), (40, 31, 1_000_000_000)]);
    }
}
