//! Connections to one server: making one, writing and reading on it within a deadline, and keeping it for the next call.

pub(crate) mod deadline;
pub(crate) mod dial;
mod direct;
pub(crate) mod greeting;
pub(crate) mod idle;
mod login;
pub(crate) mod open;
pub(crate) mod pool;
mod resolve;
mod search;
pub(crate) mod sentinel;
pub(crate) mod stream;
pub(crate) mod subscription;
pub(crate) mod trust;
pub(crate) mod wire;
