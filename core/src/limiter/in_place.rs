//! Charging a state where it lies, for `memory://`: what [`State`](super::state::State) does with one that is nothing but the
//! words of the policy's own rules, as nearly all are. Whatever else there is (a log, a block, holds, rules of another
//! policy, a clock that went back, a value that is not ours) is left to it.

use super::spec::{Spec, said};
use super::state::milliseconds;
use crate::base::decision::{Decision, Source};
use crate::call::lua::EXACT;
use crate::memory::store::InPlace;
use crate::rules::algorithm::{Kept, Moment, Words};

/// The most rules that are decided so.
const MOST: usize = 4;
/// How many bytes a word takes.
const WORD: usize = 8;

impl Spec {
    /// Charges `cost` to the state in `value` if all rules admit it, or only looks.
    pub fn charge_in_place(&self, value: Option<&mut [u8]>, now: u64, cost: u64, look: bool) -> InPlace<Decision> {
        let rules = self.policy.rules();
        let definition = |i: usize| rules[i].algorithm().definition();
        if rules.len() > MOST || (0..rules.len()).any(|i| definition(i).has_log()) {
            return InPlace::Undecided;
        }
        let (at, mut all) = (Moment::plain(now), [Words::default(); MOST]);
        let mut stored = match &value {
            None => None,
            Some(value) => match value.strip_prefix(&*self.heading) {
                None => return InPlace::Undecided,
                stored => stored,
            },
        };
        if let Some(stored) = &mut stored {
            for (i, (rule, words)) in rules.iter().zip(&mut all).enumerate() {
                for word in &mut words[..definition(i).words.len()] {
                    let Some((bytes, rest)) = stored.split_first_chunk::<WORD>() else { return InPlace::Undecided };
                    (*word, *stored) = (u64::from_le_bytes(*bytes), rest);
                    if *word >= EXACT {
                        return InPlace::Undecided;
                    }
                }
                let kept = Kept { rate: rule.rate(), capacity: rule.capacity() };
                let back = definition(i).ends.is_some_and(|ends| ends(&kept, words, now).back);
                if back || (definition(i).settle)(rule, words, &at) {
                    return InPlace::Undecided;
                }
            }
            if !stored.is_empty() {
                return InPlace::Undecided;
            }
        }
        let mut waits = [Some(0); MOST];
        for (i, (rule, words)) in rules.iter().zip(&all).enumerate() {
            waits[i] = (definition(i).wait)(rule, words, &at, cost);
        }
        let charged = !look && waits.iter().all(|wait| *wait == Some(0));
        let (mut decided, mut life) = (Vec::with_capacity(rules.len()), 0);
        for (i, (rule, words)) in rules.iter().zip(&mut all).enumerate() {
            if charged {
                (definition(i).charge)(rule, words, &at, cost);
            }
            let reset_after = (definition(i).reset_after)(rule, words, &at);
            life = life.max(reset_after);
            let remaining = (definition(i).remaining)(rule, words, &at);
            decided.push(said(rule, rule.capacity(), waits[i], remaining, reset_after));
        }
        let decision = Decision::combine(&self.name, decided, 0, cost, false, Source::Memory).enforced(self.enforce);
        if !charged {
            return InPlace::Left(decision);
        }
        if life == 0 {
            return InPlace::Undecided;
        }
        let words = (0..rules.len()).flat_map(|i| &all[i][..definition(i).words.len()]);
        match value {
            Some(value) => {
                let places = value[self.heading.len()..].chunks_exact_mut(WORD);
                places.zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
                InPlace::Changed(decision, milliseconds(life))
            }
            None => {
                let mut value = self.heading.clone();
                words.for_each(|word| value.extend_from_slice(&word.to_le_bytes()));
                InPlace::Made(decision, value, milliseconds(life))
            }
        }
    }
}
