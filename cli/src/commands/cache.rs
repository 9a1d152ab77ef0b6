//! `cache`: what a cache has for a key.

use std::ffi::OsString;

use clap::Args;
use quotalock::stored::{KeyKind, KeyName};
use quotalock::{CacheOptions, OnceOptions};
use serde_json::json;

use super::inspect::ENTRY;
use super::inspect_words::{KeyDescription, entry};
use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::printable::shown;
use crate::shared::SharedArguments;
use crate::words::{bytes, text};
use crate::{raw, server};

const EXAMPLES: &str = "Examples:
  quotalock cache pages home    how old the page is, and how long it is served";

/// What `cache` is asked.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct CacheArguments {
    /// The name of the cache
    name: String,
    /// The key
    key: OsString,
}

/// Runs the command.
pub fn run(arguments: &CacheArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    tell(shared, KeyKind::Cache, &arguments.name, bytes(&arguments.key))
}

/// Tells of an entry of a cache, or of an id of a `once`.
pub fn tell(shared: &SharedArguments, kind: KeyKind, name: &str, key: &[u8]) -> Result<Exit, Failure> {
    let client = raw::client(shared)?;
    let (redis_key, word, absent) = match kind {
        KeyKind::Once => (
            client.once(name, OnceOptions::default())?.redis_key(key)?,
            "once",
            "not done: the next caller is the first",
        ),
        _ => {
            (client.cache(name, CacheOptions::default())?.redis_key(key)?, "cache", "nothing: the next caller loads it")
        }
    };
    let mut servers = server::find_owners(&shared.url, shared.server_timeout, std::slice::from_ref(&redis_key))?;
    let raw = raw::look(&mut servers, &redis_key, Some(ENTRY))?;
    let state = if kind == KeyKind::Once { "open" } else { "nothing" };
    let mut told = match raw {
        None => KeyDescription::new(absent, json!({ "state": state })),
        Some(raw) if raw.kind != "string" => {
            let name = KeyName { kind, name: name.into(), scope: None, key: Some(key.to_vec()), beside: Vec::new() };
            KeyDescription::wrong_type(&name, &raw)
        }
        Some(raw) => entry(&raw, kind),
    };
    told.json[word] = name.into();
    told.json["key"] = text(key).into();
    told.json["findings"] = told.findings.as_slice().into();
    answer(shared, &told.text(&format!("{word} {}, key {}", shown(name.as_bytes()), shown(key))), &told.json)?;
    Ok(if told.findings.is_empty() { Exit::Fine } else { Exit::Findings })
}
