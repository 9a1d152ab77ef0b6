//! What a limiter answers, and each rule of its policy.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use wire::base::outcome::Outcome;
use wire::base::source::Source;

/// The answer of a limiter for one key. Durations are microseconds.
///
/// For a policy of several rules `limit`, `remaining`, `retry_after` and `reset_after` are those of the rule that
/// binds: of the denied ones the one with the longest `retry_after`, else the one with the least remaining.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The name of the limiter.
    pub name: Arc<str>,
    /// Whether the call was admitted. A denied call was charged nothing.
    pub allowed: bool,
    /// Whether the policy denies, and only its `enforce = false` lets the call pass: it was charged nothing.
    pub would_deny: bool,
    /// The limit of the rule that binds.
    pub limit: u64,
    /// What could be consumed now; 0 while the key is blocked.
    pub remaining: u64,
    /// After how long the same call would be admitted without other calls: 0 when admitted, none when never.
    pub retry_after: Option<u64>,
    /// After how long the rule that binds is as new, and a block over; `rules` has those of the others.
    pub reset_after: u64,
    /// The cost that was asked for; of `consume_up_to`, what was taken.
    pub cost: u64,
    /// Who answered.
    pub source: Source,
    /// Whether a value that was not ours stood at the key and was replaced.
    pub healed: bool,
    /// The answer of each rule, in the order of the policy.
    pub rules: RuleDecisions,
}

impl Decision {
    /// What became of the call.
    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Decision { would_deny: true, .. } => Outcome::WouldDeny,
            Decision { allowed: true, .. } => Outcome::Allowed,
            _ => Outcome::Denied,
        }
    }

    /// Combines the rules' answers with the time left of a block.
    #[inline]
    pub fn combine(
        name: &Arc<str>,
        rules: impl AsRef<[RuleDecision]> + Into<RuleDecisions>,
        block_left: u64,
        cost: u64,
        healed: bool,
        source: Source,
    ) -> Decision {
        let binding = binding(rules.as_ref()).unwrap_or(&NONE);
        let (blocked, admitted) = (block_left > 0, rules.as_ref().iter().all(|r| r.allowed));
        let retry_after = match admitted {
            true => Some(block_left),
            false => binding.retry_after.map(|r| r.max(block_left)),
        };
        Decision {
            name: name.clone(),
            allowed: !blocked && admitted,
            would_deny: false,
            limit: binding.limit,
            remaining: if blocked { 0 } else { binding.remaining },
            retry_after,
            reset_after: binding.reset_after.max(block_left),
            cost,
            source,
            healed,
            rules: rules.into(),
        }
    }
}

impl Decision {
    /// Whether something was charged or denied: a look does neither, such as a `consume` of nothing that is admitted. What
    /// listeners of bindings are told of.
    pub fn has_decided(&self) -> bool {
        self.cost > 0 || !self.allowed
    }

    /// Counts as left what is held in this process.
    pub fn with_held(&mut self, held: u64) {
        if self.allowed {
            self.remaining += held;
            self.rules.iter_mut().for_each(|rule| rule.remaining += held);
        }
    }

    /// Takes out again what [`with_held`](Decision::with_held) put in.
    pub fn without_held(&mut self, held: u64) {
        if self.allowed {
            self.remaining = self.remaining.saturating_sub(held);
            self.rules.iter_mut().for_each(|rule| rule.remaining = rule.remaining.saturating_sub(held));
        }
    }

    /// Of what Redis said when permits were taken makes the answer to one who spends some of them, so much later.
    pub fn held_here(&mut self, cost: u64, left: u64, passed: u64) {
        self.with_held(left);
        (self.cost, self.source, self.healed) = (cost, Source::Lease, false);
        self.reset_after = self.reset_after.saturating_sub(passed);
        for rule in &mut self.rules {
            rule.reset_after = rule.reset_after.saturating_sub(passed);
        }
    }

    /// Lets a denied call pass with a mark, unless the policy is enforced.
    #[inline]
    pub fn enforced(mut self, enforce: bool) -> Decision {
        self.would_deny = !enforce && !self.allowed;
        self.allowed |= self.would_deny;
        self
    }
}

/// The answer about several keys, charged all or none. Durations are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CombinedDecision {
    /// Whether all were admitted, and charged but for those that `would_deny`. If not, none was.
    pub allowed: bool,
    /// Whether a limiter that is not enforced denies.
    pub would_deny: bool,
    /// The place of the decision that binds: of the denied ones the one with the longest `retry_after`, else the one with
    /// the least remaining.
    pub binding: usize,
    /// After how long the same call would be admitted without other calls: 0 when admitted, none when never.
    pub retry_after: Option<u64>,
    /// Who answered.
    pub source: Source,
    /// The decision about each key, in the order given.
    pub decisions: Vec<Decision>,
}

impl CombinedDecision {
    /// The decisions that charged or denied, with their places. If the whole was denied, those that admitted charged nothing.
    pub fn decided(&self) -> impl Iterator<Item = (usize, &Decision)> {
        self.decisions.iter().enumerate().filter(|(_, decision)| self.counts(decision))
    }

    /// Whether this one of its decisions charged or denied.
    pub fn counts(&self, decision: &Decision) -> bool {
        self.allowed || !decision.allowed || decision.would_deny
    }

    pub(crate) fn combine(decisions: Vec<Decision>, source: Source) -> CombinedDecision {
        let wait = |d: &Decision| d.retry_after.unwrap_or(u64::MAX);
        let places = || decisions.iter().enumerate();
        let denied = places().filter(|(_, d)| !d.allowed);
        let denied = denied.reduce(|a, b| if wait(b.1) > wait(a.1) { b } else { a });
        let tightest = places().reduce(|a, b| if b.1.remaining < a.1.remaining { b } else { a });
        CombinedDecision {
            allowed: denied.is_none(),
            would_deny: decisions.iter().any(|d| d.would_deny),
            binding: denied.or(tightest).map_or(0, |(place, _)| place),
            retry_after: denied.map_or(Some(0), |(_, d)| d.retry_after),
            source,
            decisions,
        }
    }
}

/// What no rule says.
const NONE: RuleDecision = RuleDecision {
    allowed: true,
    limit: 0,
    remaining: 0,
    retry_after: Some(0),
    reset_after: 0,
    algorithm: "",
    quota: 0,
    period: 0,
    capacity: 0,
};

/// The rule that binds; the first of equals.
#[inline]
fn binding(rules: &[RuleDecision]) -> Option<&RuleDecision> {
    if let [one] = rules {
        return Some(one);
    }
    // `None` is never, which is longer than any time.
    let wait = |r: &RuleDecision| r.retry_after.unwrap_or(u64::MAX);
    let denied = rules.iter().filter(|r| !r.allowed).reduce(|a, b| if wait(b) > wait(a) { b } else { a });
    let tightest = || rules.iter().reduce(|a, b| if b.remaining < a.remaining { b } else { a });
    denied.or_else(tightest)
}

/// What one rule of a policy says. Durations are microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleDecision {
    /// Whether this rule admits by itself.
    pub allowed: bool,
    /// The most that the rule admits at once: its capacity.
    pub limit: u64,
    /// What this rule would let be consumed now.
    pub remaining: u64,
    /// When this rule would admit the same call: 0 now, none never.
    pub retry_after: Option<u64>,
    /// When this rule is as new.
    pub reset_after: u64,
    /// How the rule counts: the name of its [`Algorithm`](crate::Algorithm).
    pub algorithm: &'static str,
    /// How much it admits per period.
    pub quota: u64,
    /// The period in microseconds.
    pub period: u64,
    /// The most that it admits at once: the quota, but for a bucket that says another capacity.
    pub capacity: u64,
}

/// The answer of each rule, in the order of the policy: read it as a slice. One lies within, since nearly all policies have one rule;
/// several are on the heap.
#[derive(Clone)]
pub struct RuleDecisions(RuleStorage);

#[derive(Clone)]
enum RuleStorage {
    One(RuleDecision),
    Others(Vec<RuleDecision>),
}

impl Deref for RuleDecisions {
    type Target = [RuleDecision];

    fn deref(&self) -> &[RuleDecision] {
        match &self.0 {
            RuleStorage::One(rule) => std::slice::from_ref(rule),
            RuleStorage::Others(rules) => rules,
        }
    }
}

impl DerefMut for RuleDecisions {
    fn deref_mut(&mut self) -> &mut [RuleDecision] {
        match &mut self.0 {
            RuleStorage::One(rule) => std::slice::from_mut(rule),
            RuleStorage::Others(rules) => rules,
        }
    }
}

impl AsRef<[RuleDecision]> for RuleDecisions {
    fn as_ref(&self) -> &[RuleDecision] {
        self
    }
}

impl<const N: usize> From<[RuleDecision; N]> for RuleDecisions {
    #[inline]
    fn from(rules: [RuleDecision; N]) -> RuleDecisions {
        match rules.as_slice() {
            [one] => RuleDecisions(RuleStorage::One(*one)),
            others => RuleDecisions(RuleStorage::Others(others.to_vec())),
        }
    }
}

impl FromIterator<RuleDecision> for RuleDecisions {
    fn from_iter<I: IntoIterator<Item = RuleDecision>>(rules: I) -> RuleDecisions {
        let mut rules = rules.into_iter();
        match (rules.next(), rules.next()) {
            (Some(one), None) => [one].into(),
            (first, second) => {
                RuleDecisions(RuleStorage::Others(first.into_iter().chain(second).chain(rules).collect()))
            }
        }
    }
}

impl IntoIterator for RuleDecisions {
    type Item = RuleDecision;
    type IntoIter = std::vec::IntoIter<RuleDecision>;

    fn into_iter(self) -> Self::IntoIter {
        match self.0 {
            RuleStorage::One(rule) => vec![rule],
            RuleStorage::Others(rules) => rules,
        }
        .into_iter()
    }
}

impl<'a> IntoIterator for &'a RuleDecisions {
    type Item = &'a RuleDecision;
    type IntoIter = std::slice::Iter<'a, RuleDecision>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut RuleDecisions {
    type Item = &'a mut RuleDecision;
    type IntoIter = std::slice::IterMut<'a, RuleDecision>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl PartialEq for RuleDecisions {
    fn eq(&self, other: &RuleDecisions) -> bool {
        **self == **other
    }
}

impl Eq for RuleDecisions {}

impl fmt::Debug for RuleDecisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests;
