//! Calls that say more than six numbers and a key: several keys, an id, a reservation. Those of stocks are in stock.rs,
//! those of caches in cache.rs and look.rs.
//!
//! JavaScript describes such a call here, and writes six numbers for it that name its place among the described ones. So
//! it goes out with the batch of its tick, in its order.

use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;
use quotalock::{Charge, Code, Error, Limiter, Unsettled, convert};

use crate::call_array::Asked;
use crate::channel::Channel;
use crate::client::{Client, Reservation};
use crate::error::{Result, thrown};

/// How many numbers a charge has: the handle of its limiter, its cost, and the length of its key in bytes.
const CHARGE: usize = 3;

#[napi]
impl Channel {
    /// Describes a consume that is charged once for a request id.
    #[napi(catch_unwind)]
    pub fn consume_once(&mut self, limiter: u32, key: BufferSlice, cost: f64, request_id: BufferSlice) -> Result<()> {
        self.describe(|limiters| {
            Ok(at(limiters, limiter)?
                .consume_once(&key, convert::unsigned_float("cost", cost)?, Some(&request_id))?
                .erased())
        })
    }

    /// Describes a refund that is given back once for a request id.
    #[napi(catch_unwind)]
    pub fn refund_once(&mut self, limiter: u32, key: BufferSlice, amount: f64, request_id: BufferSlice) -> Result<()> {
        self.describe(|limiters| {
            Ok(at(limiters, limiter)?
                .refund_once(&key, convert::unsigned_float("amount", amount)?, Some(&request_id))?
                .erased())
        })
    }

    /// Describes a charge of several keys: for each a limiter, a cost and the length of its key; the keys, one after
    /// another.
    #[napi(catch_unwind)]
    pub fn consume_all(
        &mut self,
        client: &Client,
        charges: Vec<f64>,
        keys: BufferSlice,
        request_id: Option<BufferSlice>,
    ) -> Result<()> {
        self.describe(|limiters| {
            let mut keys: &[u8] = &keys;
            let charge = |numbers: &[f64]| {
                let (key, rest) = keys.split_at_checked(numbers[2] as usize).unwrap_or((keys, &[]));
                keys = rest;
                Ok(Charge {
                    limiter: at(limiters, numbers[0] as u32)?,
                    key,
                    cost: convert::unsigned_float("cost", numbers[1])?,
                })
            };
            let charges: quotalock::Result<Vec<Charge>> = charges.chunks_exact(CHARGE).map(charge).collect();
            Ok(client.inner.consume_all(&charges?, request_id.as_deref())?.erased())
        })
    }

    /// Describes a reservation's beginning, and returns it.
    #[napi(catch_unwind)]
    pub fn reserve(
        &mut self,
        limiter: u32,
        key: BufferSlice,
        estimate: f64,
        ttl_ms: f64,
        unsettled: String,
    ) -> Result<Reservation> {
        let make = |limiters| {
            let (estimate, ttl) =
                (convert::unsigned_float("estimate", estimate)?, convert::micros_from_float_ms("ttl", ttl_ms)?);
            at(limiters, limiter)?.reserve(&key, estimate, ttl, Unsettled::parse(&unsettled)?)
        };
        let (inner, op) = make(&self.decider.limiters.borrow()).map_err(thrown)?;
        self.transport().described.push(Some(Asked::Call(op.erased())));
        Ok(Reservation { inner })
    }

    /// Describes that what a closed client held is given back.
    #[napi(catch_unwind)]
    pub fn give_back(&mut self, client: &mut Client) -> Result<()> {
        let closing = client.closing.take();
        self.describe(|_| closing.ok_or_else(|| Error::new(Code::Internal, "nothing is to be given back")))
    }

    /// Describes a settlement; of no amount a cancellation.
    #[napi(catch_unwind)]
    pub fn settle(&mut self, reservation: &Reservation, actual: Option<f64>) -> Result<()> {
        self.describe(|_| match actual {
            Some(actual) => Ok(reservation.inner.settle(convert::unsigned_float("actual", actual)?)?.erased()),
            None => Ok(reservation.inner.cancel()?.erased()),
        })
    }
}

/// The limiter of a handle.
fn at(limiters: &[Option<Limiter>], handle: u32) -> quotalock::Result<&Limiter> {
    let found = limiters.get(handle as usize).and_then(Option::as_ref);
    found.ok_or_else(|| Error::new(Code::Internal, "a call of a limiter that is gone"))
}
