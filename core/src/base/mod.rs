//! What needs nothing else: errors, clocks, keys, addresses, what a decision is.

pub(crate) mod clock;
pub(crate) mod credentials;
pub(crate) mod decision;
pub(crate) mod endpoint;
pub(crate) mod error;
pub(crate) mod fork;
pub(crate) mod host;
pub(crate) mod key;
pub(crate) mod outcome;
pub(crate) mod random;
mod rule_decisions;
