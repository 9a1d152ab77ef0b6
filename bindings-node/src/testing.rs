//! What the `testing` object of the package needs.

use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;
use quotalock::testing::{self, Kind};
use quotalock::{Answer, Error, Op, convert};

use crate::client::Client;
use crate::error::{Result, thrown};

/// Sets the time in microseconds of a client's calls; none goes back to the server's.
#[napi(catch_unwind)]
pub fn set_time(client: &Client, micros: Option<f64>) -> Result<()> {
    let whole = |given| convert::unsigned("time", convert::whole("time", given)?);
    micros.map(whole).transpose().and_then(|micros| testing::set_time(&client.inner, micros)).map_err(thrown)
}

/// The call that replaces what stands at a Redis key.
pub fn put(
    client: &Client,
    redis_key: &BufferSlice,
    kind: &str,
    value: &BufferSlice,
) -> std::result::Result<Op<Answer>, Error> {
    Ok(testing::put(&client.inner, redis_key, Kind::parse(kind)?, value).erased())
}

/// The call that reads what stands at a Redis key.
pub fn get(client: &Client, redis_key: &BufferSlice) -> Op<Answer> {
    testing::get(&client.inner, redis_key).erased()
}
