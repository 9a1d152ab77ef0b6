//! How a lock is made, and what is the same for all its acquisitions.

use std::sync::Arc;
use std::time::Duration;

use crate::client::{Client, Shared};
use crate::endpoint::Endpoint;
use crate::error::{Code, Error, Result, shown};
use crate::key;
use crate::lease::{ALL_PERMITS, MAX_FLOOR, Who};

/// The shortest ttl in microseconds: 10 ms. The margin for drift is 2 ms and 1 %.
pub const MIN_LOCK_TTL: u64 = 10_000;
/// The longest ttl in microseconds: 7 days.
pub const MAX_LOCK_TTL: u64 = 7 * 86_400 * 1_000_000;
/// The default ttl in microseconds: 30 s.
pub const DEFAULT_LOCK_TTL: u64 = 30_000_000;
/// The default of how long a lock is renewed, in microseconds: an hour.
pub const DEFAULT_MAX_HOLD: u64 = 3_600_000_000;
/// The longest label in bytes.
pub const MAX_LABEL_BYTES: usize = 128;
/// The most permits of a semaphore.
pub const MAX_PERMITS: u64 = ALL_PERMITS - 1;
/// The most names in one [`Client::lock_all`].
pub const MAX_LOCK_NAMES: usize = 100;
/// The longest that an acquire may wait for replicas, in microseconds: a minute.
pub const MAX_ACK_TIMEOUT: u64 = 60_000_000;

/// How a lock is made, besides its name.
#[derive(Clone, Debug)]
pub struct LockOptions {
    /// For how long a grant lasts unless it is renewed, in microseconds: [`MIN_LOCK_TTL`] to [`MAX_LOCK_TTL`].
    pub ttl: u64,
    /// Whether it is renewed at a third of its ttl, on the process' one thread, while the handle lives.
    pub renew: bool,
    /// For how long it is renewed at most, in microseconds: a stuck holder does not block the others for ever.
    pub max_hold: u64,
    /// Whether those who wait are served in the order in which they came.
    pub fair: bool,
    /// Every fencing token is larger than this: 0 to 2^52.
    pub floor: u64,
    /// What [`Inspection`](crate::Inspection) shows of the holder beside its host and process: up to [`MAX_LABEL_BYTES`] bytes.
    pub label: String,
    /// How many replicas must have a grant before it counts; 0 asks none.
    pub replicas_ack: u32,
    /// How long an acquire waits for them, in microseconds: 1 ms to [`MAX_ACK_TIMEOUT`].
    pub ack_timeout: u64,
}

impl Default for LockOptions {
    fn default() -> Self {
        LockOptions {
            ttl: DEFAULT_LOCK_TTL,
            renew: true,
            max_hold: DEFAULT_MAX_HOLD,
            fair: false,
            floor: 0,
            label: String::new(),
            replicas_ack: 0,
            ack_timeout: 100_000,
        }
    }
}

/// What kind of lock it is; part of its Redis key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Mutex,
    Semaphore,
    Read,
    Write,
}

impl Kind {
    /// The word in the Redis key.
    fn in_key(self) -> &'static str {
        match self {
            Kind::Mutex => "lock",
            Kind::Semaphore => "sem",
            Kind::Read | Kind::Write => "rw",
        }
    }

    /// The word in messages.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "lock",
            Kind::Semaphore => "semaphore",
            Kind::Read => "read lock",
            Kind::Write => "write lock",
        }
    }
}

/// What all acquisitions of a lock have in common.
pub(crate) struct Spec {
    pub shared: Arc<Shared>,
    pub kind: Kind,
    pub names: Vec<Vec<u8>>,
    pub keys: Arc<[Vec<u8>]>,
    /// The lock as messages call it: `lock "sku:42"`.
    pub shown: Arc<str>,
    pub wake_prefix: Arc<[u8]>,
    pub permits: u64,
    pub weight: u64,
    pub options: LockOptions,
    /// The same on the other servers, for a lock over several.
    pub others: Vec<Arc<Spec>>,
}

impl Spec {
    pub fn new(
        client: &Client,
        kind: Kind,
        names: &[&[u8]],
        (permits, weight): (u64, u64),
        options: LockOptions,
    ) -> Result<Spec> {
        check_names(names)?;
        check_permits(permits, weight, kind)?;
        check_options(&options)?;
        let shared = client.shared.clone();
        if options.replicas_ack > 0 && shared.endpoint == Endpoint::Memory {
            return Err(Error::invalid("replicas_ack needs replicas, and memory:// has none: leave it out"));
        }
        let stem = key::lock_stem(&shared.prefix, kind.in_key());
        let keys: Vec<Vec<u8>> = names.iter().map(|name| key::complete(&stem, name)).collect();
        let listed: Vec<String> = names.iter().map(|name| format!("\"{}\"", shown(name))).collect();
        let shown = format!("{} {}", kind.name(), listed.join(" and "));
        let wake_prefix = key::wake_prefix(&shared.prefix);
        Ok(Spec {
            shared,
            kind,
            names: names.iter().map(|name| name.to_vec()).collect(),
            keys: keys.into(),
            shown: shown.into(),
            wake_prefix,
            permits,
            weight,
            options,
            others: Vec::new(),
        })
    }

    /// Whether a holder keeps everybody else out.
    pub fn is_exclusive(&self) -> bool {
        self.permits == self.weight
    }

    /// Whether those who wait do so in order. A writer always does, so that readers who come later do not starve it.
    pub fn in_order(&self) -> bool {
        self.options.fair || self.kind == Kind::Write
    }

    /// Who asks, for those who look.
    pub fn who(&self) -> Arc<[u8]> {
        Who::here(&self.options.label).encode().into()
    }

    /// The error for a lock that was not granted; `holder` is who has it, if anybody told.
    pub fn not_acquired(&self, wait: Duration, why: &str) -> Error {
        let within = if wait.is_zero() { "at once".to_owned() } else { format!("within {} ms", wait.as_millis()) };
        Error::new(Code::NotAcquired, format!("{} was not acquired {within}: {why}", self.shown))
    }
}

/// Checks the servers of a quorum lock.
pub(super) fn check_quorum(clients: &[Client], options: &LockOptions) -> Result<()> {
    if !(3..=15).contains(&clients.len()) {
        let count = clients.len();
        return Err(Error::invalid(format!(
            "{count} clients make no quorum: give 3, 5 or 7, each of a server of its own"
        )));
    }
    for (at, client) in clients.iter().enumerate() {
        if clients[..at].iter().any(|other| Arc::ptr_eq(&client.shared, &other.shared)) {
            return Err(Error::invalid(format!("the client of {} is there twice: each has one vote", client.server())));
        }
    }
    if options.fair || options.replicas_ack > 0 {
        return Err(Error::invalid("a quorum lock has neither fair nor replicas_ack: its servers know of no order"));
    }
    Ok(())
}

fn check_names(names: &[&[u8]]) -> Result<()> {
    if names.is_empty() || names.len() > MAX_LOCK_NAMES {
        return Err(Error::invalid(format!("{} names of locks are not between 1 and {MAX_LOCK_NAMES}", names.len())));
    }
    for (at, name) in names.iter().enumerate() {
        key::check_lock_name(name)?;
        if names[..at].contains(name) {
            return Err(Error::invalid(format!("lock \"{}\" is named twice: name each once", shown(name))));
        }
    }
    Ok(())
}

fn check_permits(permits: u64, weight: u64, kind: Kind) -> Result<()> {
    if kind != Kind::Semaphore {
        return Ok(());
    }
    if permits == 0 || permits > MAX_PERMITS {
        return Err(Error::invalid(format!("{permits} permits are not between 1 and {MAX_PERMITS}: change them")));
    }
    if weight == 0 || weight > permits {
        return Err(Error::invalid(format!(
            "weight {weight} is not between 1 and the {permits} permits there are: it could never be granted"
        )));
    }
    Ok(())
}

/// Checks a ttl: [`MIN_LOCK_TTL`] to [`MAX_LOCK_TTL`].
pub(super) fn check_ttl(ttl: u64) -> Result<()> {
    if (MIN_LOCK_TTL..=MAX_LOCK_TTL).contains(&ttl) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "ttl of {} is not between 10 ms and 7 days: every lock ends, renew it if it must last",
        span(ttl)
    )))
}

/// Checks a floor of fencing tokens: 0 to 2^52.
pub(super) fn check_floor(floor: u64) -> Result<()> {
    if floor <= MAX_FLOOR {
        return Ok(());
    }
    Err(Error::invalid(format!("floor {floor} is above 2^52: give a fencing token that was seen")))
}

fn check_options(options: &LockOptions) -> Result<()> {
    check_ttl(options.ttl)?;
    check_floor(options.floor)?;
    if options.max_hold == 0 {
        return Err(Error::invalid("max_hold of 0 would renew nothing: switch renewal off, or give it some time"));
    }
    if options.label.len() > MAX_LABEL_BYTES {
        return Err(Error::invalid(format!(
            "label \"{}\" has {} bytes, more than {MAX_LABEL_BYTES}: shorten it",
            shown(options.label.as_bytes()),
            options.label.len()
        )));
    }
    if options.label.contains('\n') {
        return Err(Error::invalid("label has a line break: leave it out"));
    }
    if options.replicas_ack > 0 && !(1_000..=MAX_ACK_TIMEOUT).contains(&options.ack_timeout) {
        return Err(Error::invalid(format!(
            "ack_timeout of {} is not between 1 ms and a minute: change it",
            span(options.ack_timeout)
        )));
    }
    Ok(())
}

/// A duration in microseconds for a message.
pub(crate) fn span(micros: u64) -> String {
    // Nothing has no unit, and callers give theirs in seconds or milliseconds.
    if micros == 0 { "0".to_owned() } else { format!("{:?}", Duration::from_micros(micros)) }
}
