//! A cache that never stampedes, and `once`: of all who want a value that is not there, one makes it.

mod getting;
mod loading;
mod lookup;
mod once;
mod options;
mod queue;
pub(crate) mod single_flight;
mod target;
mod ticket;

use std::sync::Arc;
use std::time::Duration;

use crate::cache::single_flight::{Look, Seen};
use crate::client::Client;
use crate::key;
use wire::base::error::{Error, Result};
use wire::call::hint::AttemptId;
use wire::metrics::{LoadCounters, LoadKind};
use wire::op::Op;

use getting::LookMany;
pub use getting::Part;
pub use loading::{LoadStep, Loading};
pub use once::Once;
pub use options::{
    CacheOptions, DEFAULT_CACHE_LEASE, DEFAULT_ERROR_TTL, DEFAULT_WAIT_AFTER_LEASE, MAX_GET_MANY, MAX_VALUE_BYTES,
    MIN_CACHE_LEASE, OnceOptions, WhenAway,
};
use target::CacheSpec;
pub use ticket::Ticket;

/// The bytes of a value; none is that there is no such thing.
pub type Value = Option<Arc<Vec<u8>>>;

/// What a `get` comes to.
#[derive(Clone, Debug)]
pub enum Got {
    /// A value.
    Found(Seen),
    /// The caller is to load it.
    Load(Ticket),
}

/// A cache: of all its readers, in whatever process, one loads a value that is missing. Cheap to clone. Made by
/// [`Client::cache`].
#[derive(Clone)]
pub struct Cache {
    spec: Arc<CacheSpec>,
}

impl Client {
    /// Makes a cache: a name, part of its Redis keys, and how long values last. Does no I/O.
    ///
    /// # Errors
    /// `invalid_argument` for an empty name, one over 1 KiB, or options out of bounds.
    pub fn cache(&self, name: &str, options: CacheOptions) -> Result<Cache> {
        options.check()?;
        let CacheOptions { fresh, stale, lease, negative, error_ttl, beta, when_away } = options;
        let mut spec = spec_of(self, LoadKind::Cache, name, lease, error_ttl)?;
        (spec.fresh, spec.stale, spec.negative) = (fresh, stale, negative.unwrap_or(fresh));
        (spec.beta, spec.when_away) = (beta, when_away);
        Ok(Cache { spec: Arc::new(spec) })
    }
}

/// What a kind of cache is, before it is told how long values last.
fn spec_of(client: &Client, kind: LoadKind, name: &str, lease: u64, error_ttl: u64) -> Result<CacheSpec> {
    key::check_cache_name(name)?;
    let session = client.session.clone();
    Ok(CacheSpec {
        shown: format!("{} \"{}\"", kind.as_str(), wire::base::error::shown(name.as_bytes())),
        stem: key::stem(&client.prefix, kind.as_str(), name, None),
        wake_prefix: key::wake_prefix(&client.prefix),
        session,
        fresh: 0,
        stale: 0,
        negative: 0,
        lease,
        error_ttl,
        beta: 0.0,
        when_away: WhenAway::Raise,
        kind,
        counters: LoadCounters::of(kind, name),
    })
}

impl Cache {
    /// Describes a `get`: a value, fresh or stale; or a [`Ticket`], for the one caller who is to load it. A caller who finds
    /// nothing while another loads waits for at most `wait`; if that is none, for [`DEFAULT_WAIT_AFTER_LEASE`] longer than the
    /// lease. A refresh that begins early, and one of a stale value, is
    /// the duty of the one who gets a ticket with a value at hand; the others are served at once.
    ///
    /// # Errors
    /// `invalid_argument` for an empty key or one over 1 KiB. The call fails with `timeout` when its wait is over, with
    /// `load_failed` shortly after a loader failed, and, whatever the client's `on_error` says, with `unavailable`, `timeout`,
    /// `not_permitted`, `wrong_type` or `closed`; where [`WhenAway::Load`] is asked for, the first two become a ticket.
    pub fn get(&self, key: &[u8], wait: impl Into<Option<Duration>>) -> Result<Op<Got>> {
        self.spec.get(key, wait.into())
    }

    /// Describes one look at several keys, in one call: whatever is there, the tickets to load what is not, and for what others
    /// load a call that waits for at most `wait` (from now; none as for [`get`](Cache::get)).
    ///
    /// # Errors
    /// As [`get`](Cache::get); for no key, more than [`MAX_GET_MANY`], or one that is there twice. In a cluster all keys must
    /// lie in one slot, else the call fails with `cross_slot`.
    pub fn get_many(&self, keys: &[&[u8]], wait: impl Into<Option<Duration>>) -> Result<Op<Vec<Part>>> {
        if keys.is_empty() || keys.len() > MAX_GET_MANY {
            return Err(Error::invalid(format!("{} keys are not between 1 and {MAX_GET_MANY}", keys.len())));
        }
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let key = wire::base::error::shown(twice[0]);
            return Err(Error::invalid(format!("key \"{key}\" is given twice: give each once")));
        }
        Ok(Op::machine(Box::new(LookMany::new(&self.spec, keys, wait.into())?)))
    }

    /// Describes a read of the value, fresh or stale, that neither loads nor waits; none if there is no value.
    ///
    /// # Errors
    /// As [`get`](Cache::get).
    pub fn peek(&self, key: &[u8]) -> Result<Op<Option<Seen>>> {
        let target = self.spec.target(key)?;
        let look = Look {
            value_only: true,
            ..Look::only([target.keys.clone()].into(), target.shown.clone(), target.spec.feature())
        };
        Ok(Op::new(&self.spec.session, Box::new(look), None))
    }

    /// Describes the storing of a value that the caller has already (none: there is no such thing). It is newer than whatever
    /// is being loaded, which will not replace it. Where `negative` is 0, none only forgets the key.
    ///
    /// # Errors
    /// As [`get`](Cache::get); `invalid_argument` for more than [`MAX_VALUE_BYTES`]. A lost reply is an error: then it
    /// is unknown whether the value was stored.
    pub fn put(&self, key: &[u8], value: Option<Vec<u8>>) -> Result<Op<bool>> {
        let target = self.spec.target(key)?;
        Ok(match target.fill(AttemptId::default(), None, value)? {
            Some(fill) => Op::new(&self.spec.session, Box::new(fill), None),
            None => target.invalidate(),
        })
    }

    /// Describes the forgetting of a key: whatever was loaded or is being loaded now is not served any more. True if there was
    /// anything.
    ///
    /// # Errors
    /// As [`get`](Cache::get).
    pub fn invalidate(&self, key: &[u8]) -> Result<Op<bool>> {
        Ok(self.spec.target(key)?.invalidate())
    }

    /// The Redis key of a key.
    ///
    /// # Errors
    /// As [`get`](Cache::get).
    pub fn redis_key(&self, key: &[u8]) -> Result<Vec<u8>> {
        Ok(self.spec.target(key)?.redis_key())
    }
}
