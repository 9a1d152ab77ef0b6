//! Charging a state where it lies, for `memory://`: what [`KeyState`](super::state::KeyState) does with one that is nothing but the
//! words of the policy's own rules, as nearly all are. Whatever else there is (a log, a block, holds, rules of another
//! policy, a clock that went back, a value that is not ours) is left to it.

use super::codec::put_numbers;
use super::spec::{LimiterSpec, rule_decision};
use super::state::milliseconds;
use crate::limiter::algorithm::{Moment, Words};
use crate::limiter::decision::Decision;
use crate::limiter::policy::{Policy, Rule};
use wire::base::source::Source;
use wire::call::lua::EXACT;
use wire::memory::store::InPlace;

/// The most rules that are decided so.
const MOST_IN_PLACE: usize = 4;

/// Whether states of this policy can be charged so.
pub(super) fn fits(policy: &Policy) -> bool {
    let rules = policy.rules();
    rules.len() <= MOST_IN_PLACE && rules.iter().all(|rule| !rule.algorithm().definition().has_log())
}

/// What a rule says of a call: its wait, what is left, and when it is as new.
pub(super) type Said = (Option<u64>, u64, u64);

impl LimiterSpec {
    /// Charges `cost` to the state in `value` if all rules admit it, or only looks; none if that takes more than the value.
    /// The compiler knows how many rules there are.
    #[inline(always)]
    pub fn charge_in_place<const N: usize>(
        &self,
        rules: [&Rule; N],
        mut value: Option<&mut [u8]>,
        now: u64,
        cost: u64,
        look: bool,
    ) -> Option<([Said; N], InPlace)> {
        if !self.in_place {
            return None;
        }
        let (at, mut all) = (Moment::plain(now), [Words::default(); N]);
        let rules = rules.map(|rule| (rule, rule.algorithm().definition()));
        if let Some(value) = &value {
            let mut stored = value.strip_prefix(&*self.heading)?;
            for (words, (rule, definition)) in all.iter_mut().zip(rules) {
                for word in &mut words[..definition.words.len()] {
                    let (bytes, rest) = stored.split_first_chunk()?;
                    (*word, stored) = (u64::from_le_bytes(*bytes), rest);
                    if *word >= EXACT {
                        return None;
                    }
                }
                if (definition.settle)(rule, words, &at) {
                    return None;
                }
            }
            if !stored.is_empty() {
                return None;
            }
        }
        let waits: [_; N] = std::array::from_fn(|i| (rules[i].1.wait)(rules[i].0, &all[i], &at, cost));
        let (charged, mut life) = (!look && waits.iter().all(|wait| *wait == Some(0)), 0);
        let said = std::array::from_fn(|i| {
            let ((rule, definition), words) = (rules[i], &mut all[i]);
            if charged {
                (definition.charge)(rule, words, &at, cost);
            }
            let reset_after = (definition.reset_after)(rule, words, &at);
            life = life.max(reset_after);
            (waits[i], (definition.remaining)(rule, words, &at), reset_after)
        });
        if !charged {
            return Some((said, InPlace::Left));
        }
        // Nothing is left to remember.
        if life == 0 {
            return None;
        }
        let words = all.iter().zip(rules).map(|(words, (_, definition))| &words[..definition.words.len()]);
        let ttl = milliseconds(life);
        let Some(value) = &mut value else {
            let mut value = self.heading.clone();
            words.for_each(|words| put_numbers(&mut value, words));
            return Some((said, InPlace::Made(value, ttl)));
        };
        let (places, _) = value[self.heading.len()..].as_chunks_mut();
        let mut places = places.iter_mut();
        for words in words {
            words.iter().zip(&mut places).for_each(|(word, place)| *place = word.to_le_bytes());
        }
        Some((said, InPlace::Changed(ttl)))
    }

    /// The decision of rules that said this.
    #[inline(always)]
    pub fn decided_in_place<const N: usize>(&self, rules: [&Rule; N], all: [Said; N], cost: u64) -> Decision {
        let rules: [_; N] = std::array::from_fn(|i| {
            let (wait, remaining, reset_after) = all[i];
            rule_decision(rules[i], rules[i].capacity(), wait, remaining, reset_after)
        });
        Decision::combine(&self.name, rules, 0, cost, false, Source::Memory).enforced(self.enforce)
    }
}
