//! The answers of a policy's rules: one where it lies, since nearly all policies have one, several on the heap.

use std::fmt;
use std::ops::{Deref, DerefMut};

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

/// The answer of each rule, in the order of the policy: read it as a slice.
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
mod tests {
    use super::*;

    fn rule(remaining: u64) -> RuleDecision {
        RuleDecision {
            allowed: true,
            limit: 9,
            remaining,
            retry_after: Some(0),
            reset_after: 1,
            algorithm: "fixed-window",
            quota: 9,
            period: 1,
            capacity: 9,
        }
    }

    #[test]
    fn it_reads_as_the_list_that_it_was_made_of() {
        for count in 0..4 {
            let list: Vec<RuleDecision> = (0..count).map(rule).collect();
            let mut rules: RuleDecisions = list.iter().copied().collect();
            assert_eq!((&*rules, rules.clone().into_iter().collect::<Vec<_>>()), (&*list, list.clone()));
            assert_eq!(format!("{rules:?}"), format!("{list:?}"));
            assert_eq!(rules, list.iter().copied().collect());
            rules.iter_mut().for_each(|rule| rule.remaining += 1);
            assert_eq!(rules.iter().map(|rule| rule.remaining).collect::<Vec<_>>(), (1..=count).collect::<Vec<_>>());
            assert_eq!(rules == list.into_iter().collect(), count == 0);
        }
    }

    #[test]
    fn one_rule_lies_within() {
        let decided: RuleDecisions = [rule(7)].into_iter().collect();
        assert!(matches!((decided.0, RuleDecisions::from([rule(7)]).0), (RuleStorage::One(_), RuleStorage::One(_))));
        assert_eq!(&*RuleDecisions::from([rule(7), rule(8)]), [rule(7), rule(8)]);
        assert_eq!(size_of::<RuleDecisions>(), size_of::<RuleDecision>(), "and no more than that");
    }
}
