//! Prefetched permits: a limiter takes several from Redis in one call, and spends them in this process.
//!
//! A call that finds none asks for more than its own cost. If Redis denies that, it asks again for its cost alone: so it
//! is decided as if nothing was prefetched, and nothing of what is denied stays charged.

use std::sync::Arc;
use std::time::Duration;

use super::Limiter;
use super::call::{LimiterCall, Verb};
use super::spec::LimiterSpec;
use crate::key;
use crate::limiter::decision::Decision;
use crate::limiter::policy::Policy;
use crate::limiter::purse::{Leftover, PurseOwner, PurseTurn, Taking};
use wire::base::error::{Error, Result};
use wire::base::source::Source;
use wire::call::answer::Answer;
use wire::session::Session;
use wire::session::exchange::Exchange;

/// Checks how many permits a limiter of this policy may take at once.
pub(super) fn check(policy: &Policy, prefetch: u64) -> Result<()> {
    if let Some(rule) = policy.rules().iter().find(|rule| rule.algorithm().definition().prefetch_life.is_none()) {
        let name = rule.algorithm().name();
        return Err(Error::invalid(format!(
            "prefetch cannot be used with {name}: it counts each permit when it is used, and prefetched permits are taken \
             earlier; use fixed-window, calendar-window or token-bucket, or leave prefetch out"
        )));
    }
    let most = policy.rules().iter().map(|rule| rule.capacity()).min().unwrap_or(0);
    if prefetch < 2 {
        return Err(Error::invalid(format!("prefetch {prefetch} saves no call: give at least 2, or leave it out")));
    }
    if prefetch > most {
        return Err(Error::invalid(format!(
            "prefetch {prefetch} is more than {most}, the most that policy \"{policy}\" admits at once: give at most {most}"
        )));
    }
    Ok(())
}

impl LimiterSpec {
    /// How long permits that were taken now may be spent.
    fn prefetch_life(&self, told: &Decision) -> u64 {
        let lives = self.policy.rules().iter().zip(&told.rules).map(|(rule, told)| {
            let life = rule.algorithm().definition().prefetch_life;
            life.map_or(0, |life| life(rule, told.reset_after, self.prefetch.most))
        });
        lives.min().unwrap_or(0)
    }

    /// Whether permits were taken by the same policy.
    fn owns(&self, owner: &PurseOwner) -> bool {
        let other = owner.downcast_ref::<LimiterSpec>();
        other.is_some_and(|other| std::ptr::eq(self, other) || self.policy_args == other.policy_args)
    }

    /// Whether calls of this cost spend permits that were taken ahead.
    pub fn prefetches(&self, cost: u64) -> bool {
        self.enforce && self.prefetch.takes && (1..=self.prefetch.most).contains(&cost)
    }
}

impl Limiter {
    /// The answer to a call that this process has the permits for.
    pub(super) fn spend_at_once(&self, key: &[u8], cost: u64) -> Option<Decision> {
        if !self.spec.prefetches(cost) {
            return None;
        }
        let (spec, session) = (&*self.spec, &self.client.session);
        if session.is_closed() || key::check_key(key).is_err() {
            return None;
        }
        let purses = self.client.purses.get()?;
        let now = session.steady_time();
        key::with_complete(&spec.stem, key, |key| purses.spend(key, |owner| spec.owns(owner), cost, now))
    }
}

impl LimiterCall {
    /// Before the call is sent: the answer from what is held here, or how much to ask for.
    pub(super) fn begin(&self) -> Option<Answer> {
        let prefetch = self.prefetch.as_ref()?;
        let purses = prefetch.purses();
        let now = prefetch.session.steady_time();
        let mut progress = prefetch.progress();
        match self.verb {
            Verb::Consume | Verb::Require => {
                purses.failed(&self.key, progress.taking);
                progress.taking = Taking::default();
                let owns = |owner: &PurseOwner| self.spec.owns(owner);
                if std::mem::take(&mut progress.alone) {
                    return purses.spend(&self.key, owns, self.amount, now).map(Answer::new);
                }
                let patience = prefetch.session.timeout.as_micros() as u64;
                let owner = || -> PurseOwner { self.spec.clone() };
                match purses.spend_or_ask(
                    &self.key,
                    owner,
                    owns,
                    (self.amount, self.spec.prefetch.most),
                    (now, patience),
                ) {
                    PurseTurn::Spent(decision) => return Some(Answer::new(decision)),
                    PurseTurn::Ask(taking) => progress.taking = taking,
                }
            }
            Verb::Reset | Verb::Block => purses.drop_key(&self.key),
            Verb::Refund => progress.over = purses.refunded(&self.key, self.amount, now),
            _ => {}
        }
        None
    }

    /// Redis has answered.
    pub(super) fn took(&self, answer: &Answer, source: Source) {
        let Some(prefetch) = &self.prefetch else { return };
        let purses = prefetch.purses();
        let progress = prefetch.progress();
        match self.verb {
            Verb::Consume | Verb::Require if source == Source::Redis => {
                let Some(told) = answer.get::<Decision>() else { return };
                let (taking, life) = (progress.taking, self.spec.prefetch_life(told));
                purses.fill(&self.key, taking, told.clone(), life, prefetch.session.steady_time());
            }
            Verb::Reset | Verb::Block => purses.drop_key(&self.key),
            Verb::Refund if progress.over => purses.drop_key(&self.key),
            _ => {}
        }
    }

    /// Redis has not answered: what the call may have brought is lost, and nothing but its cost is decided without Redis.
    pub(super) fn lost(&self) {
        let Some(prefetch) = &self.prefetch else { return };
        let purses = prefetch.purses();
        let mut progress = prefetch.progress();
        purses.failed(&self.key, progress.taking);
        progress.taking = Taking::default();
        if matches!(self.verb, Verb::Reset | Verb::Block) || progress.over {
            purses.drop_key(&self.key);
        }
    }

    /// Whether the call is to be made again for its cost alone, because more than that was denied.
    pub(super) fn asks_again(&mut self, answer: &Answer) -> bool {
        let Some(prefetch) = &self.prefetch else { return false };
        let mut progress = prefetch.progress();
        let denied = answer.get::<Decision>().is_some_and(|decision| !decision.allowed);
        if !denied || progress.taking.more == 0 {
            return false;
        }
        progress.alone = true;
        true
    }
}

impl Drop for LimiterCall {
    /// Its caller may have given it up on its way: then the next one takes.
    fn drop(&mut self) {
        let Some(prefetch) = &self.prefetch else { return };
        if let Some(purses) = prefetch.purses_if_made() {
            purses.failed(&self.key, prefetch.progress().taking);
        }
    }
}

/// The call that gives back what a client has taken and not spent, in the time in which it is worth something: none if
/// that is over.
pub(crate) fn give_back(session: &Arc<Session>, left: Leftover) -> Option<Exchange> {
    let time = left.end.checked_sub(session.steady_time()).filter(|time| *time > 0)?;
    let spec = left.owner.downcast::<LimiterSpec>().ok()?;
    let (recall, verb) = (spec.recall_given_back(&left.key), Verb::Refund);
    let refund = LimiterCall { spec, verb, key: left.key, amount: left.amount, memory: None, recall, prefetch: None };
    Some(Exchange::new(session.clone(), Box::new(refund), None).within(Duration::from_micros(time)).parting())
}

#[cfg(test)]
mod tests;
