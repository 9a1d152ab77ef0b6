//! Caches and `once`: their handles. Their calls are in entries.rs.

use napi::bindgen_prelude::{Buffer, BufferSlice};
use napi_derive::napi;
use quotalock::{CacheOptions, OnceOptions, WhenAway, convert};

use crate::client::Client;
use crate::error::{Result, thrown};

/// Refuses JSON that another language cannot read back.
#[napi(catch_unwind)]
pub fn check_json(text: String) -> Result<()> {
    quotalock::check_json(text.as_bytes()).map_err(thrown)
}

/// How a cache is made; what is missing is as the core has it.
#[napi(object)]
pub struct CacheInput {
    /// How long a value is fresh.
    pub fresh_ms: Option<f64>,
    /// How long it is served after that.
    pub stale_ms: Option<f64>,
    /// How long a loader keeps the others from loading.
    pub lease_ms: Option<f64>,
    /// How long it is fresh that there is no value.
    pub negative_ms: Option<f64>,
    /// For how long a loader's error is remembered.
    pub error_ttl_ms: Option<f64>,
    /// How eagerly values are refreshed.
    pub beta: Option<f64>,
    /// What happens when Redis cannot answer.
    pub when_away: Option<String>,
}

impl CacheInput {
    fn options(self) -> quotalock::Result<CacheOptions> {
        let base = CacheOptions::default();
        Ok(CacheOptions {
            fresh: time("fresh", self.fresh_ms, base.fresh)?,
            stale: time("stale", self.stale_ms, base.stale)?,
            lease: time("lease", self.lease_ms, base.lease)?,
            negative: self.negative_ms.map(|ms| convert::micros_from_float_ms("negative", ms)).transpose()?,
            error_ttl: time("error_ttl", self.error_ttl_ms, base.error_ttl)?,
            beta: self.beta.unwrap_or(base.beta),
            when_away: self.when_away.map_or(Ok(base.when_away), |word| WhenAway::parse(&word))?,
        })
    }
}

/// How a `once` is made; what is missing is as the core has it.
#[napi(object)]
pub struct OnceInput {
    /// For how long a claim or a result is remembered.
    pub ttl_ms: Option<f64>,
    /// How long a caller that runs keeps the others waiting.
    pub lease_ms: Option<f64>,
    /// For how long the error of a run is remembered.
    pub error_ttl_ms: Option<f64>,
}

impl OnceInput {
    fn options(self) -> quotalock::Result<OnceOptions> {
        let base = OnceOptions::default();
        Ok(OnceOptions {
            ttl: time("ttl", self.ttl_ms, base.ttl)?,
            lease: time("lease", self.lease_ms, base.lease)?,
            error_ttl: time("error_ttl", self.error_ttl_ms, base.error_ttl)?,
        })
    }
}

fn time(what: &str, given_ms: Option<f64>, base: u64) -> quotalock::Result<u64> {
    given_ms.map_or(Ok(base), |ms| convert::micros_from_float_ms(what, ms))
}

/// A cache.
#[napi]
pub struct Cache {
    pub(crate) inner: quotalock::Cache,
}

/// What is done once for each id.
#[napi]
pub struct Once {
    pub(crate) inner: quotalock::Once,
}

#[napi]
impl Client {
    /// Makes a cache.
    #[napi(catch_unwind)]
    pub fn cache(&self, name: String, options: CacheInput) -> Result<Cache> {
        let make = || self.inner.cache(&name, options.options()?);
        make().map(|inner| Cache { inner }).map_err(thrown)
    }

    /// Makes a `once`.
    #[napi(catch_unwind)]
    pub fn once(&self, name: String, options: OnceInput) -> Result<Once> {
        let make = || self.inner.once(&name, options.options()?);
        make().map(|inner| Once { inner }).map_err(thrown)
    }
}

#[napi]
impl Cache {
    /// The Redis key that holds the entry of a key.
    #[napi(catch_unwind)]
    pub fn redis_key(&self, key: BufferSlice) -> Result<Buffer> {
        self.inner.redis_key(&key).map(Buffer::from).map_err(thrown)
    }
}

#[napi]
impl Once {
    /// The Redis key that holds the entry of an id.
    #[napi(catch_unwind)]
    pub fn redis_key(&self, id: BufferSlice) -> Result<Buffer> {
        self.inner.redis_key(&id).map(Buffer::from).map_err(thrown)
    }
}
