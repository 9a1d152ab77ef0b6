//! Once: the first who claims an id, or the result of the first who ran.

use std::sync::Arc;
use std::time::Duration;

use super::Got;
use super::options::{OnceOptions, WhenAway, check_value};
use super::spec_of;
use super::target::CacheSpec;
use crate::cache::single_flight::{Claim, Claimed};
use crate::client::Client;
use wire::base::error::Result;
use wire::base::random;
use wire::metrics::LoadKind;
use wire::op::Op;

/// What is done once for each id. Cheap to clone. Made by [`Client::once`].
#[derive(Clone)]
pub struct Once {
    pub(super) spec: Arc<CacheSpec>,
}

impl Client {
    /// Makes a `once`: a name, part of its Redis keys, and for how long an id is remembered. Does no I/O.
    ///
    /// # Errors
    /// `invalid_argument` for an empty name, one over 1 KiB, or options out of bounds.
    pub fn once(&self, name: &str, options: OnceOptions) -> Result<Once> {
        options.check()?;
        let OnceOptions { ttl, lease, error_ttl } = options;
        let mut spec = spec_of(self, LoadKind::Once, name, lease, error_ttl)?;
        (spec.fresh, spec.negative, spec.when_away) = (ttl, ttl, WhenAway::Raise);
        Ok(Once { spec: Arc::new(spec) })
    }
}

impl Once {
    /// Describes a claim: whether this caller is the first for `id`, and what the first gave. A claim whose reply was lost is
    /// asked for again and stays the caller's. While a [`begin`](Once::begin) of the same id runs, no claim is the first.
    ///
    /// # Errors
    /// `invalid_argument` for an empty id, one over 1 KiB, or a value over [`MAX_VALUE_BYTES`](crate::MAX_VALUE_BYTES). The
    /// call fails with `unavailable`, `timeout`, `not_permitted`, `wrong_type` or `closed`, whatever `on_error` says.
    pub fn claim(&self, id: &[u8], value: Option<Vec<u8>>) -> Result<Op<Claimed>> {
        let target = self.spec.target(id)?;
        check_value(value.as_deref(), &target.shown)?;
        let claim = Claim {
            key: target.redis_key(),
            id: random::bytes()?,
            ttl: self.spec.fresh,
            value,
            shown: target.shown.clone(),
            counters: self.spec.counters,
        };
        Ok(Op::new(&self.spec.session, Box::new(claim), None))
    }

    /// Describes the removal of an id, even one that another caller claimed: the next caller is the first. A function that
    /// runs for it continues, but its result is not stored. True if the id was stored.
    ///
    /// # Errors
    /// As [`claim`](Once::claim).
    pub fn release(&self, id: &[u8]) -> Result<Op<bool>> {
        Ok(self.spec.target(id)?.invalidate())
    }

    /// Describes the beginning of a run: the first caller gets a [`Ticket`](crate::Ticket), to be filled with the result; the
    /// others get that result, at once or when it comes, and wait for it for at most `wait` (none as for [`Cache::get`](crate::Cache::get)). If the first dies, the next one
    /// runs after its lease.
    ///
    /// # Errors
    /// As [`Cache::get`](crate::Cache::get).
    pub fn begin(&self, id: &[u8], wait: impl Into<Option<Duration>>) -> Result<Op<Got>> {
        self.spec.get(id, wait.into())
    }

    /// The Redis key of an id.
    ///
    /// # Errors
    /// As [`claim`](Once::claim).
    pub fn redis_key(&self, id: &[u8]) -> Result<Vec<u8>> {
        Ok(self.spec.target(id)?.redis_key())
    }
}
