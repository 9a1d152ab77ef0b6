//! What a call of a limiter has to do with remembered denials.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::Limiter;
use super::spec::LimiterSpec;
use crate::key;
use crate::limiter::decision::{Decision, RuleDecision, RuleDecisions};
use crate::limiter::denials::{self, Denial, DenialPlace, DenialVersion, Frees, MOST_RULES, RuleNumbers, Shelf};
use crate::limiter::policy::{Policy, Rule};
use wire::base::clock::boot_micros;
use wire::base::source::Source;
use wire::session::Session;

/// Where denials of such a limiter are remembered.
pub(super) fn shelf(session: &Session, server: &str, stem: &[u8], policy: &Policy) -> Option<Shelf> {
    if session.endpoint.is_memory() {
        return None;
    }
    let print = sha1_smol::Sha1::from(policy.to_string()).digest().bytes();
    let print = print.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Some(denials::table()?.shelf(server, stem, print))
}

/// What one call about one key knows of it.
pub(super) struct Recall {
    shelf: Shelf,
    place: DenialPlace,
    /// For how many microseconds a denial holds at most; 0 if none is looked for, nor remembered.
    most: u64,
    /// From when it was last sent.
    mark: Option<DenialVersion>,
}

impl Recall {
    /// Says that the call is about to be sent.
    pub fn mark(&mut self, frees: Frees, timeout: Duration) {
        self.mark = Some(self.shelf.mark(self.place, frees, now(), timeout.as_micros() as u64));
    }

    /// Redis has answered; `holds` if it holds something now that becomes free by itself.
    pub fn answered(&self, holds: bool) {
        self.mark.iter().for_each(|mark| self.shelf.answered(self.place, mark, holds, now()));
    }

    /// Remembers what Redis denied.
    pub fn remember(&self, decision: &Decision) {
        let Some(mark) = self.mark.as_ref().filter(|_| self.most > 0 && decision.rules.len() <= MOST_RULES) else {
            return;
        };
        let numbers = |rule: &RuleDecision| RuleNumbers {
            retry_after: rule.retry_after,
            remaining: rule.remaining,
            reset_after: rule.reset_after,
        };
        let whole = RuleNumbers {
            retry_after: decision.retry_after,
            remaining: decision.remaining,
            reset_after: decision.reset_after,
        };
        let rule_count = decision.rules.len();
        let mut denial = Denial { cost: decision.cost, whole, rule_count, ..Denial::default() };
        denial.rules.iter_mut().zip(&decision.rules).for_each(|(place, rule)| *place = numbers(rule));
        self.shelf.remember(self.place, mark, denial, self.most, now());
    }

    /// The denial that is known without asking.
    pub fn denied(&self, spec: &LimiterSpec, cost: u64) -> Option<Decision> {
        denied(&self.shelf, self.place, spec, cost, self.most, |decision| decision)
    }
}

/// What `then` makes of the denial of this cost, if it is known without asking.
#[inline]
fn denied<T>(
    shelf: &Shelf,
    place: DenialPlace,
    spec: &LimiterSpec,
    cost: u64,
    most: u64,
    then: impl FnOnce(Decision) -> T,
) -> Option<T> {
    if most == 0 || cost == 0 || !spec.enforce {
        return None;
    }
    shelf.with_denial(place, cost, most, now, |denial, age| Some(then(decision(spec, cost, denial, age)?)))
}

/// What Redis said so many microseconds ago, of a cost that may be higher now; none if only Redis can say it.
#[inline(always)]
fn decision(spec: &LimiterSpec, cost: u64, denial: &Denial, age: u64) -> Option<Decision> {
    let left = |time: u64| time.saturating_sub(age);
    let rules = spec.policy.rules();
    if denial.rule_count != rules.len() {
        return None;
    }
    let said = |rule: &Rule, numbers: &RuleNumbers| {
        let is_never = cost > rule.capacity();
        let (wait, reset_after) = (numbers.retry_after.map(left), left(numbers.reset_after));
        let admits = wait == Some(0) && !is_never;
        // What was charged is over, or so much is free again as the denied call asked for.
        let remaining = match reset_after {
            0 => rule.capacity(),
            _ if wait == Some(0) => numbers.remaining.max(denial.cost),
            _ => numbers.remaining,
        };
        if admits && cost > remaining {
            // It denies this cost, and nobody has said for how long.
            return None;
        }
        Some(RuleDecision {
            allowed: admits,
            limit: rule.capacity(),
            remaining,
            retry_after: wait.filter(|_| !is_never),
            reset_after,
            algorithm: rule.algorithm().name(),
            quota: rule.limit(),
            period: rule.period(),
            capacity: rule.capacity(),
        })
    };
    let source = Source::DenyCache;
    let mut decision = match (rules, &denial.rules) {
        // Nearly all policies, and copied less.
        ([rule], [numbers, ..]) => Decision::combine(&spec.name, [said(rule, numbers)?], 0, cost, false, source),
        (rules, numbers) => {
            let said = rules.iter().zip(numbers).map(|(rule, numbers)| said(rule, numbers));
            Decision::combine(&spec.name, said.collect::<Option<RuleDecisions>>()?, 0, cost, false, source)
        }
    };
    // A block denies besides.
    decision.allowed = false;
    decision.remaining = denial.whole.remaining;
    decision.reset_after = left(denial.whole.reset_after);
    decision.retry_after = decision.retry_after.and(denial.whole.retry_after).map(left);
    Some(decision)
}

/// The microseconds by which denials are remembered.
fn now() -> u64 {
    #[cfg(test)]
    if let Some(micros) = tests::virtual_time() {
        return micros;
    }
    boot_micros()
}

impl LimiterSpec {
    /// What has to be told when something is given back to this Redis key: what was denied may be admitted then.
    pub fn recall_given_back(&self, redis_key: &[u8]) -> Option<Recall> {
        let shelf = self.shelf?;
        let place = shelf.place(&key::user_part(&self.stem, redis_key));
        Some(Recall { shelf, place, most: 0, mark: None })
    }
}

impl Limiter {
    /// What a call about this key has to do with remembered denials.
    pub(super) fn recall(&self, key: &[u8]) -> Option<Recall> {
        let shelf = self.spec.shelf?;
        Some(Recall { shelf, place: shelf.place(key), most: self.remembers_for(), mark: None })
    }

    /// What `then` makes of the denial that is known without asking.
    #[inline]
    pub(super) fn remembered<T>(&self, key: &[u8], cost: u64, then: impl FnOnce(Decision) -> T) -> Option<T> {
        let shelf = self.spec.shelf.as_ref()?;
        denied(shelf, shelf.place(key), &self.spec, cost, self.remembers_for(), then)
    }

    /// For how long a denial is remembered at most: in a test's own time not at all.
    fn remembers_for(&self) -> u64 {
        if self.client.session.test_time.get().is_some() { 0 } else { self.client.deny_cache_max }
    }
}
