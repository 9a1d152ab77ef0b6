//! The state that all browsers are shown, put together once a second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::sync::watch;

use super::ServeSettings;
use super::api::{NEWEST, ROWS, State};
use super::counters::Counters;
use super::decisions::ReportedDecisions;
use super::lists::Lists;
use super::nodes::Nodes;
use super::seen::{Counts, KnownKeys};
use super::sheet::locked;
use crate::doctor::health::now_micros;
use crate::output;
use crate::simulate::time::written;

/// How often.
const EVERY: Duration = Duration::from_secs(1);

/// What browsers are shown.
#[derive(Default)]
pub struct LiveView {
    /// For `/metrics`.
    pub whole: State,
    /// What the last whole scan counted; none before.
    pub counted: Option<Counts>,
    /// What was decided since the start, by limiter, result and source.
    pub totals: BTreeMap<(String, &'static str, &'static str), u64>,
    /// What processes of this host count, as Prometheus reads it.
    pub counters: String,
    /// `/api/state`, ready to be sent.
    pub state: Bytes,
    /// An event of `/api/events`, likewise.
    pub event: Bytes,
    /// The lists, of which the state has the first rows.
    pub lists: Arc<Lists>,
}

/// Looks once a second, until nobody wants to know any more.
pub fn run(settings: &ServeSettings, seen: &Mutex<KnownKeys>, tell: &watch::Sender<Arc<LiveView>>) {
    let (nodes, decisions) = (Nodes::new(&settings.url, settings.within), ReportedDecisions::new(&settings.prefix));
    let mut eyes = Eyes { nodes, decisions, counters: Counters::new(settings.metrics_file.is_some()) };
    while !tell.is_closed() {
        let began = Instant::now();
        tell.send_replace(Arc::new(look(settings, &mut eyes, seen)));
        thread::sleep(EVERY.saturating_sub(began.elapsed()));
    }
}

/// What looks at all but keys.
struct Eyes {
    nodes: Nodes,
    decisions: ReportedDecisions,
    counters: Counters,
}

fn look(settings: &ServeSettings, eyes: &mut Eyes, seen: &Mutex<KnownKeys>) -> LiveView {
    let Eyes { nodes, decisions, counters } = eyes;
    let now_ms = now_micros() / 1_000;
    let (rows, mut problems) = nodes.look();
    if let Some(servers) = nodes.servers()
        && let Err(refusal) = decisions.look(servers, &settings.client)
    {
        problems.push(format!("reports of decisions are missing: {}", refusal.message));
    }
    decisions.forget(now_ms);
    let mut seen = locked(seen);
    problems.extend(seen.problems.iter().cloned());
    if let Some(since) = seen.scan.unknown_since_ms {
        problems.push(format!("what stands at keys is unknown since {} UTC", written(since * 1_000)));
    }
    seen.wanted.clone_from(&decisions.wanted);
    let (mut lists, counted, scan) = (Lists::of(&seen, now_ms), seen.counted.clone(), seen.scan.clone());
    let mut counts = counted.clone().unwrap_or_else(|| seen.counting.clone());
    drop(seen);
    for row in &mut lists.denied {
        row.per_s = decisions.rate_of(&(row.limiter.clone(), row.scope.clone(), row.key.clone()), now_ms);
    }
    let counters = counters.look(&mut counts.caches);
    let state = State {
        problems,
        is_reported: decisions.is_reported,
        limiters: decisions.rows(&counts.limiters, now_ms),
        denied: first(&lists.denied),
        denied_total: lists.denied_total,
        locks: first(&lists.locks),
        locks_total: lists.locks_total,
        stocks: first(&lists.stocks),
        stocks_total: lists.stocks_total,
        caches: counts.caches.into_values().collect(),
        without_ttl: first(&lists.without_ttl),
        without_ttl_total: lists.without_ttl_total,
        stuck_total: lists.stuck_total,
        looks_stuck_total: lists.looks_stuck_total,
        nodes: rows,
        scan,
        ..bare(settings, now_ms)
    };
    LiveView { counted, counters, totals: decisions.totals.clone(), ..shown(state, lists) }
}

/// What is shown before anything was looked at.
pub fn nothing(settings: &ServeSettings) -> LiveView {
    shown(bare(settings, now_micros() / 1_000), Lists::default())
}

fn bare(settings: &ServeSettings, now_ms: u64) -> State {
    State {
        now_ms,
        server: quotalock::redacted(&settings.url),
        prefix: settings.prefix.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        writes: settings.writes,
        ..State::default()
    }
}

fn first<Row: Clone>(rows: &[Row]) -> Vec<Row> {
    rows[..rows.len().min(ROWS)].to_vec()
}

/// Writes it out once, for all browsers.
fn shown(state: State, lists: Lists) -> LiveView {
    let json = |state: &State| serde_json::to_string(state).map(|json| output::plain(&json)).unwrap_or_default();
    let mut newest = state.clone();
    // Who listens has the points before.
    for limiter in &mut newest.limiters {
        limiter.history.drain(..limiter.history.len().saturating_sub(NEWEST));
    }
    let event = Bytes::from(format!("event: state\ndata: {}\n\n", json(&newest)));
    let json = Bytes::from(json(&state));
    LiveView { whole: state, state: json, event, lists: Arc::new(lists), ..LiveView::default() }
}
