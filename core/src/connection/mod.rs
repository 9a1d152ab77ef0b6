//! Connections to one server: making one, writing and reading on it within a deadline, and keeping it for the next call.

pub(crate) mod dial;
pub(crate) mod ear;
pub(crate) mod patience;
pub(crate) mod pool;
mod resolve;
pub(crate) mod stream;
pub(crate) mod trust;
pub(crate) mod wire;
