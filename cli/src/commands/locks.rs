//! `locks`: all locks with who holds them and who waits, and taking one away.

use std::ffi::OsString;

use clap::{Args, Subcommand, ValueEnum};
use quotalock::stored::{KeyKind, KeyName, StoredLock, newer_format};
use quotalock::{Client, Lock, LockOptions, MAX_PERMITS};
use serde_json::{Value, json};

use super::inspect_words::{holder_json, who};
use crate::exit::{Exit, Failure};
use crate::output::{answer, table, tell};
use crate::printable::shown;
use crate::raw::{self, ScannedKey};
use crate::server;
use crate::shared::SharedArguments;
use crate::words::{bytes, count, millis, span, text};

const EXAMPLES: &str = "Examples:
  quotalock locks                   all locks that are held
  quotalock locks 'sku:*' --json    those whose names begin with sku:
  quotalock locks release sku:42    show who holds a lock; with --yes release it";

/// What `locks` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct LocksArguments {
    /// Names to list; * and ? are wildcards
    pattern: Option<OsString>,
    /// Also list locks without a holder, which are remembered for a day
    #[arg(long)]
    all: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// Force-release a lock: take it away from its holders
    Release(Releasing),
}

const RELEASE_EXAMPLES: &str = "Examples:
  quotalock locks release sku:42                         show the holders, and change nothing
  quotalock locks release sku:42 --yes                   take the lock away from its holders
  quotalock locks release jobs --kind semaphore --yes    if locks of several kinds are named jobs";

/// What `locks release` is asked.
#[derive(Args)]
#[command(after_help = RELEASE_EXAMPLES)]
struct Releasing {
    /// Name of the lock
    name: OsString,
    /// Kind of the lock, if several have that name
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Release it; without this only its holders are shown
    #[arg(long)]
    yes: bool,
}

/// The kinds of locks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A mutex, for one holder at a time.
    Lock,
    /// A semaphore, with several permits.
    Semaphore,
    /// A read-write lock.
    Rw,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Lock, Kind::Semaphore, Kind::Rw];

    /// The kind of a key; none if it is no lock.
    pub fn of(kind: KeyKind) -> Option<Kind> {
        match kind {
            KeyKind::Lock => Some(Kind::Lock),
            KeyKind::Semaphore => Some(Kind::Semaphore),
            KeyKind::ReadWrite => Some(Kind::Rw),
            _ => None,
        }
    }

    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Lock => "lock",
            Kind::Semaphore => "semaphore",
            Kind::Rw => "rw",
        }
    }

    /// A handle for it. Of a semaphore nobody tells how many permits it has: those who wait are all woken, and ask.
    ///
    /// # Errors
    /// For a name that no lock has.
    pub fn handle(self, client: &Client, name: &[u8]) -> Result<Lock, Failure> {
        Ok(match self {
            Kind::Lock => client.lock(name, LockOptions::default())?,
            Kind::Semaphore => client.semaphore(name, MAX_PERMITS, 1, LockOptions::default())?,
            Kind::Rw => client.write_lock(name, LockOptions::default())?,
        })
    }
}

/// A lock that was found.
struct Listed {
    name: Vec<u8>,
    kind: Kind,
    /// None if the value is not ours.
    stored: Option<StoredLock>,
    /// Why it cannot be read, if it cannot.
    unread: &'static str,
    has_ttl: bool,
    now: u64,
}

/// Runs the command.
pub fn run(arguments: &LocksArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Some(Action::Release(releasing)) => release(releasing, shared),
        None => list(arguments, shared),
    }
}

fn list(arguments: &LocksArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let client = raw::client(shared)?;
    let mut servers = server::find(&shared.url, shared.server_timeout)?;
    // The key of a lock of that name: names are encoded in keys. The kinds are told apart below.
    let pattern = arguments.pattern.as_deref().map_or(b"*".as_slice(), bytes);
    let key = client.lock(pattern, LockOptions::default())?.redis_keys().concat();
    let names = &key[client.prefix().len() + ":lock:".len()..];
    let pattern = [&raw::literal(client.prefix().as_bytes()), b":[lsr]*:".as_slice(), names].concat();
    let mut locks = Vec::new();
    raw::scan(&mut servers, &pattern, |found| locks.extend(listed(client.prefix(), found)))?;
    let unknown = servers.unknown();
    let is_wrong = |lock: &Listed| lock.stored.is_none() || !lock.has_ttl;
    let is_held = |lock: &Listed| lock.stored.as_ref().is_some_and(|stored| !stored.holders.is_empty());
    let free = locks.iter().filter(|lock| !is_held(lock) && !is_wrong(lock)).count() as u64;
    locks.retain(|lock| arguments.all || is_held(lock) || is_wrong(lock));
    locks.sort_by(|a, b| a.name.cmp(&b.name));
    let mut rows =
        vec![["NAME", "KIND", "STATE", "HELD FOR", "LEFT", "WAITING", "TOKEN", "HOLDER"].map(String::from).to_vec()];
    locks.iter().for_each(|lock| rows.extend(lock.rows()));
    let hidden = if arguments.all { 0 } else { free };
    let mut said = raw::told_unknown(&unknown, shared);
    said += &match (locks.is_empty(), unknown.is_partial()) {
        (true, true) => "no lock is held on the servers that answered\n".to_owned(),
        (true, false) => "no lock is held\n".to_owned(),
        (false, _) => table(&rows),
    };
    if hidden > 0 {
        said += &format!("{} free (--all lists them)\n", count(hidden, "lock"));
    }
    let json: Vec<Value> = locks.iter().map(Listed::json).collect();
    answer(shared, &said, &raw::with_unknown(json!({ "locks": json, "free": free }), &unknown))?;
    Ok(if !unknown.is_fine() || locks.iter().any(is_wrong) { Exit::Findings } else { Exit::Fine })
}

fn listed(prefix: &str, found: ScannedKey) -> Option<Listed> {
    let name = KeyName::parse(prefix, &found.key).filter(|name| name.beside.is_empty())?;
    let ScannedKey { value, is_other_type, ttl, now, .. } = found;
    let unread = match &value {
        _ if is_other_type => "wrong_type",
        Some(value) if newer_format(value).is_some() => "newer_version",
        _ => "damaged",
    };
    let stored = value.and_then(|value| StoredLock::read(&value, now));
    Some(Listed { kind: Kind::of(name.kind)?, name: name.name, stored, unread, has_ttl: ttl.is_some(), now })
}

impl Listed {
    fn rows(&self) -> Vec<Vec<String>> {
        let (name, kind) = (shown(&self.name), self.kind.word().to_owned());
        let Some(stored) = &self.stored else { return vec![vec![name, kind, self.unread.into()]] };
        let waiting = if stored.waiters.is_empty() { "-".into() } else { stored.waiters.len().to_string() };
        let word = |word: &str| if self.has_ttl { word.to_owned() } else { format!("{word}, no TTL") };
        if stored.holders.is_empty() {
            let last = stored.token.to_string();
            return vec![vec![name, kind, word("free"), "-".into(), "-".into(), waiting, last, "-".into()]];
        }
        let row = |holder: &quotalock::Holder| {
            let age = span(self.now.saturating_sub(holder.since));
            let (name, kind, waiting) = (name.clone(), kind.clone(), waiting.clone());
            vec![name, kind, word("held"), age, span(holder.left), waiting, holder.token.to_string(), who(holder)]
        };
        stored.holders.iter().map(row).collect()
    }

    fn json(&self) -> Value {
        let stored = self.stored.as_ref();
        let holders =
            stored.map(|stored| stored.holders.iter().map(|holder| holder_json(holder, self.now)).collect::<Vec<_>>());
        let waited = stored.map(|stored| stored.waiters.iter().map(|waiter| millis(waiter.waited)).collect::<Vec<_>>());
        let state = match &holders {
            None => self.unread,
            Some(holders) if holders.is_empty() => "free",
            Some(_) => "held",
        };
        json!({
            "name": text(&self.name), "kind": self.kind.word(), "state": state, "has_ttl": self.has_ttl, "holders": holders,
            "waited_ms": waited, "last_token": stored.map(|stored| stored.token),
        })
    }
}

fn release(releasing: &Releasing, shared: &SharedArguments) -> Result<Exit, Failure> {
    let (client, name) = (raw::client(shared)?, bytes(&releasing.name));
    let mut held = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| releasing.kind.is_none_or(|wanted| wanted == *kind)) {
        let lock = kind.handle(&client, name)?;
        let inspection = lock.inspect().run()?;
        if !inspection.holders.is_empty() {
            held.push((kind, lock, inspection));
        }
    }
    let (kind, lock, inspection) = match (held.pop(), held.is_empty()) {
        (None, _) => {
            answer(shared, &format!("nobody holds {}\n", shown(name)), &json!({ "name": text(name), "released": 0 }))?;
            return Ok(Exit::Fine);
        }
        (Some(one), true) => one,
        (Some(_), false) => {
            return Err(raw::usage("several kinds of locks have this name and are held: say which with --kind"));
        }
    };
    let kind = kind.word();
    for holder in &inspection.holders {
        tell(&format!(
            "{kind} {} is held by {}, {} left, token {}",
            shown(name),
            who(holder),
            span(holder.left),
            holder.token
        ));
    }
    if !releasing.yes {
        return Err(raw::usage(
            "nothing was done: with --yes the lock is released, and its holder learns of the loss at its next renewal",
        ));
    }
    let released = lock.force_release().run()?;
    let said = format!("released: {kind} {}, which {} had\n", shown(name), count(released, "holder"));
    answer(shared, &said, &json!({ "name": text(name), "kind": kind, "released": released }))?;
    Ok(Exit::Fine)
}
