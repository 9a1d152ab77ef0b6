//! Every script, for reading, for linters, and for what must know them all.

use crate::cache::single_flight;
use crate::limiter;
use crate::lock;
use crate::lock::lease_table;
use crate::reports;
use crate::stock;

/// Every script, of limiters, locks, caches, stocks and reports, by a name that tells what it does.
pub fn scripts() -> Vec<(String, String)> {
    let of_data = [lease_table::scripts(), lock::scripts(), single_flight::scripts(), stock::scripts()].concat();
    [limiter::scripts(), of_data, reports::scripts()].concat()
}
