//! What is counted: calls, the decisions of limiters, what became of locks, of takes of stocks, and of loads of values.

use std::time::Duration;

use super::stripes::{self, HISTOGRAM, Stripes, observe};
use super::table::{CACHES, FIXED, LIMITER, LIMITERS, ONCES, Region, SMALL, STOCKS, table};
use crate::base::outcome::Outcome;
use crate::base::source::Source;

/// What the buckets of calls end with, in microseconds.
pub(super) const OF_CALLS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000,
    5_000_000, 10_000_000,
];

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

/// Which counter of a limiter counts decisions of this outcome and source.
#[inline]
pub(super) fn counter_index(outcome: Outcome, source: Source) -> usize {
    outcome as usize * Source::ALL.len() + source as usize
}

/// Counts how many values that were not ours were replaced.
pub(super) const HEALED_DECISIONS: usize = LIMITER - 1;
const _: () = assert!(Outcome::ALL.len() * Source::ALL.len() <= HEALED_DECISIONS);

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
            stripes::add(stripes, HEALED_DECISIONS, 1);
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

/// The same, of waits and holds.
pub(super) const OF_LOCKS: [u64; 17] = [
    1_000,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    900_000_000,
    3_600_000_000,
];

/// Where the histogram of waits begins.
pub(super) const WAITS: usize = Feature::ALL.len() * HISTOGRAM;
/// Where that of holds begins.
pub(super) const HOLDS: usize = WAITS + HISTOGRAM;
/// Where acquisitions are counted, by result.
pub(super) const ACQUISITIONS: usize = HOLDS + HISTOGRAM;
pub(super) const LOST: usize = ACQUISITIONS + AcquisitionResult::ALL.len();
pub(super) const RELEASED: usize = LOST + 1;
/// Where the locks are counted whose value was not ours, and was replaced.
pub(super) const HEALED_LOCKS: usize = RELEASED + 1;
const _: () = assert!(HEALED_LOCKS < FIXED);

/// How an acquisition ended that was not given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcquisitionResult {
    /// It was granted.
    Acquired,
    /// It was not granted in its time.
    Refused,
    /// It failed.
    Error,
}

impl AcquisitionResult {
    /// Every result, in the order of the documentation.
    pub(crate) const ALL: [AcquisitionResult; 3] =
        [AcquisitionResult::Acquired, AcquisitionResult::Refused, AcquisitionResult::Error];

    /// The text of its label.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            AcquisitionResult::Acquired => "acquired",
            AcquisitionResult::Refused => "refused",
            AcquisitionResult::Error => "error",
        }
    }
}

/// An acquisition ended after so long.
pub fn count_acquisition(result: AcquisitionResult, took: Duration) {
    let Some(table) = table() else { return };
    stripes::add(table.fixed(), ACQUISITIONS + result as usize, 1);
    if result != AcquisitionResult::Error {
        observe(table.fixed(), WAITS, &OF_LOCKS, took);
    }
}

/// What was held for so long is lost, or released.
pub fn count_hold(is_lost: bool, held: Duration) {
    let Some(table) = table() else { return };
    stripes::add(table.fixed(), if is_lost { LOST } else { RELEASED }, 1);
    observe(table.fixed(), HOLDS, &OF_LOCKS, held);
}

/// The value of a lock was not ours, and was replaced.
pub fn count_healed_lock() {
    table().iter().for_each(|table| stripes::add(table.fixed(), HEALED_LOCKS, 1));
}

/// The texts of the label, in the order of a take's outcomes; the last is an error.
pub const TAKE_RESULTS: [&str; 6] = ["held", "sold_out", "buyer_limit", "not_open", "ended", "error"];

/// The counters of one stock.
#[derive(Clone, Copy)]
pub struct TakeCounters(Option<&'static Stripes<SMALL>>);

impl TakeCounters {
    /// Those of the stocks of this name.
    pub fn of(name: &[u8]) -> TakeCounters {
        TakeCounters(table().map(|table| table.series(&STOCKS, name)))
    }

    /// Counts one that has the place of its result in [`TAKE_RESULTS`].
    pub fn count(&self, result: usize) {
        self.0.iter().for_each(|stripes| stripes::add(stripes, result, 1));
    }

    /// Counts one that came to nothing.
    pub fn count_error(&self) {
        self.count(TAKE_RESULTS.len() - 1);
    }
}

/// Whose value it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// A cache.
    Cache,
    /// A `once`.
    Once,
}

impl LoadKind {
    /// Its name, as keys and labels have it.
    pub fn as_str(self) -> &'static str {
        match self {
            LoadKind::Cache => "cache",
            LoadKind::Once => "once",
        }
    }

    pub(super) fn region(self) -> &'static Region {
        match self {
            LoadKind::Cache => &CACHES,
            LoadKind::Once => &ONCES,
        }
    }

    /// The text of the label of a result.
    pub(super) fn label(self, result: LoadResult) -> &'static str {
        match (self, result) {
            (LoadKind::Cache, LoadResult::Hit) => "hit",
            (LoadKind::Cache, LoadResult::Loaded) => "loaded",
            (LoadKind::Once, LoadResult::Hit) => "repeated",
            (LoadKind::Once, LoadResult::Loaded) => "first",
            (_, LoadResult::Stale) => "stale",
            (_, LoadResult::Waited) => "waited",
            (_, LoadResult::Error) => "error",
        }
    }
}

/// The result of a request for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadResult {
    /// It was there.
    Hit,
    /// It was there, and is not fresh any more.
    Stale,
    /// The caller is the one who makes it.
    Loaded,
    /// It came while the caller waited.
    Waited,
    /// It failed.
    Error,
}

impl LoadResult {
    /// Every result, in the order of the documentation.
    pub(crate) const ALL: [LoadResult; 5] =
        [LoadResult::Hit, LoadResult::Stale, LoadResult::Loaded, LoadResult::Waited, LoadResult::Error];
}

/// The counters of one cache, or of one `once`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadCounters(Option<&'static Stripes<SMALL>>);

impl LoadCounters {
    /// Those of this name.
    pub fn of(kind: LoadKind, name: &str) -> LoadCounters {
        LoadCounters(table().map(|table| table.series(kind.region(), name.as_bytes())))
    }

    /// Counts one.
    pub fn count(&self, result: LoadResult) {
        self.0.iter().for_each(|stripes| stripes::add(stripes, result as usize, 1));
    }
}
