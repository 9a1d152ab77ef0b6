//! `inspect`: what a key is, and its state in words.

use std::ffi::OsString;

use clap::Args;
use quotalock::stored::{ENTRY_HEADER, KeyKind, KeyName};
use quotalock::{CacheOptions, Client, LimiterOptions, LockOptions, OnceOptions, Policy, StockOptions};
use serde_json::{Value, json};

use super::inspect_words::{KeyDescription, entry, limiter, lock, title};
use super::stock;
use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::printable::shown;
use crate::raw::{self, Raw};
use crate::server::{self, Servers};
use crate::shared::SharedArguments;
use crate::words::{bytes, span, text};

/// How much of an entry is read: what stands before its value, and an error.
pub const ENTRY: usize = ENTRY_HEADER + 1_024;

const EXAMPLES: &str = "Examples:
  quotalock inspect checkout user:42                 a key of the limiter checkout
  quotalock inspect sale:42                          the locks and stocks with this name
  quotalock inspect 'ql:limit:checkout:{user:42}'    a Redis key";

/// What `inspect` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct InspectArguments {
    /// A Redis key, or the name of a limiter, cache or once (followed by KEY), or the name of a lock or stock
    name: OsString,
    /// The key of the limiter or cache, or the id of the once
    key: Option<OsString>,
    /// Scope of the limiter or stock
    #[arg(long)]
    scope: Option<OsString>,
}

/// A key that was found.
struct InspectedKey {
    redis_key: Vec<u8>,
    title: String,
    raw: Raw,
    told: KeyDescription,
}

/// Runs the command.
pub fn run(arguments: &InspectArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let client = raw::client(shared)?;
    let candidates = arguments.candidates(&client)?;
    let mut servers = server::find_owners(&shared.url, shared.server_timeout, &candidates)?;
    let mut found = Vec::new();
    for redis_key in candidates {
        found.extend(look(&client, &mut servers, redis_key)?);
    }
    // A key whose primary does not answer is an error above.
    let unknown = servers.unknown_of_replica();
    if found.is_empty() {
        let names = [Some(&arguments.name), arguments.key.as_ref()].into_iter().flatten();
        let names: Vec<String> = names.map(|name| shown(bytes(name))).collect();
        let said = raw::told_unknown(&unknown, shared)
            + &format!("nothing is stored for {}: everything is as new\n", names.join(" "));
        answer(shared, &said, &raw::with_unknown(json!({ "found": [] }), &unknown))?;
        return Ok(if unknown.is_fine() { Exit::Fine } else { Exit::Findings });
    }
    let said: Vec<String> = found.iter().map(InspectedKey::text).collect();
    let json = json!({ "found": found.iter().map(InspectedKey::json).collect::<Vec<_>>() });
    answer(shared, &(raw::told_unknown(&unknown, shared) + &said.join("\n")), &raw::with_unknown(json, &unknown))?;
    let is_fine = unknown.is_fine() && found.iter().all(|found| found.told.findings.is_empty());
    Ok(if is_fine { Exit::Fine } else { Exit::Findings })
}

impl InspectArguments {
    /// The Redis keys that may be meant.
    fn candidates(&self, client: &Client) -> Result<Vec<Vec<u8>>, Failure> {
        let name = bytes(&self.name);
        let scope = self.scope.as_deref().map(|scope| bytes(scope).to_vec());
        let Some(key) = self.key.as_deref().map(bytes) else {
            if KeyName::parse(client.prefix(), name).is_some() {
                return Ok(vec![name.to_vec()]);
            }
            let options = StockOptions { scope, ..StockOptions::default() };
            let locks = [
                client.lock(name, LockOptions::default())?,
                client.semaphore(name, 1, 1, LockOptions::default())?,
                client.read_lock(name, LockOptions::default())?,
            ];
            let mut keys: Vec<Vec<u8>> = locks.iter().filter_map(|lock| lock.redis_keys().first().cloned()).collect();
            keys.extend(client.stock(name, options)?.redis_keys().first().cloned());
            // It may be one of somebody else.
            keys.push(name.to_vec());
            return Ok(keys);
        };
        let name = self.name.to_str().ok_or_else(|| raw::usage("names of limiters, caches and onces are UTF-8"))?;
        let options = LimiterOptions { scope, ..LimiterOptions::default() };
        let of_limiter = client.limiter_with(name, Policy::parse("1/ms")?, options)?.redis_key(key)?;
        let of_cache = client.cache(name, CacheOptions::default())?.redis_key(key)?;
        let of_once = client.once(name, OnceOptions::default())?.redis_key(key)?;
        Ok(vec![of_limiter, of_cache, of_once])
    }
}

fn look(client: &Client, servers: &mut Servers, redis_key: Vec<u8>) -> Result<Option<InspectedKey>, Failure> {
    let name = KeyName::parse(client.prefix(), &redis_key);
    // Of what is not ours the type is enough.
    let most = match &name {
        None => Some(1),
        Some(name) if matches!(name.kind, KeyKind::Cache | KeyKind::Once) => Some(ENTRY),
        Some(_) => None,
    };
    let Some(raw) = raw::look(servers, &redis_key, most)? else { return Ok(None) };
    let title = name.as_ref().map_or_else(|| format!("key {}", shown(&redis_key)), title);
    let mut told = tell(client, name.as_ref(), &raw)?;
    // What lies beside a lock or a sale lasts as long as that says; a value of somebody else is not ours to judge.
    let is_wrong = name.as_ref().is_some_and(|name| name.is_wrong_type(raw.kind.as_bytes()));
    if raw.ttl.is_none() && name.is_some() && !is_wrong {
        told.findings.push("it has no TTL, so it may stay forever: a later call gives it one".into());
    }
    Ok(Some(InspectedKey { redis_key, title, raw, told }))
}

/// What a value says, by what its key is about.
fn tell(client: &Client, name: Option<&KeyName>, raw: &Raw) -> Result<KeyDescription, Failure> {
    let Some(name) = name else {
        return Ok(KeyDescription::new(
            format!("not ours, a Redis {}", shown(raw.kind.as_bytes())),
            json!({ "state": "foreign" }),
        ));
    };
    if name.is_wrong_type(raw.kind.as_bytes()) {
        return Ok(KeyDescription::wrong_type(name, raw));
    }
    if !name.beside.is_empty() || name.kind == KeyKind::Request {
        return Ok(KeyDescription::new("remembered beside it", json!({ "state": "beside" })));
    }
    Ok(match name.kind {
        KeyKind::Limiter => limiter(raw),
        KeyKind::Lock | KeyKind::Semaphore | KeyKind::ReadWrite => lock(raw),
        KeyKind::Reports => {
            let state = "what processes decided, and whom they denied most: see quotalock top";
            KeyDescription::new(state, json!({ "state": "reports" }))
        }
        KeyKind::Stock => stock::tell(client, &name.name, name.scope.as_deref(), stock::FEW, raw.now)?,
        _ => entry(raw, name.kind),
    })
}

impl InspectedKey {
    fn text(&self) -> String {
        let InspectedKey { redis_key, title, raw, told } = self;
        let ttl = raw.ttl.map_or("no TTL".to_owned(), |ttl| format!("TTL {}", span(ttl.saturating_mul(1_000))));
        let memory = raw.memory.map_or(String::new(), |memory| format!(", {memory} bytes of memory"));
        format!("{}  Redis key {}, {ttl}{memory}\n", told.text(title), shown(redis_key))
    }

    fn json(&self) -> Value {
        let InspectedKey { redis_key, title, raw, told } = self;
        let mut json = told.json.clone();
        json["redis_key"] = text(redis_key).into();
        json["what"] = title.as_str().into();
        json["type"] = raw.kind.as_str().into();
        json["ttl_ms"] = raw.ttl.into();
        json["memory"] = raw.memory.into();
        json["findings"] = told.findings.as_slice().into();
        json
    }
}
