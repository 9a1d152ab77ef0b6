//! Runs a script on some keys of Redis before a deadline, and reports what is known of it.
//!
//! A feature describes a call as an [`Command`](call::command::Command): its script, keys and arguments, the script's twin, and
//! how its reply is read. This crate decides which server gets it, when it is sent again, and what its caller hears: on the caller's
//! thread, on a loop that the caller owns, or on a thread of the process. It knows no feature: neither limits nor locks, caches or
//! stocks.
//!
//! It is a part of `quotalock`, not a client for general use: its items change with every version.

pub mod base;
pub mod call;
pub mod connection;
pub mod driver;
pub mod machine;
pub mod memory;
pub mod metrics;
pub mod op;
pub mod reactor;
pub mod redis;
pub mod session;
pub mod testing;
mod waiting;
