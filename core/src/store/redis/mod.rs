//! The Redis store: connections, the machine of one connection, and its three drivers.
//!
//! * [`pool`]: blocking, a connection per thread at work; PHP and sync Python. [`pipeline`] has several calls share a trip.
//! * [`link`]: one non-blocking, pipelined connection without a thread; whoever owns the loop drives it.
//! * [`hub`]: one thread that drives links; Node and Rust's own futures.

pub(crate) mod dial;
pub(crate) mod ear;
pub(crate) mod hub;
pub(crate) mod link;
mod listeners;
pub(crate) mod listening;
pub(crate) mod patience;
pub(crate) mod pipeline;
pub(crate) mod pool;
pub(crate) mod queue;
pub(crate) mod refusal;
mod resolve;
pub(crate) mod seat;
pub(crate) mod stream;
pub(crate) mod trust;
pub(crate) mod up;
