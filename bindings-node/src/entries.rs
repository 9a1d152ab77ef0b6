//! Calls of caches and `once`, which go out with the batch of their tick, and what describes their loads.

use std::time::Duration;

use napi::bindgen_prelude::BufferSlice;
use napi_derive::napi;
use quotalock::convert;

use crate::cache::{Cache, Once};
use crate::call_array::Asked;
use crate::channel::Channel;
use crate::error::{Result, thrown};
use crate::loading::Loading;

#[napi]
impl Channel {
    /// Describes what is next of a load.
    #[napi(catch_unwind)]
    pub fn carry(&mut self, loading: &mut Loading) -> Result<()> {
        let (op, load) = loading.look().map_err(thrown)?;
        let mut transport = self.transport();
        transport.keep_load(&loading.core);
        transport.described.push(Some(Asked::Look(op, load)));
        Ok(())
    }

    /// Describes one of the calls that end a load.
    #[napi(catch_unwind)]
    pub fn end(&mut self, loading: &mut Loading, place: u32) -> Result<()> {
        self.describe(|_| loading.call(place))
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
}

#[napi]
impl Cache {
    /// Describes a `get`.
    #[napi(catch_unwind)]
    pub fn get(&self, key: BufferSlice, wait_ms: Option<f64>) -> Result<Loading> {
        waiting(wait_ms).and_then(|wait| self.inner.get(&key, wait)).map(Loading::new).map_err(thrown)
    }

    /// Describes a `get` of several keys: their lengths in bytes, and themselves one after another.
    #[napi(catch_unwind)]
    pub fn get_several(&self, lengths: Vec<u32>, keys: BufferSlice, wait_ms: Option<f64>) -> Result<Loading> {
        let described = waiting(wait_ms).and_then(|wait| self.inner.get_many(&pieces(&lengths, &keys), wait));
        described.map(Loading::new).map_err(thrown)
    }
}

#[napi]
impl Once {
    /// Describes the beginning of a run.
    #[napi(catch_unwind)]
    pub fn begin(&self, id: BufferSlice, wait_ms: Option<f64>) -> Result<Loading> {
        waiting(wait_ms).and_then(|wait| self.inner.begin(&id, wait)).map(Loading::new).map_err(thrown)
    }
}

/// How long a `get` waits; the core knows, if nobody says.
fn waiting(wait_ms: Option<f64>) -> quotalock::Result<Option<Duration>> {
    wait_ms.map(|ms| convert::micros_from_float_ms("wait", ms).map(convert::duration)).transpose()
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
