//! How long calls to Redis took.

use std::time::Duration;

use super::histogram::{HISTOGRAM, OF_CALLS, observe};
use super::process::table;

/// What a call is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// A limiter.
    Limiter,
    /// A lock.
    Lock,
    /// A stock.
    Stock,
    /// What is done once.
    Once,
    /// A cache.
    Cache,
    /// A report of decisions.
    Report,
}

impl Feature {
    /// All of them, in the order of the table.
    pub(super) const ALL: [Feature; 6] =
        [Feature::Limiter, Feature::Lock, Feature::Stock, Feature::Once, Feature::Cache, Feature::Report];

    /// The text of its label.
    pub fn as_str(self) -> &'static str {
        match self {
            Feature::Limiter => "limiter",
            Feature::Lock => "lock",
            Feature::Stock => "stock",
            Feature::Once => "once",
            Feature::Cache => "cache",
            Feature::Report => "report",
        }
    }

    /// Where its histogram begins.
    pub(super) fn start(self) -> usize {
        self as usize * HISTOGRAM
    }
}

/// A call was answered, or given up, after so long.
pub(crate) fn count_call(feature: Feature, took: Duration) {
    if let Some(table) = table() {
        observe(table.fixed(), feature.start(), &OF_CALLS, took);
    }
}
