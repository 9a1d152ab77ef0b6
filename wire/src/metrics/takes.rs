//! What came of those who took units of a stock.

use super::layout::{SMALL, STOCKS};
use super::process::table;
use super::stripes::{self, Stripes};

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
