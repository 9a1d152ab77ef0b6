//! How a cache and a `once` are made.

use std::time::Duration;

use crate::cache::single_flight::{MAX_FRESH, MAX_LEASE};
use wire::base::error::{Error, Result, span};

/// The default of how long a loader has the lease, in microseconds: 10 s.
pub const DEFAULT_CACHE_LEASE: u64 = 10_000_000;
/// The shortest lease in microseconds: 10 ms.
pub const MIN_CACHE_LEASE: u64 = 10_000;
/// How much longer than the lease a caller waits by default for another caller's load, in microseconds: 5 s. If a loader
/// dies, the others wait for the end of its lease, and then for the next load.
pub const DEFAULT_WAIT_AFTER_LEASE: u64 = 5_000_000;
/// The default of how long a cache remembers that a loader failed, in microseconds: a second.
pub const DEFAULT_ERROR_TTL: u64 = 1_000_000;
/// The longest value in bytes: 64 MiB. Some of them take longer than the usual timeout of a client: give it more.
pub const MAX_VALUE_BYTES: usize = crate::cache::single_flight::MOST_PAYLOAD;
/// The most keys in one [`get_many`](crate::Cache::get_many).
pub const MAX_GET_MANY: usize = 1_000;
/// The most of beta.
const MAX_BETA: f64 = 100.0;
/// The shortest that anything is kept, in microseconds.
const SHORTEST: u64 = 1_000;

/// What a `get` does when Redis cannot answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenAway {
    /// It raises `unavailable` or `timeout`, also where its caller has loaded and that could not be stored.
    #[default]
    Raise,
    /// Its caller loads, as if there were no cache, and gets what it loaded, stored or not: the page is slow, but there.
    /// Nothing keeps many from loading at once.
    Load,
}

impl WhenAway {
    /// Parses `raise` or `load`.
    ///
    /// # Errors
    /// `invalid_argument` for another word.
    pub fn parse(text: &str) -> Result<WhenAway> {
        match text {
            "raise" => Ok(WhenAway::Raise),
            "load" => Ok(WhenAway::Load),
            other => {
                let other = wire::base::error::shown(other.as_bytes());
                Err(Error::invalid(format!("when_away \"{other}\" is unknown: use raise or load")))
            }
        }
    }
}

/// How a cache is made, besides its name. Durations are microseconds.
#[derive(Clone, Debug)]
pub struct CacheOptions {
    /// How long a value is fresh: 1 ms to [`MAX_FRESH`].
    pub fresh: u64,
    /// How long it is served after that while one caller loads a new one: 0 to [`MAX_FRESH`].
    pub stale: u64,
    /// How long a loader keeps the others from loading: [`MIN_CACHE_LEASE`] to [`MAX_LEASE`]. It is not renewed: a loader that takes
    /// longer is joined by another.
    pub lease: u64,
    /// How long it is fresh that there is no value; 0 does not store it, none takes `fresh`.
    pub negative: Option<u64>,
    /// For how long the error of a loader is remembered, and no other caller loads: 0 to an hour.
    pub error_ttl: u64,
    /// How eagerly values are refreshed before they are stale: 0 (never) to 100; 1 is right for most.
    pub beta: f64,
    /// What happens when Redis cannot answer.
    pub when_away: WhenAway,
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions {
            fresh: 60_000_000,
            stale: 0,
            lease: DEFAULT_CACHE_LEASE,
            negative: None,
            error_ttl: DEFAULT_ERROR_TTL,
            beta: 1.0,
            when_away: WhenAway::Raise,
        }
    }
}

/// How a `once` is made, besides its name. Durations are microseconds.
#[derive(Clone, Debug)]
pub struct OnceOptions {
    /// For how long a claim or a result is remembered: 1 ms to [`MAX_FRESH`].
    pub ttl: u64,
    /// How long a caller that dies keeps the others waiting: [`MIN_CACHE_LEASE`] to [`MAX_LEASE`]. It is not renewed, so it
    /// must be longer than the function runs.
    pub lease: u64,
    /// For how long the error of a run is remembered: 0 (the next caller runs at once) to an hour.
    pub error_ttl: u64,
}

impl Default for OnceOptions {
    fn default() -> Self {
        OnceOptions { ttl: 86_400_000_000, lease: DEFAULT_CACHE_LEASE, error_ttl: 0 }
    }
}

impl CacheOptions {
    pub(super) fn check(&self) -> Result<()> {
        between("fresh", self.fresh, SHORTEST, MAX_FRESH)?;
        between("stale", self.stale, 0, MAX_FRESH)?;
        between("negative", self.negative.unwrap_or(0), 0, MAX_FRESH)?;
        check_lease(self.lease)?;
        between("error_ttl", self.error_ttl, 0, MAX_LEASE)?;
        // NaN is in no range.
        if !(0.0..=MAX_BETA).contains(&self.beta) {
            return Err(Error::invalid(format!(
                "beta {} is not between 0 and {MAX_BETA}: 1 is right for most",
                self.beta
            )));
        }
        Ok(())
    }
}

impl OnceOptions {
    pub(super) fn check(&self) -> Result<()> {
        between("ttl", self.ttl, SHORTEST, MAX_FRESH)?;
        check_lease(self.lease)?;
        between("error_ttl", self.error_ttl, 0, MAX_LEASE)
    }
}

fn check_lease(lease: u64) -> Result<()> {
    between("lease", lease, MIN_CACHE_LEASE, MAX_LEASE)
}

fn between(what: &str, given: u64, least: u64, most: u64) -> Result<()> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let most = if most == MAX_FRESH { "3650 days".to_owned() } else { format!("{:?}", Duration::from_micros(most)) };
    Err(Error::invalid(format!("{what} of {} is not between {} and {most}: change it", span(given), span(least))))
}

/// Checks a value: at most [`MAX_VALUE_BYTES`].
pub(super) fn check_value(value: Option<&[u8]>, shown: &str) -> Result<()> {
    let size = value.map_or(0, <[u8]>::len);
    if size <= MAX_VALUE_BYTES {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the value of {shown} has {size} bytes, more than {MAX_VALUE_BYTES}: compress it, or store a reference to it"
    )))
}
