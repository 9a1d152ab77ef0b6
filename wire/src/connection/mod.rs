//! Connections to one server: making one, writing and reading on it within a deadline; and subscriptions, kept for those who wait next.

pub mod deadline;
pub mod dial;
mod direct;
pub mod greeting;
pub mod idle;
mod login;
pub mod open;
mod resolve;
mod search;
pub mod sentinel;
pub mod stream;
pub mod subscription;
pub mod trust;
pub mod wire;
