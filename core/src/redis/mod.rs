//! The drivers, which carry calls over connections.
//!
//! * [`blocking`]: a connection per thread at work; PHP and sync Python. [`batch`] has several calls share a trip.
//! * [`link`]: one non-blocking, pipelined connection without a thread: whoever owns a loop drives it, for Node and Rust's
//!   own futures the process' thread.

pub(crate) mod batch;
pub(crate) mod blocking;
pub(crate) mod hint_wait;
pub(crate) mod link;
pub(crate) mod pipelined;
pub(crate) mod queue;
