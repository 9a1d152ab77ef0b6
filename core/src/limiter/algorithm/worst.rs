//! What a rule admits at worst: the bounds that the guide of algorithms proves, which each algorithm states for itself.

use super::Rule;

/// An algorithm's bounds. Stretches of time are without their last instant.
#[derive(Clone, Copy)]
pub(crate) struct WorstCases {
    /// What a rule does, where `{limit}`, `{period}`, `{tokens}` (its capacity) and `{step}` (a period for each of the limit)
    /// stand for its numbers.
    pub words: &'static str,
    /// The most that a rule admits in any stretch of so many microseconds.
    pub most_within: fn(&Rule, u64) -> u128,
    /// The most that it admits on the two sides of an edge between two windows; none if it has no edges.
    pub around_an_edge: Option<fn(&Rule) -> u64>,
    /// How much it admits of constant pressure in a period, as a fraction.
    pub long_run: fn(&Rule) -> (u128, u128),
    /// The longest wait of a call of cost 1, in microseconds.
    pub longest_wait: fn(&Rule) -> u64,
    /// The smallest capacity of a bucket of the same rate that admits all that the rule admits.
    pub burst: fn(&Rule) -> u128,
    /// What proves that a rule admits all that another does.
    pub proof: Proof,
}

/// What proves that a rule admits all that another does.
#[derive(Clone, Copy)]
pub(crate) enum Proof {
    /// It counts no more than all that lies in a stretch of so many periods.
    Periods(u64),
    /// What it has at once, and what comes in the long run.
    Bucket,
}

/// The limit, of a rule that admits just that of constant pressure.
pub(super) fn all_of_it(rule: &Rule) -> (u128, u128) {
    (rule.limit().into(), 1)
}

/// Twice the limit: two windows may fill within a moment.
pub(super) fn two_windows(rule: &Rule) -> u128 {
    2 * u128::from(rule.limit())
}

/// How many periods a stretch touches at least.
pub(super) fn touched(rule: &Rule, stretch: u64) -> u128 {
    stretch.div_ceil(rule.period()).into()
}

impl Rule {
    fn worst(&self) -> &'static WorstCases {
        &self.algorithm().definition().worst
    }

    /// What the rule does, in words, where `{limit}`, `{period}`, `{tokens}` (its capacity) and `{step}` (a period for each of the
    /// limit) stand for its numbers.
    pub fn words(&self) -> &'static str {
        self.worst().words
    }

    /// The most that it admits in any stretch of so many microseconds, without its last instant.
    pub fn most_within(&self, stretch: u64) -> u128 {
        (self.worst().most_within)(self, stretch)
    }

    /// The most that it admits within a moment, the two sides of an edge included.
    pub fn most_in_a_moment(&self) -> u64 {
        let most = self.worst().around_an_edge.map_or(self.capacity(), |most| most(self));
        most.min(u64::try_from(self.most_within(self.period())).unwrap_or(u64::MAX))
    }

    /// Whether more may come around the edge of two windows than within one.
    pub fn has_edges(&self) -> bool {
        self.worst().around_an_edge.is_some()
    }

    /// How much it admits of constant pressure in a period, as a fraction.
    pub fn long_run(&self) -> (u128, u128) {
        (self.worst().long_run)(self)
    }

    /// The longest `retry_after` of a call of cost 1, in microseconds.
    pub fn longest_wait(&self) -> u64 {
        (self.worst().longest_wait)(self)
    }

    /// Whether it admits all that `other` admits, as far as that can be proved.
    pub fn admits_all_of(&self, other: &Rule) -> bool {
        if self == other {
            return true;
        }
        match self.worst().proof {
            Proof::Periods(count) => other.most_within(count * self.period()) <= self.limit().into(),
            Proof::Bucket => {
                let (limit, period) = (u128::from(self.limit()), u128::from(self.period()));
                let is_slower = u128::from(other.limit()) * period <= limit * u128::from(other.period());
                is_slower && (other.worst().burst)(other) <= self.capacity().into()
            }
        }
    }
}
