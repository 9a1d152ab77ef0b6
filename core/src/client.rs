//! The client: one server or memory, with what all its limiters share.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::key;
use crate::limiter::purse::Purses;
use crate::reports::Reporter;
use wire::base::clock::TestTime;
use wire::base::credentials::PasswordProvider;
use wire::base::endpoint::Endpoint;
use wire::base::error::{Error, Result, shown};
use wire::base::fork::ForkCell;
use wire::base::url::redacted;
use wire::call::command::OnError;
use wire::memory::stand_in::StandIn;
use wire::metrics;
use wire::reactor::partings;
use wire::session::Session;

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
    // One that is no text is a wrong one, and not the default.
    let from_environment = std::env::var_os(URL_VARIABLE).filter(|url| !url.is_empty());
    from_environment.map_or(DEFAULT_URL.into(), |url| Cow::Owned(url.to_string_lossy().into_owned()))
}

/// For how long a denial is remembered at most, by default.
pub const DEFAULT_DENY_CACHE_MAX: Duration = Duration::from_secs(1);
/// The longest that a denial can be remembered.
pub const MAX_DENY_CACHE_MAX: Duration = Duration::from_secs(60);

/// How a client is made. Every field has the documented default.
#[derive(Clone)]
pub struct Options {
    /// `redis://`, `rediss://`, `unix://` or `memory://`; none takes [`default_url`]. All clients of `memory://` in a process
    /// share it for as long as the process lives; `memory://name` is one of its own, that is forgotten when the last of its
    /// clients is closed or dropped. A forked child begins with empty ones.
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
    /// After Redis has denied a call, the same one is answered without asking until it can be admitted, but no longer than this: up to
    /// [`MAX_DENY_CACHE_MAX`]; zero asks every time.
    pub deny_cache_max: Duration,
    /// What tells the password, where the URL gives none.
    pub password: Option<PasswordProvider>,
    /// Whether what its limiters decide, and whom they deny most often, is told to Redis once a second, in the background: see
    /// [`reports`](crate::reports). What is decided in memory is not.
    pub report: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            url: None,
            prefix: DEFAULT_PREFIX.into(),
            timeout: DEFAULT_TIMEOUT,
            on_error: OnError::Raise,
            request_memory: DEFAULT_REQUEST_MEMORY,
            deny_cache_max: DEFAULT_DENY_CACHE_MAX,
            password: None,
            report: false,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &self.url.as_deref().map(redacted))
            .field("prefix", &shown(self.prefix.as_bytes()))
            .field("timeout", &self.timeout)
            .field("on_error", &self.on_error)
            .field("request_memory", &self.request_memory)
            .field("deny_cache_max", &self.deny_cache_max)
            .field("password", &self.password)
            .field("report", &self.report)
            .finish()
    }
}

/// A client of one Redis, or of this process' memory. Cheap to clone; clones are the same client.
///
/// Making one does no I/O: connections are made at the first call, and again in each forked process.
#[derive(Clone)]
pub struct Client {
    pub(crate) session: Arc<Session>,
    /// The permits that its limiters took ahead, in each process its own.
    pub(crate) purses: Arc<ForkCell<Purses>>,
    /// Who reports what it decides, if somebody does.
    pub(crate) reporter: Option<Arc<Reporter>>,
    /// What all its Redis keys begin with.
    pub(crate) prefix: Arc<str>,
    /// How long a call with a request id is remembered, in microseconds.
    pub(crate) request_memory: u64,
    /// How long a denial is remembered at most, in microseconds.
    pub(crate) deny_cache_max: u64,
}

impl Client {
    /// Makes a client.
    ///
    /// # Errors
    /// `invalid_argument` for a URL, prefix or timeout that cannot be.
    pub fn new(options: Options) -> Result<Client> {
        let url = options.url.map_or_else(default_url, Cow::Owned);
        let endpoint = Endpoint::parse(&url, options.password)?;
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
        let deny_cache_max = options.deny_cache_max;
        if deny_cache_max > MAX_DENY_CACHE_MAX {
            return Err(Error::invalid(format!(
                "deny_cache_max of {deny_cache_max:?} is more than 1 minute: give less, or 0 to ask every time"
            )));
        }
        let stands_in = options.on_error == OnError::Local && !endpoint.is_memory();
        let session = Session {
            stand_in: stands_in.then(|| StandIn::of(&endpoint.identity())),
            endpoint,
            timeout: options.timeout,
            on_error: options.on_error,
            test_time: TestTime::default(),
            hang_up: partings::hang_up,
            closed: AtomicBool::new(false),
            engine: ForkCell::new(),
        };
        // What forks from now on counts in the same table.
        metrics::table();
        if session.endpoint.is_memory() {
            // From now on it is one of those that keep the memory.
            session.engine();
        }
        let session = Arc::new(session);
        let reports = options.report && !session.endpoint.is_memory();
        let reporter = reports.then(|| Arc::new(Reporter::new(&session, &options.prefix)));
        Ok(Client {
            session,
            purses: Arc::default(),
            reporter,
            prefix: options.prefix.into(),
            // Until the timeout the client itself repeats a call whose reply was lost.
            request_memory: memory.max(options.timeout).as_micros() as u64,
            deny_cache_max: deny_cache_max.as_micros() as u64,
        })
    }

    /// Whether it keeps everything in this process.
    pub fn is_in_memory(&self) -> bool {
        self.session.endpoint.is_memory()
    }

    /// The host and port, socket path or `memory://` that this client talks to; never a password.
    pub fn server(&self) -> String {
        self.session.endpoint.to_string()
    }

    /// What every Redis key of this client starts with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}
