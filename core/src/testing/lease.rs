//! For tests: what locks are made of, under ids of the test's own.

use crate::client::Client;
use wire::op::Op;

use crate::lock::lease_table::Inspection;
pub use crate::lock::lease_table::{ALL_PERMITS, LONGEST_TOMBSTONE, MAX_FLOOR, MAX_WHO_BYTES};
pub use crate::lock::lease_table::{
    Acquire, AcquireOutcome, Adopt, AttemptId, Channel, ExtendLease, ForceRelease, Grant, Inspect, QueueMode, Release,
};

/// One try to acquire.
pub fn acquire(client: &Client, call: Acquire) -> Op<Grant> {
    Op::new(&client.session, Box::new(call), None)
}

/// A release: whether it held in all tables.
pub fn release(client: &Client, call: Release) -> Op<bool> {
    Op::new(&client.session, Box::new(call), None)
}

/// An extension: whether it holds in all tables.
pub fn extend(client: &Client, call: ExtendLease) -> Op<bool> {
    Op::new(&client.session, Box::new(call), None)
}

/// An adoption: the token, if it held in all tables.
pub fn adopt(client: &Client, call: Adopt) -> Op<Option<u64>> {
    Op::new(&client.session, Box::new(call), None)
}

/// A look at the first table.
pub fn inspect(client: &Client, call: Inspect) -> Op<Inspection> {
    Op::new(&client.session, Box::new(call), None)
}

/// A forced release: how many leases were ended.
pub fn force_release(client: &Client, call: ForceRelease) -> Op<u64> {
    Op::new(&client.session, Box::new(call), None)
}
