//! A state that stands in for Redis begins from what Redis said last of its key: what Redis counted is not admitted again.
//!
//! It is looked at and never stored: what is counted here has its own windows, and Redis' next answer takes the place of
//! its last one. Where nothing is known, as in `memory://`, all of this is what the state says.

use super::state::KeyState;
use super::usage::{KnownUsage, KnownUse, RuleName};
use crate::limiter::policy::Rule;
use wire::call::space::Space;

/// What distinguishes a rule from others.
pub(super) fn rule_name(rule: &Rule) -> RuleName {
    [u64::from(rule.algorithm().definition().id), rule.limit(), rule.period(), rule.capacity()]
}

impl KeyState<'_> {
    /// How much of a rule Redis counted.
    fn known<'k>(&self, space: &'k dyn Space, i: usize) -> Option<KnownUse<'k>> {
        let (known, now) = KnownUsage::of(space, self.key)?;
        let rule = &self.policy.rules()[i];
        // A bucket has it in its words.
        known.usage_of(rule_name(rule), now).filter(|_| !rule.algorithm().definition().has_capacity())
    }

    /// Has the buckets follow what Redis said of them: two that fill side by side would fill twice as fast.
    pub fn follow(&mut self, space: &dyn Space) {
        let Some((known, now)) = KnownUsage::of(space, self.key) else { return };
        for (rule, words) in self.policy.rules().iter().zip(&mut self.words) {
            if let (Some(bucket), Some(known)) =
                (&rule.algorithm().definition().bucket, known.usage_of(rule_name(rule), now))
            {
                (bucket.follow)(rule, words, self.now, known.amount, known.left());
            }
        }
    }

    /// For how long the key is blocked.
    pub fn blocked_for(&self, space: &dyn Space) -> u64 {
        let known = KnownUsage::of(space, self.key).map_or(0, |(known, now)| known.block_left(now));
        self.block_left().max(known)
    }

    /// How much could be consumed of a rule now.
    pub fn left(&self, space: &dyn Space, i: usize) -> u64 {
        let known = self.known(space, i).map_or(0, |known| known.amount);
        self.remaining(space, i).saturating_sub(known)
    }

    /// When a rule is as new.
    pub fn as_new_after(&self, space: &dyn Space, i: usize) -> u64 {
        let known = self.known(space, i).map_or(0, |known| known.left());
        self.reset_after(space, i).max(known)
    }

    /// The wait of each rule for a cost: never too short, and longer than need be only where what is counted here and what Redis
    /// counted end at different times.
    pub fn waits_for(&self, space: &dyn Space, cost: u64) -> Vec<Option<u64>> {
        let mut waits = self.waits(space, cost);
        for (i, wait) in waits.iter_mut().enumerate() {
            let (Some(alone), Some(known)) = (*wait, self.known(space, i)) else { continue };
            let remaining = self.remaining(space, i);
            if cost <= remaining.saturating_sub(known.amount) {
                continue;
            }
            // What is counted here makes room for both; what Redis counted fades enough; or all of that is gone.
            let here = self.waits(space, cost.saturating_add(known.amount))[i];
            let there = (cost <= remaining).then(|| known.wait(remaining - cost));
            *wait = [here, there, Some(alone.max(known.left()))].into_iter().flatten().min();
        }
        waits
    }
}

#[cfg(test)]
mod tests;
