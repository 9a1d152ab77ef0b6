//! The client: one server or memory, with what all its limiters share.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::breaker::Breaker;
use crate::clock::TestTime;
use crate::endpoint::{Endpoint, redacted};
use crate::error::{Error, Result};
use crate::fork::ForkCell;
use crate::key;
use crate::limiter::{Limiter, LimiterOptions};
use crate::lock::Tenures;
use crate::operation::OnError;
use crate::policy::Policy;
use crate::store::memory::MemoryStore;
use crate::store::redis::hub::Port;
use crate::store::redis::listening::Ears;
use crate::store::redis::pool::Pool;

/// The environment variable that is asked when no URL is given.
pub const URL_VARIABLE: &str = "QUOTALOCK_URL";
/// The URL when neither the caller nor the environment gives one.
pub const DEFAULT_URL: &str = "redis://127.0.0.1:6379";
/// The default prefix of every Redis key.
pub const DEFAULT_PREFIX: &str = "ql";
/// The default time a call may take, connecting included.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest timeout.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(3_600);

/// How long a request is remembered by default.
pub const DEFAULT_REQUEST_MEMORY: Duration = Duration::from_secs(60);
/// The longest that a request can be remembered.
pub const MAX_REQUEST_MEMORY: Duration = Duration::from_secs(86_400);

/// The URL of a client that is given none: what [`URL_VARIABLE`] says, which is then owned, else [`DEFAULT_URL`].
pub fn default_url() -> Cow<'static, str> {
    let from_environment = std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty());
    from_environment.map_or(DEFAULT_URL.into(), Cow::Owned)
}

/// How a client is made. Every field has the documented default.
#[derive(Clone)]
pub struct Options {
    /// `redis://`, `rediss://`, `unix://` or `memory://`; none takes [`default_url`].
    pub url: Option<String>,
    /// What every Redis key starts with; no braces.
    pub prefix: String,
    /// The time a call may take, connecting included: 1 ms to [`MAX_TIMEOUT`].
    pub timeout: Duration,
    /// What is answered when Redis cannot.
    pub on_error: OnError,
    /// How long a call with a request id is remembered: 1 ms to [`MAX_REQUEST_MEMORY`], and at least as long as the timeout, in which
    /// the client itself repeats it.
    pub request_memory: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            url: None,
            prefix: DEFAULT_PREFIX.into(),
            timeout: DEFAULT_TIMEOUT,
            on_error: OnError::Raise,
            request_memory: DEFAULT_REQUEST_MEMORY,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &self.url.as_deref().map(redacted))
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .field("on_error", &self.on_error)
            .field("request_memory", &self.request_memory)
            .finish()
    }
}

/// What must not outlive a fork: sockets, locks, memory of failures.
#[derive(Default)]
pub(crate) struct Engine {
    pub breaker: Breaker,
    pub memory: MemoryStore,
    pub pool: Pool,
    pub port: Port,
    /// The idle subscriptions of threads that wait.
    pub ears: Ears,
    /// What locks are held.
    pub tenures: Tenures,
    /// Held by every link of this client that is connected.
    connected: Arc<()>,
    /// Whether `memory` holds anything that stands in for an absent Redis.
    standing_in: AtomicBool,
}

impl Engine {
    /// For a link to hold while it is connected.
    pub fn connected(&self) -> Arc<()> {
        self.connected.clone()
    }

    /// Whether there is a connection, whatever became of the last attempt to make one.
    pub fn is_connected(&self) -> bool {
        Arc::strong_count(&self.connected) > 1 || self.pool.has_idle()
    }

    /// The memory that decides while Redis is away.
    pub fn stand_in(&self) -> &MemoryStore {
        self.standing_in.store(true, Ordering::Relaxed);
        &self.memory
    }

    /// Redis decides again: what stood in for it is forgotten.
    pub fn recovered(&self) {
        if self.standing_in.load(Ordering::Relaxed) && self.standing_in.swap(false, Ordering::Relaxed) {
            self.memory.clear();
        }
    }
}

/// What a client, its limiters and their calls share.
pub(crate) struct Shared {
    pub endpoint: Endpoint,
    pub prefix: String,
    pub timeout: Duration,
    pub on_error: OnError,
    /// Microseconds.
    pub request_memory: u64,
    pub test_time: TestTime,
    closed: AtomicBool,
    engine: ForkCell<Engine>,
}

impl Shared {
    /// This process' engine, made at the first use.
    pub fn engine(&self) -> &Engine {
        self.engine.get_or_init(Engine::default)
    }

    /// This process' engine, if it has one.
    pub fn engine_if_made(&self) -> Option<&Engine> {
        self.engine.get()
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Takes no more calls; false if it took none before.
    pub fn end(&self) -> bool {
        !self.closed.swap(true, Ordering::Relaxed)
    }
}

/// A client of one Redis, or of this process' memory. Cheap to clone; clones are the same client.
///
/// Making one does no I/O: connections are made at the first call, and again in each forked process.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

impl Client {
    /// Makes a client.
    ///
    /// # Errors
    /// `invalid_argument` for a URL, prefix or timeout that cannot be.
    pub fn new(options: Options) -> Result<Client> {
        let url = options.url.map_or_else(default_url, Cow::Owned);
        let endpoint = Endpoint::parse(&url)?;
        key::check_prefix(&options.prefix)?;
        if options.timeout < Duration::from_millis(1) || options.timeout > MAX_TIMEOUT {
            let given = options.timeout;
            // Nothing has no unit, and callers give theirs in seconds or milliseconds.
            let given = if given.is_zero() { "0".to_owned() } else { format!("{given:?}") };
            return Err(Error::invalid(format!("timeout of {given} is not between 1 ms and 1 hour: change it")));
        }
        let memory = options.request_memory;
        if memory < Duration::from_millis(1) || memory > MAX_REQUEST_MEMORY {
            return Err(Error::invalid(format!(
                "request_memory of {memory:?} is not between 1 ms and 1 day: change it"
            )));
        }
        let shared = Shared {
            endpoint,
            prefix: options.prefix,
            timeout: options.timeout,
            on_error: options.on_error,
            // Until then the client itself repeats a call whose reply was lost.
            request_memory: memory.max(options.timeout).as_micros() as u64,
            test_time: TestTime::default(),
            closed: AtomicBool::new(false),
            engine: ForkCell::new(),
        };
        Ok(Client { shared: Arc::new(shared) })
    }

    /// Makes a limiter: a name, part of its Redis keys, and a policy.
    ///
    /// # Errors
    /// `invalid_argument` for an empty or too long name.
    pub fn limiter(&self, name: &str, policy: Policy) -> Result<Limiter> {
        self.limiter_with(name, policy, LimiterOptions::default())
    }

    /// As [`limiter`](Client::limiter), with options.
    ///
    /// # Errors
    /// `invalid_argument` for an empty or too long name or scope.
    pub fn limiter_with(&self, name: &str, policy: Policy, options: LimiterOptions) -> Result<Limiter> {
        Limiter::new(self, name, policy, options)
    }

    /// The host and port, socket path or `memory://` that this client talks to; never a password.
    pub fn server(&self) -> String {
        self.shared.endpoint.to_string()
    }

    /// What every Redis key of this client starts with.
    pub fn prefix(&self) -> &str {
        &self.shared.prefix
    }
}
