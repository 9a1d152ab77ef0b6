//! Every script, for reading, for linters, and for what must know them all.

use crate::limiter;
use crate::lock;
use crate::state::lease;
use crate::state::single_flight;
use crate::stock;

/// Every script, of limiters, locks, caches and stocks, by a name that tells what it does.
pub fn scripts() -> Vec<(String, String)> {
    [limiter::scripts(), lease::scripts(), lock::scripts(), single_flight::scripts(), stock::scripts()].concat()
}
