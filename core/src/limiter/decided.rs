//! The one place that hears of every decision of a limiter when it is final, whoever made it: Redis, this process (from its
//! memory, permits taken ahead, a remembered denial) or `on_error`.
//!
//! A `wait` that asks again has decided nothing yet. What only looks decides nothing, and so does what gives back, blocks or forgets.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::all::CombinedCall;
use super::call::{LimiterCall, Verb};
use super::spec::LimiterSpec;
use crate::key;
use crate::limiter::decision::{CombinedDecision, Decision};
use crate::reports::Whose;
use wire::base::error::{Code, Error, Result};
use wire::call::answer::Answer;

impl LimiterSpec {
    /// A call about this key, which is only asked for where it is needed, was decided so, or could not be.
    #[inline]
    pub fn decided<'k>(&self, key: impl Fn() -> Cow<'k, [u8]>, decided: std::result::Result<&Decision, &Error>) {
        match decided {
            Ok(decision) => self.counters.count(decision.outcome(), decision.source, decision.healed),
            // What was asked wrongly is no decision.
            Err(error) if error.code() == Code::InvalidArgument => return,
            Err(_) => self.counters.count_error(self.asks),
        }
        if let (Some(named), Ok(_)) = (self.named, decided)
            && named.is_watched()
            && let Some(session) = self.session.upgrade()
        {
            named.charged(&self.policy, &key(), session.steady_time());
        }
        if let Some(reporter) = &self.reporter {
            let whose = Whose { name: &self.name, scope: self.scope.as_deref(), asks: self.asks };
            reporter.decided(&whose, key, decided);
        }
    }

    /// The user's part of a Redis key.
    fn user_key(&self, redis_key: &[u8]) -> Cow<'static, [u8]> {
        Cow::Owned(key::user_part(&self.stem, redis_key))
    }
}

impl Verb {
    /// Whether it asks for a decision about this cost: nothing is decided of no cost.
    pub fn decides(self, cost: u64) -> bool {
        cost > 0 && matches!(self, Verb::Consume | Verb::Require | Verb::UpTo | Verb::Reserve { .. })
    }
}

impl LimiterCall {
    /// The caller is about to get this.
    pub(super) fn decided(&self, result: &Result<Answer>) {
        if !self.verb.decides(self.amount) {
            return;
        }
        let key = || self.spec.user_key(&self.key);
        match result.as_ref().map(Answer::get) {
            Ok(Some(decision)) => self.spec.decided(key, Ok(decision)),
            Ok(None) => {}
            Err(error) => self.spec.decided(key, Err(error)),
        }
    }
}

impl CombinedCall {
    /// As of one call, for each charge. If the whole was denied, those that admitted have charged nothing and decided nothing.
    pub(super) fn decided(&self, result: &Result<Answer>) {
        let combined = match result.as_ref().map(Answer::get::<CombinedDecision>) {
            Ok(Some(combined)) => Ok(combined),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        for (part, place) in self.parts.iter().zip(&self.places) {
            let key = || part.spec.user_key(&part.key);
            match combined.map(|combined| (combined, combined.decisions.get(*place))) {
                Ok((combined, Some(decision))) if combined.counts(decision) => {
                    part.spec.decided(key, Ok(decision));
                }
                Ok(_) => {}
                Err(error) => part.spec.decided(key, Err(error)),
            }
        }
    }
}
