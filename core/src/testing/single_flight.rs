//! For tests: what caches and `once` are made of, under ids of the test's own.

use crate::client::Client;
use wire::op::Op;

pub use crate::cache::single_flight::{
    Claim, Claimed, Fail, Fill, Invalidate, Keys, Look, LookProgress, Looked, MAX_FRESH, MAX_LEASE, MAX_LUCK, Seen,
};
pub use wire::metrics::{Feature, LoadCounters};

/// A look at entries.
pub fn look(client: &Client, call: Look) -> Op<Vec<Looked>> {
    Op::new(&client.session, Box::new(call), None)
}

/// A store: whether it is stored.
pub fn fill(client: &Client, call: Fill) -> Op<bool> {
    Op::new(&client.session, Box::new(call), None)
}

/// The end of a lease: whether the id had it.
pub fn fail(client: &Client, call: Fail) -> Op<bool> {
    Op::new(&client.session, Box::new(call), None)
}

/// An invalidation: whether there was anything.
pub fn invalidate(client: &Client, call: Invalidate) -> Op<bool> {
    Op::new(&client.session, Box::new(call), None)
}

/// A claim.
pub fn claim(client: &Client, call: Claim) -> Op<Claimed> {
    Op::new(&client.session, Box::new(call), None)
}
