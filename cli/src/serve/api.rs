//! What the page and the server say to each other, as JSON. This file is the contract between the two.
//!
//! Times are milliseconds, by the clock of this machine where they are times of day. What is not known is `null`. Names and keys
//! come from whoever made them, and are escaped as JSON wants it; the page shows them as text only, control characters as `\u{1b}`.
//! `make commands` writes `page/api.d.ts` from what is serialized here.

use serde::{Deserialize, Serialize};

/// How many rows of a list a state has; `/api/keys` has more.
pub const ROWS: usize = 100;
/// How many rows of a list are kept: the worst ones. Totals count all.
pub const KEPT: usize = 1_000;
/// How many seconds of history `/api/state` has of each limiter.
pub const HISTORY: usize = 300;
/// How many of them an event has: the page keeps the earlier ones, and knows a point by its time.
pub const NEWEST: usize = 10;
/// How many limiters and caches are told apart; what others do is summed up under [`OTHERS`].
pub const NAMES: usize = 200;
/// The name of what is summed up.
pub const OTHERS: &str = "(others)";

/// All that the page shows: `GET /api/state`, and each second an event `state` of `GET /api/events`.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct State {
    /// When this was put together.
    pub now_ms: u64,
    /// The URL of the servers, without passwords.
    pub server: String,
    /// What the names of keys begin with.
    pub prefix: String,
    /// Of the program.
    pub version: String,
    /// Whether `/api/unblock` and `/api/release` do anything.
    pub writes: bool,
    /// What is missing in this state, and why: a sentence each.
    pub problems: Vec<String>,
    /// Whether any process reports its decisions; if not, rates are `null` and the limiters are those that have keys.
    pub is_reported: bool,
    /// By name.
    pub limiters: Vec<LimiterRow>,
    /// Who is refused now, or near it: blocked ones first, then denied ones by how long yet, then the nearest.
    pub denied: Vec<DeniedRow>,
    /// How many keys there are of these, also those that the list has no room for.
    pub denied_total: u64,
    /// Locks that somebody holds, those with the most waiters first.
    pub locks: Vec<LockRow>,
    /// How many locks somebody holds.
    pub locks_total: u64,
    /// Sales, by name.
    pub stocks: Vec<StockRow>,
    /// How many sales there are.
    pub stocks_total: u64,
    /// By name.
    pub caches: Vec<CacheRow>,
    /// Keys that may be stuck: without a TTL, and of a family that is known.
    pub without_ttl: Vec<WithoutTtlRow>,
    /// How many keys there are of these.
    pub without_ttl_total: u64,
    /// How many of them are proven to be stuck.
    pub stuck_total: u64,
    /// How many of the others look stuck.
    pub looks_stuck_total: u64,
    /// Each server that should be there.
    pub nodes: Vec<NodeRow>,
    /// The look at all keys that goes on.
    pub scan: Scan,
}

/// A limiter, by its name.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LimiterRow {
    /// Its name.
    pub name: String,
    /// Decisions a second in the last seconds: admitted.
    pub allowed_per_s: Option<f64>,
    /// Denied.
    pub denied_per_s: Option<f64>,
    /// Admitted, and would have been denied if the limiter did more than watch.
    pub would_deny_per_s: Option<f64>,
    /// Neither: the call failed.
    pub error_per_s: Option<f64>,
    /// Decisions a second by what decided them: `redis`, `memory`, `deny-cache`, `lease`, ...; sources without any are left out.
    pub by_source: std::collections::BTreeMap<String, f64>,
    /// Decisions of each second: when, how many were admitted, how many denied. The oldest first.
    pub history: Vec<(u64, f64, f64)>,
    /// How many keys it has on the servers, as the last whole scan counted them.
    pub keys: Option<u64>,
}

/// A key that is refused, or near it.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DeniedRow {
    /// What `/api/unblock` is told.
    pub id: String,
    /// The name of the limiter.
    pub limiter: String,
    /// The scope that the limiter was made with.
    pub scope: Option<String>,
    /// Who or what is limited.
    pub key: String,
    /// How near it is.
    pub state: DenialState,
    /// The rule that is used up most: `10/minute: 0 of 10 left`.
    pub why: String,
    /// How much of that rule is used, 0 to 100.
    pub used_percent: u64,
    /// Until when it is refused; `null` if it is not refused, or for ever.
    pub until_ms: Option<u64>,
    /// How often it was denied a second, if its processes report.
    pub per_s: Option<f64>,
}

/// Whether a key is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DenialState {
    /// By a block.
    Blocked,
    /// By a rule that is used up.
    Denied,
    /// Not yet.
    #[default]
    Near,
}

/// A lock that somebody holds.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LockRow {
    /// What `/api/release` is told.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What kind it is.
    pub kind: LockKind,
    /// Who holds it.
    pub holders: Vec<HolderRow>,
    /// How many wait; each process that waits counts once.
    pub waiters: u64,
    /// How long the first of them has waited.
    pub waited_ms: Option<u64>,
    /// How many permits are held.
    pub permits: u64,
    /// Whether the key has a TTL, as each should.
    pub has_ttl: bool,
}

/// A kind of lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LockKind {
    /// For one holder.
    #[default]
    Lock,
    /// For several.
    Semaphore,
    /// For one writer or several readers.
    Rw,
}

/// Who holds a lock.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HolderRow {
    /// Its machine; `null` if it does not say.
    pub host: Option<String>,
    /// Its process; `null` if it does not say.
    pub process: Option<u64>,
    /// What it calls itself.
    pub label: String,
    /// How long it has held the lock.
    pub age_ms: u64,
    /// How long its lease lasts, unless it is renewed.
    pub remaining_ms: u64,
    /// Its fencing token, as text: it may be larger than a number of JavaScript.
    pub token: String,
}

/// A sale.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StockRow {
    /// Its name.
    pub name: String,
    /// Its scope.
    pub scope: Option<String>,
    /// Pieces that can be taken.
    pub available: Option<u64>,
    /// Pieces that are reserved.
    pub held: Option<u64>,
    /// Pieces that are sold.
    pub sold: Option<u64>,
    /// All units.
    pub total: Option<u64>,
    /// Whether it goes on.
    pub phase: StockPhase,
}

/// Whether a sale goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum StockPhase {
    /// It does.
    #[default]
    Open,
    /// It was ended.
    Ended,
}

/// A cache, by its name.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CacheRow {
    /// Its name.
    pub name: String,
    /// Gets a second that found a fresh value; this and the next two are known of processes with a `--metrics-file`.
    pub hits_per_s: Option<f64>,
    /// That were served a stale value.
    pub stale_per_s: Option<f64>,
    /// That loaded.
    pub loads_per_s: Option<f64>,
    /// Entries on the servers, as the last whole scan counted them.
    pub entries: u64,
    /// Of these: fresh ones.
    pub fresh: u64,
    /// Stale ones.
    pub stale: u64,
    /// Those that somebody loads.
    pub loading: u64,
    /// Those whose load failed.
    pub failed: u64,
}

/// A key that may be stuck.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct WithoutTtlRow {
    /// Its name on the server.
    pub key: String,
    /// Whose it is: `Laravel's RateLimiter`.
    pub family: &'static str,
    /// `no_ttl`, `negative_counter`, `maybe_stuck`, `damaged` or `wrong_type`.
    pub kind: &'static str,
    /// What it means.
    pub means: &'static str,
    /// Whether it is stuck, or only looks so.
    pub state: crate::doctor::finding::FindingState,
    /// What proves that, or why it is not proven.
    pub why: &'static str,
}

/// A server.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NodeRow {
    /// Its host and port.
    pub address: String,
    /// Whether it takes writes.
    pub role: NodeRole,
    /// Whether it answers.
    pub answers: bool,
    /// Whether it answers, and all is well as far as it says.
    pub ok: bool,
    /// What is not well, a sentence each.
    pub why: Vec<String>,
    /// Its product and version.
    pub version: Option<String>,
    /// Bytes that it uses.
    pub memory_used: Option<u64>,
    /// Bytes that it may use; 0 is as many as there are.
    pub memory_max: Option<u64>,
    /// Connections to it.
    pub clients: Option<u64>,
    /// Commands a second.
    pub ops_per_s: Option<u64>,
    /// How far a replica is behind.
    pub lag_ms: Option<u64>,
    /// How far its clock is ahead of this machine's.
    pub clock_skew_ms: Option<i64>,
    /// How many keys it has.
    pub keys: Option<u64>,
}

/// What a server is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum NodeRole {
    /// Writes.
    #[default]
    Primary,
    /// Being a copy of a primary.
    Replica,
}

impl NodeRole {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            NodeRole::Primary => "primary",
            NodeRole::Replica => "replica",
        }
    }
}

/// The look at all keys.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Scan {
    /// Whether one goes on; else the next begins soon.
    pub running: bool,
    /// How far it is, 0 to 100.
    pub done_percent: u64,
    /// How many keys the last whole one saw.
    pub keys_seen: Option<u64>,
    /// How long that took.
    pub took_ms: Option<u64>,
    /// When it ended.
    pub at_ms: Option<u64>,
    /// Since when it is unknown what stands at the keys of some server, or of all: when the last whole one began. None as long as all
    /// servers answer.
    pub unknown_since_ms: Option<u64>,
}

/// What `GET /api/keys?list=denied&from=100` asks: up to [`ROWS`] rows of one list, of the [`KEPT`] that there are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Which list.
    pub list: List,
    /// How many rows come before.
    #[serde(default)]
    pub from: usize,
}

/// The lists that have pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// [`State::denied`].
    Denied,
    /// [`State::locks`].
    Locks,
    /// [`State::stocks`].
    Stocks,
    /// [`State::without_ttl`].
    WithoutTtl,
}

/// What `GET /api/keys` answers.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Page<Row> {
    /// The rows, as in the state.
    pub rows: Vec<Row>,
    /// How many rows come before.
    pub from: usize,
    /// How many there are, also those that are not kept.
    pub total: u64,
    /// Whether there is another page.
    pub more: bool,
}

/// What `POST /login` is told. A right token is answered with 200, a cookie and [`Session`]; a wrong one with 401, and too many
/// with 429 and `Retry-After`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// What `quotalock serve` printed, or was given.
    pub token: String,
}

/// What `POST /login` and `GET /api/session` answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Session {
    /// What each POST has to have in its header `X-Quotalock`, `/logout` included.
    pub csrf: String,
    /// Whether there is anything to post but `/logout`.
    pub writes: bool,
}

/// What `POST /api/unblock` and `POST /api/release` are told.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The `id` of the row.
    pub id: String,
}

/// What they answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Done {
    /// Whether anything was changed: it may have been over already.
    pub changed: bool,
    /// What was done, in words.
    pub said: String,
}

/// What every answer says that is an error: its status is 4xx or 5xx.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Problem {
    /// A word that stays the same: `not_logged_in`, `wrong_token`, `too_many_attempts`, `wrong_host`, `wrong_origin`, `read_only`,
    /// `invalid_argument`, `too_many_browsers`, `not_found`, or a code of Quotalock's.
    pub code: &'static str,
    /// What happened, and what to do.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ts_rs::{Config, TS, TypeVisitor};

    use super::{Done, Page, Problem, Session, State};

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page/api.d.ts");
    const HEAD: &str = "// Written by `make commands` from cli/src/serve/api.rs. For the editor and the type checker; \
        no browser loads this.\n";

    /// Declarations by name.
    struct Declared(Config, BTreeMap<String, String>);

    impl TypeVisitor for Declared {
        fn visit<T: TS + 'static + ?Sized>(&mut self) {
            if T::output_path().is_none() || self.1.contains_key(&T::ident(&self.0)) {
                return;
            }
            let docs = T::docs().unwrap_or_default();
            self.1.insert(T::ident(&self.0), format!("{docs}{}", T::decl(&self.0)));
            T::visit_dependencies(self);
        }
    }

    /// ts-rs writes all at the margin, and each comment in three lines.
    fn laid_out(declaration: &str) -> String {
        let declaration = declaration.replace("/**\n * ", "/** ").replace("\n */", " */").replace(", };", ",\n};");
        let (mut laid_out, mut is_inside) = (String::from("\n"), false);
        for line in declaration.lines().map(str::trim_end) {
            is_inside &= line != "};";
            laid_out.extend([if is_inside { "  " } else { "" }, line, "\n"]);
            is_inside |= line.ends_with('{');
        }
        laid_out
    }

    #[test]
    fn the_page_knows_what_is_told() {
        let mut declared = Declared(Config::new().with_large_int("number"), BTreeMap::new());
        declared.visit::<State>();
        declared.visit::<Page<()>>();
        declared.visit::<Session>();
        declared.visit::<Done>();
        declared.visit::<Problem>();
        let types = HEAD.to_owned() + &declared.1.into_values().map(|text| laid_out(&text)).collect::<String>();
        if std::env::var_os("QUOTALOCK_RENEW").is_some() {
            std::fs::write(FILE, &types).unwrap();
        }
        let known = std::fs::read_to_string(FILE).unwrap();
        assert!(known == types, "{FILE} is older than api.rs: run `make commands`");
    }
}
