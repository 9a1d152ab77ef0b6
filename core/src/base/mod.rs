//! What needs nothing else: errors, clocks, keys, addresses, memory that processes share, what a decision is.

pub(crate) mod append_list;
pub(crate) mod clock;
pub(crate) mod credentials;
pub(crate) mod decision;
pub(crate) mod endpoint;
pub(crate) mod error;
pub(crate) mod fork;
pub(crate) mod hash;
pub(crate) mod host;
pub(crate) mod key;
pub(crate) mod outcome;
pub(crate) mod random;
mod rule_decisions;
pub(crate) mod shared;
pub(crate) mod thread;
pub(crate) mod url;
