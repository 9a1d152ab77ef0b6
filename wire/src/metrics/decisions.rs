//! What limiters decided, by name, outcome and source.

use super::layout::{LIMITER, LIMITERS};
use super::process::table;
use super::stripes::{self, Stripes};
use crate::base::outcome::Outcome;
use crate::base::source::Source;

/// Which counter of a limiter counts decisions of this outcome and source.
#[inline]
pub(super) fn counter_index(outcome: Outcome, source: Source) -> usize {
    outcome as usize * Source::ALL.len() + source as usize
}

/// Counts how many values that were not ours were replaced.
pub(super) const HEALED: usize = LIMITER - 1;
const _: () = assert!(Outcome::ALL.len() * Source::ALL.len() <= HEALED);

/// The counters of one limiter's decisions.
#[derive(Clone, Copy)]
pub struct DecisionCounters(Option<&'static Stripes<LIMITER>>);

impl DecisionCounters {
    /// Those of the limiters of this name.
    pub fn of(name: &str) -> DecisionCounters {
        DecisionCounters(table().map(|table| table.series(&LIMITERS, name.as_bytes())))
    }

    /// Counts a decision; `healed` says that it replaced a value that was not ours.
    #[inline]
    pub fn count(&self, outcome: Outcome, source: Source, healed: bool) {
        let Some(stripes) = self.0 else { return };
        stripes::add(stripes, counter_index(outcome, source), 1);
        if healed {
            stripes::add(stripes, HEALED, 1);
        }
    }

    /// Counts a call that came to none: this one was asked.
    pub fn count_error(&self, asked: Source) {
        self.0.iter().for_each(|stripes| stripes::add(stripes, counter_index(Outcome::Error, asked), 1));
    }

    /// How many there were.
    pub fn get(&self, outcome: Outcome, source: Source) -> u64 {
        self.0.map_or(0, |stripes| stripes::sums(stripes)[counter_index(outcome, source)])
    }
}
