//! What is the same for all acquisitions of a lock.

use std::sync::Arc;
use std::time::Duration;

use super::options::{LockOptions, MAX_LOCK_NAMES, MAX_PERMITS};
use crate::client::Client;
use crate::key;
use crate::lock::lease_table::{
    Acquire, AttemptId, Channel, ExtendLease, ForceRelease, Grant, QueueMode, Release, Who,
};
use wire::base::clock::boot_micros;
use wire::base::error::{Code, Error, Result, shown, span, within};
use wire::session::Session;
use wire::session::exchange::Exchange;

/// How much longer than a call a tombstone stands: the estimate of the server's clock may be off.
const LATER: Duration = Duration::from_secs(1);

/// What kind of lock it is; part of its Redis key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    Mutex,
    Semaphore,
    Read,
    Write,
}

impl LockKind {
    /// The word in the Redis key.
    fn in_key(self) -> &'static str {
        match self {
            LockKind::Mutex => "lock",
            LockKind::Semaphore => "sem",
            LockKind::Read | LockKind::Write => "rw",
        }
    }

    /// The word in messages.
    pub fn name(self) -> &'static str {
        match self {
            LockKind::Mutex => "lock",
            LockKind::Semaphore => "semaphore",
            LockKind::Read => "read lock",
            LockKind::Write => "write lock",
        }
    }
}

/// What all acquisitions of a lock have in common.
pub(crate) struct LockSpec {
    pub session: Arc<Session>,
    pub kind: LockKind,
    pub names: Vec<Vec<u8>>,
    pub keys: Arc<[Vec<u8>]>,
    /// The lock as messages call it: `lock "sku:42"`.
    pub shown: Arc<str>,
    pub wake_prefix: Arc<[u8]>,
    /// That of its client.
    pub prefix: Arc<str>,
    pub permits: u64,
    pub weight: u64,
    pub options: LockOptions,
    /// The same on the other servers, for a lock over several.
    pub others: Vec<Arc<LockSpec>>,
}

impl LockSpec {
    pub fn new(
        client: &Client,
        kind: LockKind,
        names: &[&[u8]],
        (permits, weight): (u64, u64),
        options: LockOptions,
    ) -> Result<LockSpec> {
        check_names(names)?;
        check_permits(permits, weight, kind)?;
        options.check()?;
        let session = client.session.clone();
        if options.replicas_ack > 0 && session.endpoint.is_memory() {
            return Err(Error::invalid("replicas_ack needs replicas, and memory:// has none: leave it out"));
        }
        let stem = key::lock_stem(&client.prefix, kind.in_key());
        let keys: Vec<Vec<u8>> = names.iter().map(|name| key::complete(&stem, name)).collect();
        let listed: Vec<String> = names.iter().map(|name| format!("\"{}\"", shown(name))).collect();
        let shown = format!("{} {}", kind.name(), listed.join(" and "));
        let wake_prefix = key::wake_prefix(&client.prefix);
        Ok(LockSpec {
            session,
            kind,
            names: names.iter().map(|name| name.to_vec()).collect(),
            keys: keys.into(),
            shown: shown.into(),
            wake_prefix,
            prefix: client.prefix.clone(),
            permits,
            weight,
            options,
            others: Vec::new(),
        })
    }

    /// Of a mutex over several servers.
    pub fn quorum(clients: &[Client], name: &[u8], options: &LockOptions) -> Result<LockSpec> {
        check_quorum(clients, options)?;
        let spec = |client: &Client| LockSpec::new(client, LockKind::Mutex, &[name], (1, 1), options.clone());
        let mut nodes = clients.iter().map(spec).collect::<Result<Vec<_>>>()?;
        let mut first = nodes.remove(0);
        first.others = nodes.into_iter().map(Arc::new).collect();
        Ok(first)
    }

    /// Whether a holder keeps all others out.
    pub fn is_exclusive(&self) -> bool {
        self.permits == self.weight
    }

    /// Whether those who wait do so in order from the start. Readers and writers always do, so that neither starve the
    /// others.
    pub fn in_order(&self) -> bool {
        self.options.fair || matches!(self.kind, LockKind::Read | LockKind::Write)
    }

    /// Whether a release goes to those of this process who wait, if they came first: what they wait for is one lock, in order.
    pub fn hands_on_in_order(&self) -> bool {
        self.in_order() && self.is_exclusive() && !self.is_quorum()
    }

    /// Who asks, for those who look.
    pub fn who(&self) -> Arc<[u8]> {
        Who::here(&self.options.label).encode().into()
    }

    /// The error for a lock that was not granted; `holder` is who has it, if anybody told.
    pub fn not_acquired(&self, wait: Duration, why: &str) -> Error {
        let what = format!("{} was not acquired {}", self.shown, within(wait));
        Error::new(Code::NotAcquired, format!("{what}: {why}"))
    }

    /// The time of deadlines: the test's, or microseconds of the boot clock, which goes on while the machine sleeps.
    pub fn now(&self) -> u64 {
        self.session.test_time.get().unwrap_or_else(boot_micros)
    }

    /// The sessions of the clients that it is held through.
    pub fn clients(&self) -> impl Iterator<Item = &Arc<Session>> {
        std::iter::once(&self.session).chain(self.others.iter().map(|other| &other.session))
    }

    /// Whether it is over several servers.
    pub fn is_quorum(&self) -> bool {
        !self.others.is_empty()
    }

    /// An acquire on its way.
    pub fn exchange(&self, question: Acquire) -> Exchange {
        let patience = Duration::from_micros(self.options.ack_timeout);
        // The options were checked: it is no more than this.
        let replicas = self.options.replicas_ack.try_into().unwrap_or(u32::MAX);
        Exchange::new(self.session.clone(), Box::new(question), None)
            .acked_by(replicas, patience, |answer| answer.get().is_some_and(Grant::is_granted))
    }

    /// The question of one who does not wait, under an attempt's id.
    pub fn question(&self, id: AttemptId, who: Arc<[u8]>) -> Acquire {
        Acquire {
            keys: self.keys.clone(),
            id,
            ttl: self.options.ttl,
            floor: self.options.token_above,
            permits: self.permits,
            weight: self.weight,
            queue: QueueMode::No,
            channel: Channel::default(),
            wake_prefix: self.wake_prefix.clone(),
            who,
            instead_of: None,
            waited: 0,
            token: 0,
            shown: self.shown.clone(),
        }
    }

    /// For how long questions are refused that arrive after their attempt has ended, in microseconds.
    pub fn tombstone(&self) -> u64 {
        (self.session.timeout + LATER).as_micros() as u64
    }

    /// Frees what an attempt has; for `cancel` microseconds late questions of it are refused.
    pub fn release(&self, id: AttemptId, cancel: u64) -> Release {
        Release {
            keys: self.keys.clone(),
            id,
            cancel,
            permits: self.permits,
            wake_prefix: self.wake_prefix.clone(),
            shown: self.shown.clone(),
        }
    }

    /// Frees what anybody has.
    pub fn force_release(&self) -> ForceRelease {
        ForceRelease {
            keys: self.keys.clone(),
            permits: self.permits,
            wake_prefix: self.wake_prefix.clone(),
            shown: self.shown.clone(),
        }
    }

    /// Lengthens what an attempt has.
    pub fn extend(&self, id: AttemptId, ttl: u64) -> ExtendLease {
        ExtendLease { keys: self.keys.clone(), id, ttl, shown: self.shown.clone() }
    }
}

/// Checks the servers of a quorum lock.
fn check_quorum(clients: &[Client], options: &LockOptions) -> Result<()> {
    if !(3..=15).contains(&clients.len()) {
        let count = clients.len();
        return Err(Error::invalid(format!(
            "{count} clients make no quorum: give 3, 5 or 7, each of a server of its own"
        )));
    }
    for (at, client) in clients.iter().enumerate() {
        let endpoint = &client.session.endpoint;
        let is_its = |other: &Client| {
            Arc::ptr_eq(&client.session, &other.session) || endpoint.is_server_of(&other.session.endpoint)
        };
        if clients[..at].iter().any(is_its) {
            return Err(Error::invalid(format!("{endpoint} is given twice: give each server once")));
        }
    }
    if options.fair || options.replicas_ack > 0 {
        return Err(Error::invalid("a quorum lock has neither fair nor replicas_ack: leave them out"));
    }
    Ok(())
}

fn check_names(names: &[&[u8]]) -> Result<()> {
    if names.is_empty() || names.len() > MAX_LOCK_NAMES {
        return Err(Error::invalid(format!(
            "{} lock names are not between 1 and {MAX_LOCK_NAMES}: change the list",
            names.len()
        )));
    }
    for (at, name) in names.iter().enumerate() {
        key::check_lock_name(name)?;
        if names[..at].contains(name) {
            return Err(Error::invalid(format!("lock \"{}\" is named twice: name each once", shown(name))));
        }
    }
    Ok(())
}

fn check_permits(permits: u64, weight: u64, kind: LockKind) -> Result<()> {
    if kind != LockKind::Semaphore {
        return Ok(());
    }
    if permits == 0 || permits > MAX_PERMITS {
        return Err(Error::invalid(format!("{permits} permits are not between 1 and {MAX_PERMITS}: change them")));
    }
    if weight == 0 || weight > permits {
        return Err(Error::invalid(format!("weight {weight} is not between 1 and the {permits} permits: change it")));
    }
    Ok(())
}

/// Who holds a lock, for a message.
pub(super) fn describe_holder(who: &[u8], left: u64) -> String {
    let Who { host, pid, label } = Who::decode(who);
    if pid == 0 {
        return "others wait for it".to_owned();
    }
    let label = if label.is_empty() { String::new() } else { format!(", \"{}\"", shown(label.as_bytes())) };
    // To the millisecond, or nobody reads it.
    let (host, left) = (shown(host.as_bytes()), span(left.next_multiple_of(1_000)));
    format!("process {pid} on {host}{label} holds it for {left} more, unless it renews or releases it")
}
