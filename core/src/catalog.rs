//! Every script, for reading, for linters, and for what must know them all.

use crate::limiter;
use crate::lock;
use crate::reports;
use crate::state::lease;
use crate::state::single_flight;
use crate::stock;

/// Every script, of limiters, locks, caches, stocks and reports, by a name that tells what it does.
pub fn scripts() -> Vec<(String, String)> {
    let of_data = [lease::scripts(), lock::scripts(), single_flight::scripts(), stock::scripts()].concat();
    [limiter::scripts(), of_data, reports::scripts()].concat()
}
