//! The state that all browsers are shown, put together once a second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::sync::watch;

use super::Settings;
use super::api::{LimiterRow, NEWEST, ROWS, State};
use super::lists::Lists;
use super::nodes::Nodes;
use super::seen::{Counts, Seen};
use crate::doctor::health::now_micros;
use crate::output;

/// How often.
const EVERY: Duration = Duration::from_secs(1);

/// What browsers are shown.
#[derive(Default)]
pub struct Shown {
    /// For `/metrics`.
    pub whole: State,
    /// What the last whole scan counted; none before.
    pub counted: Option<Counts>,
    /// `/api/state`, ready to be sent.
    pub state: Bytes,
    /// An event of `/api/events`, likewise.
    pub event: Bytes,
    /// The lists, of which the state has the first rows.
    pub lists: Arc<Lists>,
}

/// Looks once a second, until nobody wants to know any more.
pub fn run(settings: &Settings, seen: &Mutex<Seen>, tell: &watch::Sender<Arc<Shown>>) {
    let mut nodes = Nodes::new(&settings.url);
    while !tell.is_closed() {
        let began = Instant::now();
        tell.send_replace(Arc::new(look(settings, &mut nodes, seen)));
        thread::sleep(EVERY.saturating_sub(began.elapsed()));
    }
}

fn look(settings: &Settings, nodes: &mut Nodes, seen: &Mutex<Seen>) -> Shown {
    let now_ms = now_micros() / 1_000;
    let (rows, mut problems) = nodes.look();
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    problems.extend(seen.problems.iter().cloned());
    problems.dedup();
    let (lists, counted, scan) = (Lists::of(&seen, now_ms), seen.counted.clone(), seen.scan.clone());
    let counts = counted.clone().unwrap_or_else(|| seen.counting.clone());
    drop(seen);
    let state = State {
        now_ms,
        server: quotalock::redacted(&settings.url),
        prefix: settings.prefix.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        writes: settings.writes,
        problems,
        is_reported: false,
        limiters: limiters(&counts.limiters),
        denied: first(&lists.denied),
        denied_total: lists.denied_total,
        locks: first(&lists.locks),
        locks_total: lists.locks_total,
        stocks: first(&lists.stocks),
        stocks_total: lists.stocks_total,
        caches: counts.caches.into_values().collect(),
        without_ttl: first(&lists.without_ttl),
        without_ttl_total: lists.without_ttl_total,
        nodes: rows,
        scan,
    };
    shown(state, counted, lists)
}

fn first<Row: Clone>(rows: &[Row]) -> Vec<Row> {
    rows[..rows.len().min(ROWS)].to_vec()
}

fn limiters(counted: &BTreeMap<String, u64>) -> Vec<LimiterRow> {
    let row = |(name, keys): (&String, &u64)| LimiterRow { name: name.clone(), keys: Some(*keys), ..LimiterRow::default() };
    counted.iter().map(row).collect()
}

/// Writes it out once, for all browsers.
fn shown(mut state: State, counted: Option<Counts>, lists: Lists) -> Shown {
    let json = |state: &State| serde_json::to_string(state).map(|json| output::plain(&json)).unwrap_or_default();
    let whole = json(&state);
    // Who listens has the points before.
    for limiter in &mut state.limiters {
        limiter.history.drain(..limiter.history.len().saturating_sub(NEWEST));
    }
    let event = Bytes::from(format!("event: state\ndata: {}\n\n", json(&state)));
    Shown { whole: state, counted, state: Bytes::from(whole), event, lists: Arc::new(lists) }
}
