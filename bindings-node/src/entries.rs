//! Calls of caches and `once`, which go out with the batch of their tick, and the wait for what another loads.

use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;
use quotalock::convert;

use crate::cache::{Cache, Once};
use crate::call::Asked;
use crate::channel::Channel;
use crate::error::{Result, thrown};
use crate::given::micros;
use crate::look::Look;
use crate::ticket::{Ticket, Wait};

#[napi]
impl Channel {
    /// Describes a `get`.
    #[napi(catch_unwind)]
    pub fn get_cached(&mut self, cache: &Cache, key: BufferSlice, wait_ms: Option<f64>) -> Result<()> {
        self.describe_look(|| Ok(Look::One(cache.inner.get(&key, waiting(wait_ms)?)?)))
    }

    /// Describes a `get` of several keys: their lengths in bytes, and themselves one after another.
    #[napi(catch_unwind)]
    pub fn get_several(
        &mut self,
        cache: &Cache,
        lengths: Vec<u32>,
        keys: BufferSlice,
        wait_ms: Option<f64>,
    ) -> Result<()> {
        self.describe_look(|| Ok(Look::Several(cache.inner.get_many(&pieces(&lengths, &keys), waiting(wait_ms)?)?)))
    }

    /// Describes the beginning of a run.
    #[napi(catch_unwind)]
    pub fn begin(&mut self, once: &Once, id: BufferSlice, wait_ms: Option<f64>) -> Result<()> {
        self.describe_look(|| Ok(Look::One(once.inner.begin(&id, waiting(wait_ms)?)?)))
    }

    /// Waits, under the number `id`, for what another loads. Collect afterwards.
    #[napi(catch_unwind)]
    pub fn wait_for(&mut self, env: Env, id: f64, wait: &mut Wait) {
        if let Some(getting) = wait.inner.take() {
            self.wait_for_load(env, id as u64, getting);
        }
    }

    /// Describes a look that loads nothing.
    #[napi(catch_unwind)]
    pub fn peek_cached(&mut self, cache: &Cache, key: BufferSlice) -> Result<()> {
        self.describe(|_| Ok(cache.inner.peek(&key)?.erased()))
    }

    /// Describes the storing of a value; of none, that there is none.
    #[napi(catch_unwind)]
    pub fn put_cached(&mut self, cache: &Cache, key: BufferSlice, value: Option<BufferSlice>) -> Result<()> {
        self.describe(|_| Ok(cache.inner.put(&key, owned(value))?.erased()))
    }

    /// Describes the forgetting of a key.
    #[napi(catch_unwind)]
    pub fn invalidate(&mut self, cache: &Cache, key: BufferSlice) -> Result<()> {
        self.describe(|_| Ok(cache.inner.invalidate(&key)?.erased()))
    }

    /// Describes a claim.
    #[napi(catch_unwind)]
    pub fn claim(&mut self, once: &Once, id: BufferSlice, value: Option<BufferSlice>) -> Result<()> {
        self.describe(|_| Ok(once.inner.claim(&id, owned(value))?.erased()))
    }

    /// Describes the forgetting of an id.
    #[napi(catch_unwind)]
    pub fn forget(&mut self, once: &Once, id: BufferSlice) -> Result<()> {
        self.describe(|_| Ok(once.inner.release(&id)?.erased()))
    }

    /// Describes the storing of what was loaded; of none, that there is none.
    #[napi(catch_unwind)]
    pub fn fill(&mut self, ticket: &Ticket, value: Option<BufferSlice>) -> Result<()> {
        self.describe(|_| Ok(ticket.inner.fill(owned(value))?.erased()))
    }

    /// Describes the end of a load that came to nothing; with a text it is remembered.
    #[napi(catch_unwind)]
    pub fn fail(&mut self, ticket: &Ticket, error: Option<String>) -> Result<()> {
        self.describe(|_| Ok(ticket.inner.fail(error.as_deref()).erased()))
    }

    fn describe_look(&mut self, make: impl FnOnce() -> quotalock::Result<Look>) -> Result<()> {
        self.described.push(Some(Asked::Look(make().map_err(thrown)?)));
        Ok(())
    }
}

/// How long a `get` waits; the core knows, if nobody says.
fn waiting(wait_ms: Option<f64>) -> quotalock::Result<Option<Duration>> {
    wait_ms.map(|ms| micros("wait", ms).map(convert::duration)).transpose()
}

/// Cuts bytes in pieces of these lengths.
fn pieces<'a>(lengths: &[u32], mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let cut = |length: &u32| {
        let (piece, rest) = bytes.split_at_checked(*length as usize).unwrap_or((bytes, &[]));
        bytes = rest;
        piece
    };
    lengths.iter().map(cut).collect()
}

fn owned(value: Option<BufferSlice>) -> Option<Vec<u8>> {
    value.map(|value| value.to_vec())
}
