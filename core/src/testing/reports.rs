//! For tests: a report, added by a caller who waits for the answer.

use crate::client::Client;
use crate::reports::{Append, Report, redis_key};
use wire::op::Op;

/// Adds a report to the stream of a client's prefix: true.
pub fn append(client: &Client, report: &Report) -> Op<bool> {
    Op::new(&client.session, Box::new(Append::new(redis_key(client.prefix()), report)), None)
}
