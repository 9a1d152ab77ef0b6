//! What the `testing` object of the package needs.

use napi::Env;
use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;
use quotalock::convert;
use quotalock::testing::{self, TestValueKind};

use crate::channel::Channel;
use crate::client::Client;
use crate::error::{Result, thrown};

/// Sets the time in microseconds of a client's calls; none goes back to the server's.
#[napi(catch_unwind)]
pub fn set_time(client: &Client, micros: Option<f64>) -> Result<()> {
    let micros = micros.map(|given| convert::unsigned_float("time", given)).transpose();
    micros.and_then(|micros| testing::set_time(&client.inner, micros)).map_err(thrown)
}

#[napi]
impl Channel {
    /// Replaces what stands at a Redis key, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn put(
        &mut self,
        env: Env,
        id: f64,
        client: &Client,
        redis_key: BufferSlice,
        kind: String,
        value: BufferSlice,
    ) -> Result<()> {
        let kind = TestValueKind::parse(&kind).map_err(thrown)?;
        self.submit_now(env, id, testing::put(&client.inner, &redis_key, kind, &value).erased());
        Ok(())
    }

    /// Reads what stands at a Redis key, under the number `id`. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn get(&mut self, env: Env, id: f64, client: &Client, redis_key: BufferSlice) {
        self.submit_now(env, id, testing::get(&client.inner, &redis_key).erased());
    }
}
