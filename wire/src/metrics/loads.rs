//! What those who wanted a value of a cache, or a result of a `once`, came to.

use super::layout::{CACHES, ONCES, Region, SMALL};
use super::process::table;
use super::stripes::{self, Stripes};

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
