//! Redis keys as the server has them: one by its name, or all of a pattern.

use std::collections::HashSet;
use std::time::Duration;

use quotalock::places::Place;
use quotalock::{Client, Options};
use redis::{Cmd, FromRedisValue, Value, cmd};

use crate::exit::{Exit, Failure};
use crate::server::{Node, Refusal, RefusalKind, Servers, Unknown};
use crate::shared::SharedArguments;

/// How much of a value is read at most: states of ours are smaller, but for the payload of a cache's entry.
const MOST: usize = 32 << 20;
/// How many keys one round of a scan looks at.
const ROUND: usize = 1_000;

/// What stands at a key.
pub struct Raw {
    /// What Redis calls its type.
    pub kind: String,
    /// How long it lasts yet, in milliseconds; none if it has no TTL.
    pub ttl: Option<u64>,
    /// The value of a string, up to a length.
    pub value: Vec<u8>,
    /// The length of the whole value.
    pub length: usize,
    /// How many bytes it takes in memory, if the server tells.
    pub memory: Option<u64>,
    /// The server's clock, in microseconds.
    pub now: u64,
}

/// A client of the core, which asks each time.
///
/// # Errors
/// For a wrong URL or prefix, and for `memory://`, which no other process sees.
pub fn client(shared: &SharedArguments) -> Result<Client, Failure> {
    let options = Options {
        url: Some(shared.url.clone()),
        prefix: shared.prefix.clone(),
        timeout: shared.server_timeout,
        deny_cache_max: Duration::ZERO,
        ..Options::default()
    };
    let client = Client::new(options)?;
    if client.is_in_memory() {
        return Err(usage("memory:// is within a process, and no other one sees it: give the URL of a server"));
    }
    Ok(client)
}

/// Something that cannot be asked so.
pub fn usage(message: impl Into<String>) -> Failure {
    Failure { exit: Exit::Usage, code: "invalid_argument", message: message.into() }
}

/// Looks at a key, of whose value at most `most` bytes are read; none if there is no such key.
///
/// # Errors
/// If its server does not answer.
pub fn look(servers: &mut Servers, key: &[u8], most: Option<usize>) -> Result<Option<Raw>, Failure> {
    let owner = owner_of(servers, key)?;
    read(owner, key, most.unwrap_or(MOST)).map_err(Failure::from)
}

/// The server's clock, in microseconds, where a key is.
///
/// # Errors
/// If it does not answer.
pub fn now_at(servers: &mut Servers, key: &[u8]) -> Result<u64, Failure> {
    Ok(now(owner_of(servers, key)?)?)
}

fn owner_of<'a>(servers: &'a mut Servers, key: &[u8]) -> Result<&'a mut Node, Failure> {
    // Where the slot is on its way both sides refuse, or send each other there: the core finds out.
    let mut refused = None;
    let mut found = try_owner(servers, key, &mut refused);
    if found.is_none() && refused.is_none() && servers.missing.is_empty() {
        servers.connect_others();
        found = try_owner(servers, key, &mut refused);
    }
    let refused = refused.or_else(|| servers.missing.first().map(|missing| missing.refusal.clone()));
    let failure = refused.map_or_else(|| nowhere(servers.only.as_ref()), Failure::from);
    found.and_then(|at| servers.primaries().nth(at)).ok_or(failure)
}

/// Which primary answers for a key; none if each says that another does, or refuses.
fn try_owner(servers: &mut Servers, key: &[u8], refused: &mut Option<Refusal>) -> Option<usize> {
    for (at, node) in servers.primaries().enumerate() {
        match node.ask::<Value>(cmd("EXISTS").arg(key)) {
            Ok(_) => return Some(at),
            Err(refusal) if refusal.why == RefusalKind::Moved => {}
            Err(refusal) => *refused = Some(refusal),
        }
    }
    None
}

fn nowhere(only: Option<&Place>) -> Failure {
    if let Some(place) = only {
        return place.in_cluster().into();
    }
    let message = "no server has the key's slot now: try again when the cluster has settled".into();
    Failure { exit: Exit::NoServer, code: "unavailable", message }
}

/// The server's clock, in microseconds.
///
/// # Errors
/// If it does not answer.
pub fn now(node: &mut Node) -> Result<u64, Refusal> {
    node.ask(&cmd("TIME")).map(micros)
}

/// What `TIME` answers, in microseconds.
fn micros((seconds, micros): (u64, u64)) -> u64 {
    seconds * 1_000_000 + micros
}

/// An answer as what was asked for.
fn understood<T: FromRedisValue>(node: &Node, value: Value) -> Result<T, Refusal> {
    redis::from_redis_value(value).map_err(|error| Refusal {
        why: RefusalKind::Away,
        message: format!("{} answers otherwise than Redis does: {error}", node.place),
    })
}

fn read(node: &mut Node, key: &[u8], most: usize) -> Result<Option<Raw>, Refusal> {
    let kind: String = node.ask(cmd("TYPE").arg(key))?;
    if kind == "none" {
        return Ok(None);
    }
    let ttl: i64 = node.ask(cmd("PTTL").arg(key))?;
    if ttl == -2 {
        return Ok(None);
    }
    let is_text = kind == "string";
    let (value, length) = match is_text {
        true => {
            let value: Vec<u8> = node.ask(cmd("GETRANGE").arg(key).arg(0).arg(most as u64 - 1))?;
            let length: usize = if value.len() < most { value.len() } else { node.ask(cmd("STRLEN").arg(key))? };
            (value, length)
        }
        false => (Vec::new(), 0),
    };
    // It may have gone between two questions.
    if is_text && value.is_empty() && node.ask::<u64>(cmd("EXISTS").arg(key))? == 0 {
        return Ok(None);
    }
    // Some servers do not have it, and some users may not ask.
    let memory = node.ask::<Option<u64>>(cmd("MEMORY").arg("USAGE").arg(key)).ok().flatten();
    Ok(Some(Raw { kind, ttl: u64::try_from(ttl).ok(), value, length, memory, now: now(node)? }))
}

/// What a round of a scan found at a key.
pub struct ScannedKey {
    /// The key.
    pub key: Vec<u8>,
    /// Its value; none of what is no string, or may not be read.
    pub value: Option<Vec<u8>>,
    /// Whether it is of another Redis type than a string.
    pub is_other_type: bool,
    /// How long it lasts yet, in milliseconds; none if it has no TTL.
    pub ttl: Option<u64>,
    /// The server's clock, in microseconds.
    pub now: u64,
}

/// Goes through all keys that match a pattern of Redis, each once, with their values: one trip for each page of about [`ROUND`] keys.
/// What vanishes meanwhile is left out.
///
/// # Errors
/// If a server does not answer.
pub fn scan(servers: &mut Servers, pattern: &[u8], mut each: impl FnMut(ScannedKey)) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for node in servers.shards.iter_mut().filter_map(|shard| shard.primary.as_mut().or(shard.replicas.first_mut())) {
        let page = |cursor: u64| {
            let mut page = cmd("SCAN");
            page.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(ROUND);
            page
        };
        let mut found: (u64, Vec<Vec<u8>>) = node.ask(&page(0))?;
        loop {
            let (cursor, mut keys) = found;
            keys.retain(|key| seen.insert(key.clone()));
            let next = (cursor != 0).then(|| page(cursor));
            let Some(value) = values_and(node, keys, next, &mut each)? else { break };
            found = understood(node, value)?;
        }
    }
    Ok(())
}

/// The values of keys in one trip. What vanishes meanwhile is left out.
///
/// # Errors
/// If the server does not answer.
pub fn values(node: &mut Node, keys: Vec<Vec<u8>>, each: &mut impl FnMut(ScannedKey)) -> Result<(), Refusal> {
    values_and(node, keys, None, each).map(drop)
}

/// The values of keys, and the answer to one more question, in one trip.
fn values_and(
    node: &mut Node,
    keys: Vec<Vec<u8>>,
    more: Option<Cmd>,
    each: &mut impl FnMut(ScannedKey),
) -> Result<Option<Value>, Refusal> {
    let asks_more = more.is_some();
    let mut questions = Vec::with_capacity(2 * keys.len() + 2);
    for key in &keys {
        questions.extend(["GET", "PTTL"].map(|name| cmd(name).arg(key).to_owned()));
    }
    if !keys.is_empty() {
        questions.push(cmd("TIME"));
    }
    questions.extend(more);
    let mut answers = node.ask_all(&questions)?;
    let more = if asks_more { answers.pop().transpose()? } else { None };
    let now =
        if keys.is_empty() { 0 } else { micros(understood(node, answers.pop().transpose()?.unwrap_or(Value::Nil))?) };
    let mut answers = answers.into_iter();
    for key in keys {
        let (Some(value), Some(ttl)) = (answers.next(), answers.next()) else { break };
        let ttl = match ttl {
            Ok(Value::Int(ttl)) => ttl,
            _ => -2,
        };
        let (value, is_other_type) = match value {
            Ok(Value::BulkString(value)) => (Some(value), false),
            Err(refusal) if ttl != -2 => (None, refusal.message.contains("WRONGTYPE")),
            _ => continue,
        };
        each(ScannedKey { key, value, is_other_type, ttl: u64::try_from(ttl).ok(), now });
    }
    Ok(more)
}

/// A text as a pattern of Redis that matches nothing else.
pub fn literal(text: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::with_capacity(text.len());
    for byte in text {
        if matches!(byte, b'*' | b'?' | b'[' | b']' | b'\\' | b'^' | b'-') {
            pattern.push(b'\\');
        }
        pattern.push(*byte);
    }
    pattern
}

/// Text about what cannot be known, a line each, to stand before an answer. For JSON, which has it as `unknown`, it is told on
/// standard error too.
pub fn told_unknown(unknown: &Unknown, shared: &SharedArguments) -> String {
    if shared.json {
        unknown.sentences().for_each(|sentence| crate::output::tell(sentence));
    }
    unknown.sentences().map(|sentence| format!("! {sentence}\n")).collect()
}

/// Adds to an answer for scripts what cannot be known.
pub fn with_unknown(mut json: serde_json::Value, unknown: &Unknown) -> serde_json::Value {
    json["is_partial"] = unknown.is_partial().into();
    json["unknown"] = unknown.sentences().cloned().collect::<Vec<_>>().into();
    json
}
