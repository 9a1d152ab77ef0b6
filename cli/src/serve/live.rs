//! The state that all browsers are shown, put together once a second.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::body::Bytes;
use quotalock::stored::{KeyName, StoredLock};
use serde_json::json;
use tokio::sync::watch;

use super::Settings;
use super::api::{HolderRow, LockRow, NodeRow, State};
use super::lists::Lists;
use crate::doctor::health::{self, now_micros};
use crate::words::text;
use crate::{output, raw, server};

/// What browsers are shown.
#[derive(Default)]
pub struct Shown {
    /// For `/metrics`.
    pub whole: State,
    /// `/api/state`, ready to be sent.
    pub state: Bytes,
    /// An event of `/api/events`, likewise.
    pub event: Bytes,
    /// The lists, of which the state has the first rows.
    pub lists: Arc<Lists>,
}

/// Looks once a second, until nobody wants to know any more.
pub fn run(settings: &Settings, tell: &watch::Sender<Arc<Shown>>) {
    while !tell.is_closed() {
        tell.send_replace(Arc::new(look(settings)));
        thread::sleep(Duration::from_secs(1));
    }
}

fn look(settings: &Settings) -> Shown {
    let mut state = State {
        now_ms: now_micros() / 1_000,
        server: quotalock::redacted(&settings.url),
        prefix: settings.prefix.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        writes: settings.writes,
        ..State::default()
    };
    match server::find(&settings.url) {
        Err(failure) => state.problems.push(failure.message),
        Ok(mut servers) => {
            state.nodes = servers
                .nodes()
                .map(|node| {
                    let health = health::ask(node, 0);
                    NodeRow {
                        address: health.name,
                        role: if health.is_primary { "primary" } else { "replica" },
                        ok: true,
                        version: Some(health.version),
                        ..NodeRow::default()
                    }
                })
                .collect();
            let pattern = [&raw::literal(settings.prefix.as_bytes()), b":[lsr]*:{*".as_slice()].concat();
            let _ = raw::scan(&mut servers, &pattern, |found| state.locks.extend(lock(&settings.prefix, found)));
        }
    }
    state.locks_total = state.locks.len() as u64;
    let lists = Lists { locks: state.locks.clone(), locks_total: state.locks_total, ..Lists::default() };
    let json = output::plain(&json!(state).to_string());
    let event = Bytes::from(format!("event: state\ndata: {json}\n\n"));
    Shown { whole: state, state: Bytes::from(json), event, lists: Arc::new(lists) }
}

fn lock(prefix: &str, found: raw::Found) -> Option<LockRow> {
    let name = KeyName::parse(prefix, &found.key).filter(|name| name.beside.is_empty())?;
    let stored = StoredLock::read(&found.value?, found.now).filter(|stored| !stored.holders.is_empty())?;
    Some(LockRow {
        id: String::new(),
        name: text(&name.name),
        kind: "lock",
        holders: stored
            .holders
            .iter()
            .map(|holder| HolderRow {
                host: Some(holder.host.clone()),
                process: Some(holder.pid),
                label: holder.label.clone(),
                age_ms: found.now.saturating_sub(holder.since) / 1_000,
                remaining_ms: holder.left / 1_000,
                token: holder.token.to_string(),
            })
            .collect(),
        waiters: stored.waiters.len() as u64,
        waited_ms: None,
        permits: stored.holders.iter().map(|holder| holder.permits).sum(),
        has_ttl: found.ttl.is_some(),
    })
}
