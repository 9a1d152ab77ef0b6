//! For tests: calls of stocks under ids of the test's instead of random ones; the same id is the same call, sent again.

use crate::client::Client;
use crate::stock::{Opening, Stock, Taken, TakenAll};
use wire::base::error::Result;
use wire::op::Op;

/// As [`Stock::open`](crate::Stock::open).
///
/// # Errors
/// As there.
pub fn open(stock: &Stock, id: [u8; 16], quantity: u64, opening: Opening) -> Result<Op<bool>> {
    stock.open_as(id, quantity, opening)
}

/// As [`Stock::close`](crate::Stock::close).
///
/// # Errors
/// As there.
pub fn close(stock: &Stock, id: [u8; 16]) -> Result<Op<bool>> {
    stock.close_as(id)
}

/// As [`Stock::take`](crate::Stock::take).
///
/// # Errors
/// As there.
pub fn take(
    stock: &Stock,
    id: [u8; 16],
    buyer: &[u8],
    quantity: u64,
    hold: u64,
    request_id: Option<&[u8]>,
) -> Result<Op<Taken>> {
    stock.take_as(id, buyer, quantity, hold, request_id)
}

/// As [`Client::take_all`](crate::Client::take_all).
///
/// # Errors
/// As there.
pub fn take_all(
    client: &Client,
    id: [u8; 16],
    items: &[(&Stock, u64)],
    buyer: &[u8],
    hold: u64,
    request_id: Option<&[u8]>,
) -> Result<Op<TakenAll>> {
    client.take_all_as(id, items, buyer, hold, request_id)
}
