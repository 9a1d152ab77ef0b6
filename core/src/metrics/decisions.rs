//! What limiters decided, by name, outcome and source.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::decision::Source;
use crate::base::outcome::Outcome;

const SOURCES: usize = Source::ALL.len();

/// The counters of one limiter's decisions.
#[derive(Clone, Copy)]
pub(crate) struct DecisionCounters(&'static [AtomicU64; 4 * SOURCES]);

impl DecisionCounters {
    /// Those of the limiters of this name.
    pub fn of(name: &str) -> DecisionCounters {
        static KNOWN: Mutex<Option<HashMap<String, DecisionCounters>>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || DecisionCounters(Box::leak(Box::new([const { AtomicU64::new(0) }; 4 * SOURCES])));
        *known.get_or_insert_default().entry(name.to_owned()).or_insert_with(fresh)
    }

    /// Counts one.
    pub fn count(&self, outcome: Outcome, source: Source) {
        self.place(outcome, source).fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    #[cfg(test)]
    pub fn get(&self, outcome: Outcome, source: Source) -> u64 {
        self.place(outcome, source).load(Ordering::Relaxed)
    }

    fn place(&self, outcome: Outcome, source: Source) -> &AtomicU64 {
        &self.0[outcome as usize * SOURCES + source as usize]
    }
}
