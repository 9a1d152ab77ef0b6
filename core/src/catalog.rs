//! Every script, for reading, for linters, and for what must know them all.

use crate::{flight, lease, limiter, stock};

/// Every script, of limiters, locks, caches and stocks, by a name that tells what it does.
pub fn scripts() -> Vec<(String, String)> {
    [limiter::scripts(), lease::scripts(), flight::scripts(), stock::scripts()].concat()
}
