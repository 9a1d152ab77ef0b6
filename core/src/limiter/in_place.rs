//! Charging a state where it lies, for `memory://`: what [`State`](super::state::State) does with one that is nothing but the
//! words of the policy's own rules, as nearly all are. Whatever else there is (a log, a block, holds, rules of another
//! policy, a clock that went back, a value that is not ours) is left to it.

use super::codec::put_numbers;
use super::spec::{Spec, said};
use super::state::milliseconds;
use crate::base::decision::{Decision, Source};
use crate::call::lua::EXACT;
use crate::memory::store::InPlace;
use crate::rules::algorithm::{Moment, Words};
use crate::rules::policy::Policy;

/// The most rules that are decided so.
const MOST_IN_PLACE: usize = 4;

/// Whether states of this policy can be charged so.
pub(super) fn fits(policy: &Policy) -> bool {
    let rules = policy.rules();
    rules.len() <= MOST_IN_PLACE && rules.iter().all(|rule| !rule.algorithm().definition().has_log())
}

impl Spec {
    /// Charges `cost` to the state in `value` if all rules admit it, or only looks.
    pub fn charge_in_place(&self, value: Option<&mut [u8]>, now: u64, cost: u64, look: bool) -> InPlace<Decision> {
        let rules = self.policy.rules();
        let of = |i: usize| (&rules[i], rules[i].algorithm().definition());
        if !self.in_place {
            return InPlace::Undecided;
        }
        let (at, mut all) = (Moment::plain(now), [Words::default(); MOST_IN_PLACE]);
        if let Some(value) = &value {
            let Some(mut stored) = value.strip_prefix(&*self.heading) else { return InPlace::Undecided };
            for (i, words) in all.iter_mut().enumerate().take(rules.len()) {
                let (rule, definition) = of(i);
                for word in &mut words[..definition.words.len()] {
                    let Some((bytes, rest)) = stored.split_first_chunk() else { return InPlace::Undecided };
                    (*word, stored) = (u64::from_le_bytes(*bytes), rest);
                    if *word >= EXACT {
                        return InPlace::Undecided;
                    }
                }
                if (definition.settle)(rule, words, &at) {
                    return InPlace::Undecided;
                }
            }
            if !stored.is_empty() {
                return InPlace::Undecided;
            }
        }
        let (mut waits, mut charged) = ([None; MOST_IN_PLACE], !look);
        for i in 0..rules.len() {
            let (rule, definition) = of(i);
            waits[i] = (definition.wait)(rule, &all[i], &at, cost);
            charged &= waits[i] == Some(0);
        }
        let (mut decided, mut life) = (Vec::with_capacity(rules.len()), 0);
        for (i, words) in all.iter_mut().enumerate().take(rules.len()) {
            let (rule, definition) = of(i);
            if charged {
                (definition.charge)(rule, words, &at, cost);
            }
            let reset_after = (definition.reset_after)(rule, words, &at);
            life = life.max(reset_after);
            let remaining = (definition.remaining)(rule, words, &at);
            decided.push(said(rule, rule.capacity(), waits[i], remaining, reset_after));
        }
        let decision = Decision::combine(&self.name, decided, 0, cost, false, Source::Memory).enforced(self.enforce);
        let ttl = milliseconds(life);
        match value {
            _ if !charged => InPlace::Left(decision),
            // Nothing is left to remember.
            _ if life == 0 => InPlace::Undecided,
            Some(value) => {
                let mut places = value[self.heading.len()..].chunks_exact_mut(size_of::<u64>());
                for (i, words) in all.iter().enumerate().take(rules.len()) {
                    let words = &words[..of(i).1.words.len()];
                    words.iter().zip(&mut places).for_each(|(word, place)| place.copy_from_slice(&word.to_le_bytes()));
                }
                InPlace::Changed(decision, ttl)
            }
            None => {
                let mut value = self.heading.clone();
                (0..rules.len()).for_each(|i| put_numbers(&mut value, &all[i][..of(i).1.words.len()]));
                InPlace::Made(decision, value, ttl)
            }
        }
    }
}
