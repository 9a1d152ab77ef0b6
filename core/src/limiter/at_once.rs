//! Decisions that this process makes without a call, on its caller's thread.

use std::sync::atomic::Ordering;

use super::call::{LimiterCall, Verb};
use super::prefetch::KNOWN;
use super::{Limiter, check_cost};
use crate::key;
use crate::limiter::decision::Decision;
use crate::limiter::denials;
use crate::limiter::policy::Rule;
use wire::base::error::{Error, Result};
use wire::base::source::Source;
use wire::call::command::Command;
use wire::memory::store::ValueAccess;
use wire::op::{Op, Unsure};
use wire::session::exchange::Exchange;

/// Whether a limiter on Redis may be [answered at once](Limiter::consume_at_once): a look that costs next to nothing.
pub fn may_know() -> bool {
    KNOWN.load(Ordering::Relaxed) > 0 || denials::may_know()
}

/// A consume or require that was described and is not run yet.
struct Ask {
    limiter: Limiter,
    verb: Verb,
    key: Box<[u8]>,
    cost: u64,
}

impl Unsure<Decision> for Ask {
    fn at_once(&self) -> Option<Result<Decision>> {
        match self.verb {
            Verb::Require => self.limiter.require_at_once(&self.key, self.cost),
            _ => self.limiter.consume_at_once(&self.key, self.cost),
        }
    }

    fn exchange(&self) -> Exchange {
        let call = self.limiter.command(self.verb, &self.key, self.cost, None);
        Exchange::new(self.limiter.client.session.clone(), Box::new(call), None)
    }
}

/// What is asked by a consume of this cost.
fn charging(cost: u64) -> Verb {
    if cost == 0 { Verb::Look } else { Verb::Consume }
}

impl Limiter {
    /// Whether all that it counts is in this process, so that it always [answers at once](Limiter::consume_at_once).
    pub fn is_in_memory(&self) -> bool {
        self.client.is_in_memory()
    }

    /// Decides as [`consume`](Limiter::consume) does, if this process can do so without a call; none if it cannot: then make
    /// the call.
    ///
    /// # Errors
    /// As `consume` and the call that it describes.
    pub fn consume_at_once(&self, key: &[u8], cost: u64) -> Option<Result<Decision>> {
        self.at_once(charging(cost), key, cost)
    }

    /// As [`consume_at_once`](Limiter::consume_at_once), and makes something of the decision where it lies: to hand it on takes as long
    /// as a part of making it.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn consume_at_once_with<T>(
        &self,
        key: &[u8],
        cost: u64,
        then: impl FnOnce(&Decision) -> T,
    ) -> Option<Result<T>> {
        let verb = charging(cost);
        let decided = self.known(verb, key, cost, |decision| {
            self.hear(verb, key, cost, Ok(&decision));
            then(&decision)
        })?;
        Some(decided.inspect_err(|error| self.hear(verb, key, cost, Err(error))))
    }

    /// As [`consume_at_once`](Limiter::consume_at_once), but a denial is the error `limited`.
    ///
    /// # Errors
    /// As [`require`](Limiter::require) and the call that it describes.
    pub fn require_at_once(&self, key: &[u8], cost: u64) -> Option<Result<Decision>> {
        let decided = self.at_once(Verb::Require, key, cost)?;
        Some(decided.and_then(|decision| match decision.allowed {
            true => Ok(decision),
            false => Err(self.spec.limited(&self.redis_key(key)?, &decision)),
        }))
    }

    /// A consume or require of a cost that was checked, described so that it is decided without a call if it can be when it is run.
    pub(super) fn ask(&self, verb: Verb, key: &[u8], cost: u64) -> Result<Op<Decision>> {
        if !self.is_in_memory() && !may_know() {
            return self.call(verb, key, cost, None, None);
        }
        key::check_key(key)?;
        Ok(Op::unsure(Box::new(Ask { limiter: self.clone(), verb, key: key.into(), cost })))
    }

    /// As [`consume_at_once`](Limiter::consume_at_once), or as [`require_at_once`](Limiter::require_at_once) if it `requires`, for who
    /// takes only decisions, where they lie: none of what is an error. That is then left to the call, which says so.
    pub fn decide_at_once<T>(
        &self,
        key: &[u8],
        cost: u64,
        requires: bool,
        then: impl FnOnce(&Decision) -> T,
    ) -> Option<T> {
        let verb = charging(cost);
        let decided = self.known(verb, key, cost, |decision| {
            (decision.allowed || !requires).then(|| {
                self.hear(verb, key, cost, Ok(&decision));
                then(&decision)
            })
        });
        decided?.ok()?
    }

    /// Decides at once, if anybody here knows.
    fn at_once(&self, verb: Verb, key: &[u8], cost: u64) -> Option<Result<Decision>> {
        let decided = self.known(verb, key, cost, |decision| decision)?;
        self.hear(verb, key, cost, decided.as_ref());
        Some(decided)
    }

    /// Counts what was decided at once.
    #[inline]
    fn hear(&self, verb: Verb, key: &[u8], cost: u64, decided: std::result::Result<&Decision, &Error>) {
        if verb.decides(cost) {
            self.spec.decided(|| key.into(), decided);
        }
    }

    /// Asks who may know, one after another.
    #[inline]
    fn known<T>(&self, verb: Verb, key: &[u8], cost: u64, then: impl FnOnce(Decision) -> T) -> Option<Result<T>> {
        if self.is_in_memory() {
            return Some(match self.spec.policy.rules() {
                [one] => self.in_memory([one], verb, key, cost, then),
                [a, b] => self.in_memory([a, b], verb, key, cost, then),
                [a, b, c] => self.in_memory([a, b, c], verb, key, cost, then),
                [a, b, c, d] => self.in_memory([a, b, c, d], verb, key, cost, then),
                // These are never charged in place.
                _ => self.in_memory([], verb, key, cost, then),
            });
        }
        if self.client.session.is_closed() {
            return None;
        }
        // What is held here is paid for, whatever Redis denies by now.
        match self.spend_at_once(key, cost) {
            Some(decision) => Some(Ok(then(decision))),
            None => self.remembered(key, cost, then).map(Ok),
        }
    }

    /// As the store of this process decides.
    fn in_memory<T, const N: usize>(
        &self,
        rules: [&Rule; N],
        verb: Verb,
        key: &[u8],
        cost: u64,
        then: impl FnOnce(Decision) -> T,
    ) -> Result<T> {
        check_cost(cost)?;
        key::check_key(key)?;
        let session = &self.client.session;
        session.check()?;
        let (spec, time, look) = (&*self.spec, session.test_time.get(), verb == Verb::Look);
        let decided = key::with_complete(&spec.stem, key, |key| {
            let in_place = |value: Option<&mut [u8]>, now| spec.charge_in_place(rules, value, now, cost, look);
            session.engine().memory.decide(key, time, in_place, |space, now| {
                let call = LimiterCall {
                    spec: self.spec.clone(),
                    verb,
                    key: key.to_vec(),
                    amount: cost,
                    memory: None,
                    recall: None,
                    prefetch: None,
                };
                spec.decision(&call.twin(space, now)?[2..], cost, Source::Memory).map(Box::new)
            })
        })?;
        Ok(then(match decided {
            ValueAccess::Quickly(said) => spec.decided_in_place(rules, said, cost),
            ValueAccess::Slowly(decision) => *decision,
        }))
    }
}
