//! The drivers, which carry calls over connections.
//!
//! * [`blocking`]: a connection per thread at work; PHP and sync Python. [`batch`] has several calls share a trip.
//! * `links`: non-blocking, pipelined connections without a thread, one [`link`] to each server: whoever owns a loop drives
//!   them, for Node and Rust's own futures the process' thread.

pub mod batch;
pub mod blocking;
pub(crate) mod hint_wait;
pub mod link;
pub(crate) mod links;
pub(crate) mod pipelined;
