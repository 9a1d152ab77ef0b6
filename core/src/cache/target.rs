//! What all calls about one cache, or about one entry of it, have in common.

use std::sync::Arc;
use std::time::Duration;

use super::options::{WhenAway, check_value};
use crate::cache::single_flight::{Fail, Fill, Invalidate, Keys, MAX_LUCK, topic};
use crate::key;
use wire::base::error::{Code, Error, Result, shown, span, within};
use wire::base::random;
use wire::call::hint::{AttemptId, Channel};
use wire::metrics::{Feature, LoadCounters, LoadKind};
use wire::op::Op;
use wire::reactor::Cleanup;
use wire::session::Session;

/// What all entries of a cache, or of a `once`, have in common. Durations are microseconds.
pub(crate) struct CacheSpec {
    pub session: Arc<Session>,
    /// As it calls itself: `cache "home"`.
    pub shown: String,
    pub stem: Vec<u8>,
    pub wake_prefix: Arc<[u8]>,
    pub fresh: u64,
    pub stale: u64,
    pub negative: u64,
    pub lease: u64,
    pub error_ttl: u64,
    pub beta: f64,
    pub when_away: WhenAway,
    pub kind: LoadKind,
    /// Where it is counted what callers come to.
    pub counters: LoadCounters,
}

impl CacheSpec {
    /// An entry of it.
    pub fn target(self: &Arc<CacheSpec>, key: &[u8]) -> Result<Arc<EntryTarget>> {
        key::check_cache_key(key)?;
        let entry = key::complete(&self.stem, key);
        let waiters = [&entry, b":wait".as_slice()].concat();
        let shown = format!("{} for \"{}\"", self.shown, shown(key)).into();
        Ok(Arc::new(EntryTarget { spec: self.clone(), keys: [entry, waiters], shown }))
    }

    /// What its calls are made for.
    pub fn feature(&self) -> Feature {
        match self.kind {
            LoadKind::Cache => Feature::Cache,
            LoadKind::Once => Feature::Once,
        }
    }

    pub fn is_in_memory(&self) -> bool {
        self.session.endpoint.is_memory()
    }

    /// What tells an attempt from all others, and for each key how early it refreshes: -ln(u) * beta.
    pub fn draw(&self, keys: usize) -> Result<(AttemptId, Vec<u64>)> {
        let id = random::bytes()?;
        let luck = |bytes: [u8; 8]| {
            // From 2^-53 to 1: its logarithm is finite.
            let chance = ((u64::from_le_bytes(bytes) >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            ((-chance.ln() * self.beta * 1_000.0) as u64).min(MAX_LUCK)
        };
        // In a test's own time nothing is left to chance.
        if self.beta == 0.0 || self.session.test_time.get().is_some() {
            return Ok((id, vec![0; keys]));
        }
        let lucks = (0..keys).map(|_| random::bytes().map(luck)).collect::<Result<_>>()?;
        Ok((id, lucks))
    }
}

/// One entry.
pub(crate) struct EntryTarget {
    pub spec: Arc<CacheSpec>,
    pub keys: Keys,
    /// As messages call it: `cache "home" for "x"`.
    pub shown: Arc<str>,
}

impl EntryTarget {
    /// What hints about it say.
    pub fn topic(&self) -> Channel {
        topic(&self.keys[0])
    }

    /// The Redis key of its value.
    pub fn redis_key(&self) -> Vec<u8> {
        self.keys[0].clone()
    }

    /// Stores a value (none: there is no such thing) by this lease, or none; none if that is to be kept for no time.
    pub fn fill(&self, id: AttemptId, token: Option<u64>, value: Option<Vec<u8>>) -> Result<Option<Fill>> {
        check_value(value.as_deref(), &self.shown)?;
        let CacheSpec { fresh, stale, negative, lease, wake_prefix, .. } = &*self.spec;
        let fresh = if value.is_some() { *fresh } else { *negative };
        let (keys, wake_prefix, shown) = (self.keys.clone(), wake_prefix.clone(), self.shown.clone());
        let fill = Fill {
            keys,
            id,
            token,
            ttl: *lease,
            fresh,
            stale: *stale,
            value,
            wake_prefix,
            shown,
            feature: self.spec.feature(),
        };
        Ok((fresh > 0).then_some(fill))
    }

    /// Forgets whatever is there or is being loaded.
    pub fn invalidate(&self) -> Op<bool> {
        let (wake_prefix, shown) = (self.spec.wake_prefix.clone(), self.shown.clone());
        let invalidate = Invalidate {
            keys: self.keys.clone(),
            ttl: self.spec.lease,
            wake_prefix,
            shown,
            feature: self.spec.feature(),
        };
        Op::new(&self.spec.session, Box::new(invalidate), None)
    }

    /// Ends the lease of an id, if it has it.
    pub fn cleanup(&self, id: AttemptId) -> Cleanup {
        Cleanup::new(&self.spec.session, self.fail(id, 0, String::new()))
    }

    pub fn fail(&self, id: AttemptId, pause: u64, error: String) -> Fail {
        let (wake_prefix, shown) = (self.spec.wake_prefix.clone(), self.shown.clone());
        Fail {
            keys: self.keys.clone(),
            id,
            pause,
            error,
            is_known: false,
            wake_prefix,
            shown,
            feature: self.spec.feature(),
        }
    }

    /// The error for who waited in vain.
    pub fn late(&self, wait: Duration, left: u64) -> Error {
        let (what, left) =
            (format!("{} had no value {}", self.shown, within(wait)), span(left.next_multiple_of(1_000)));
        let why = format!(
            "another caller is loading it, and its lease ends in {left}; wait longer, or find out why the load is slow"
        );
        Error::new(Code::Timeout, format!("{what}: {why}"))
    }

    /// The error for who asks shortly after a loader has failed.
    pub fn failed(&self, error: &str, left: u64) -> Error {
        let what = &self.shown;
        Error::new(
            Code::LoadFailed,
            format!(
                "{what} failed to load a moment ago ({error}): try again in {}",
                span(left.next_multiple_of(1_000))
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{CacheOptions, OnceOptions};
    use super::*;
    use crate::client::{Client, Options};

    #[test]
    fn who_does_not_say_how_long_outlasts_the_lease_of_one_who_dies() {
        let client = Client::new(Options { url: Some("memory://".into()), ..Options::default() }).unwrap();
        for (lease, wait) in [(10_000, 5_010), (10_000_000, 15_000), (3_600_000_000, 3_605_000)] {
            let wait = Duration::from_millis(wait);
            let cache = client.cache("home", CacheOptions { lease, ..CacheOptions::default() }).unwrap();
            let once = client.once("order", OnceOptions { lease, ..OnceOptions::default() }).unwrap();
            let waits = [&cache.spec, &once.spec].map(|spec| spec.lookup(b"x", None).unwrap().wait);
            assert_eq!(waits, [wait; 2]);
            assert_eq!(cache.spec.lookup(b"x", Some(Duration::ZERO)).unwrap().wait, Duration::ZERO);
        }
    }
}
