//! The three drivers, which carry calls over connections.
//!
//! * [`blocking`]: a connection per thread at work; PHP and sync Python. [`pipeline`] has several calls share a trip.
//! * [`link`]: one non-blocking, pipelined connection without a thread; whoever owns the loop drives it.
//! * [`hub`]: one thread that drives links; Node and Rust's own futures.

pub(crate) mod blocking;
pub(crate) mod hub;
pub(crate) mod link;
mod listeners;
pub(crate) mod listening;
pub(crate) mod pipeline;
pub(crate) mod queue;
pub(crate) mod seat;
pub(crate) mod up;
