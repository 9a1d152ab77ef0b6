//! What a server says of itself: memory, eviction, persistence, replication, clock, version.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::cmd;

use super::finding::Finding;
use super::versions;
use crate::pages::right_of;
use crate::server::{Node, Refusal, RefusalKind};

/// Of its memory limit a server should use less than so much, in percent.
const FULL: u64 = 90;
/// A replica should not lag behind by more seconds.
const LAG_SECONDS: u64 = 10;
/// Clocks should not differ by more.
const SKEW: Duration = Duration::from_millis(500);

/// What was learned of a server.
pub struct Health {
    /// Its host and port.
    pub name: String,
    /// Whether it takes writes.
    pub is_primary: bool,
    /// Its product and version.
    pub version: String,
    /// How many keys it has.
    pub keys: Option<u64>,
    /// How many of them have no TTL, as the server counts them.
    pub without_ttl: Option<u64>,
    /// What its clock is ahead of ours, in microseconds, and how wrong that may be.
    pub ahead: Option<(i64, u64)>,
    /// What is not as it should be.
    pub findings: Vec<Finding>,
    /// Rights that the user lacks.
    pub lacks: Vec<String>,
    /// Why it did not answer at all.
    pub away: Option<Refusal>,
    /// What it counts of itself.
    pub load: Load,
}

/// What a server counts of itself.
#[derive(Default)]
pub struct Load {
    /// Bytes that it uses.
    pub memory_used: Option<u64>,
    /// Bytes that it may use; 0 is as many as there are.
    pub memory_max: Option<u64>,
    /// Connections to it.
    pub clients: Option<u64>,
    /// Commands a second.
    pub ops_per_s: Option<u64>,
    /// How many seconds it has heard nothing of each replica, by the replica's address.
    pub lags: Vec<(String, u64)>,
}

/// Asks a server how it is.
pub fn ask(node: &mut Node, database: u32) -> Health {
    let mut health = Health {
        name: node.place.to_string(),
        is_primary: node.is_primary,
        version: String::new(),
        keys: None,
        without_ttl: None,
        ahead: None,
        findings: Vec::new(),
        lacks: Vec::new(),
        away: None,
        load: Load::default(),
    };
    match node.ask::<String>(&cmd("INFO")) {
        Ok(text) => health.read(&InfoFields::of(&text), database),
        Err(refusal) if refusal.why == RefusalKind::Right => health.lacks.push(right_of(&refusal.message)),
        Err(refusal) if refusal.why == RefusalKind::Away => {
            health.tell("unanswered", refusal.message.clone(), "it does not say how it is", "see its log");
            health.away = Some(refusal);
            return health;
        }
        Err(refusal) => health.tell("unanswered", refusal.message, "it does not say how it is", "see its log"),
    }
    health.keys = health.keys.or_else(|| node.ask(&cmd("DBSIZE")).ok());
    health.clock(node);
    health
}

/// The fields of `INFO`.
struct InfoFields<'a>(HashMap<&'a str, &'a str>);

impl<'a> InfoFields<'a> {
    fn of(text: &'a str) -> InfoFields<'a> {
        InfoFields(text.lines().filter_map(|line| line.trim_end().split_once(':')).collect())
    }

    fn text(&self, name: &str) -> &'a str {
        self.0.get(name).copied().unwrap_or_default()
    }

    fn number(&self, name: &str) -> u64 {
        self.told(name).unwrap_or(0)
    }

    fn told(&self, name: &str) -> Option<u64> {
        self.text(name).parse().ok()
    }
}

impl Health {
    fn tell(&mut self, kind: &'static str, what: String, means: &str, cure: &str) {
        self.findings.push(Finding::of_node(kind, &self.name, what, means, cure));
    }

    fn note(&mut self, kind: &'static str, what: String, means: &str, cure: &str) {
        self.findings.push(Finding::of_node(kind, &self.name, what, means, cure).noted());
    }

    fn read(&mut self, info: &InfoFields<'_>, database: u32) {
        let (product, number) =
            versions::read(info.text("server_name"), info.text("valkey_version"), info.text("redis_version"));
        self.version = format!("{product} {number}");
        for known in versions::known(product, number, info.text("cluster_enabled") == "1") {
            self.note("version", format!("{} {}", self.version, known.what), known.means, known.cure);
        }
        self.is_primary = info.text("role") != "slave";
        let keyspace = info.text(&format!("db{database}"));
        let field = |name: &str| {
            let found = keyspace.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            found.and_then(|number| number.parse::<u64>().ok())
        };
        self.keys = field("keys").or(Some(0));
        self.without_ttl = field("keys").zip(field("expires")).map(|(keys, expires)| keys.saturating_sub(expires));
        self.load = Load {
            memory_used: info.told("used_memory"),
            memory_max: info.told("maxmemory"),
            clients: info.told("connected_clients"),
            ops_per_s: info.told("instantaneous_ops_per_sec"),
            lags: Vec::new(),
        };
        self.memory(info);
        self.persistence(info);
        self.replication(info);
    }

    fn memory(&mut self, info: &InfoFields<'_>) {
        let (used, most, policy) =
            (info.number("used_memory"), info.number("maxmemory"), info.text("maxmemory_policy"));
        if most > 0 && (policy.starts_with("allkeys") || policy.starts_with("volatile")) {
            self.tell(
                "eviction",
                format!("evicts keys when it is full (maxmemory-policy {policy})"),
                "limits start anew, and locks are granted twice, when their keys are evicted",
                "give limits and locks a server of their own with maxmemory-policy noeviction",
            );
        } else if policy.starts_with("allkeys") {
            self.note(
                "eviction",
                format!("would evict keys (maxmemory-policy {policy}) if it had a maxmemory"),
                "as soon as somebody sets a limit, limits and locks can be evicted",
                "set maxmemory-policy noeviction",
            );
        }
        if most > 0 && used.saturating_mul(100) >= most.saturating_mul(FULL) {
            let percent = used.saturating_mul(100) / most;
            self.tell(
                "memory",
                format!("uses {percent} % of its maxmemory"),
                "a full server refuses writes (OOM), or evicts: then calls fail, or limits start anew",
                "raise maxmemory, or see what grows (redis-cli --bigkeys)",
            );
        }
    }

    fn persistence(&mut self, info: &InfoFields<'_>) {
        for (field, what) in [
            ("rdb_last_bgsave_status", "could not save its dump the last time"),
            ("aof_last_write_status", "could not write its append-only file"),
            ("aof_last_bgrewrite_status", "could not rewrite its append-only file the last time"),
        ] {
            if info.text(field) == "err" {
                self.tell(
                    "persistence",
                    what.to_owned(),
                    "it may refuse writes (MISCONF), and a restart loses what was not saved",
                    "see its log and whether its disk is full",
                );
            }
        }
        if info.text("loading") == "1" {
            self.tell("loading", "is loading its data".to_owned(), "calls fail until it is done", "wait");
        }
    }

    fn replication(&mut self, info: &InfoFields<'_>) {
        if info.text("role") == "slave" {
            if info.text("master_link_status") != "up" {
                let since = info.number("master_link_down_since_seconds");
                self.tell(
                    "replication",
                    format!("has lost its primary since {since} s"),
                    "a failover to it loses what was written since",
                    "see the network and the log of both",
                );
            } else if info.number("master_last_io_seconds_ago") > LAG_SECONDS {
                let seconds = info.number("master_last_io_seconds_ago");
                self.tell(
                    "replication",
                    format!("has heard nothing of its primary for {seconds} s"),
                    "a failover to it loses what was written since",
                    "see the network and the load of both",
                );
            }
            return;
        }
        for number in 0..info.number("connected_slaves") {
            let replica = info.text(&format!("slave{number}"));
            let field = |name: &str| replica.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            let lag = field("lag").and_then(|lag| lag.parse::<u64>().ok()).unwrap_or(0);
            let place = format!("{}:{}", field("ip").unwrap_or("?"), field("port").unwrap_or("?"));
            if lag > LAG_SECONDS {
                self.tell(
                    "replication",
                    format!("has a replica that lags by {lag} s: {place}"),
                    "a failover to it grants locks twice, and admits too much",
                    "see the network and the load of both",
                );
            }
            self.load.lags.push((place, lag));
        }
        let wanted = info.text("min_slaves_good_slaves");
        if wanted == "0" {
            self.tell(
                "replication",
                "has fewer good replicas than min-replicas-to-write wants".to_owned(),
                "it refuses all writes (NOREPLICAS)",
                "bring a replica back",
            );
        }
    }

    /// How far its clock is from ours: the middle of the shortest of some trips.
    fn clock(&mut self, node: &mut Node) {
        let mut best: Option<(i64, u64)> = None;
        for _ in 0..5 {
            let began = now_micros();
            let asked = node.ask::<(u64, u64)>(&cmd("TIME"));
            let ended = now_micros();
            match asked {
                Ok((seconds, micros)) => {
                    let theirs = (seconds * 1_000_000 + micros) as i64;
                    let (middle, error) = ((began + ended) / 2, (ended.saturating_sub(began)).div_ceil(2));
                    if best.is_none_or(|(_, known)| error < known) {
                        best = Some((theirs - middle as i64, error));
                    }
                }
                Err(refusal) if refusal.why == RefusalKind::Right => {
                    self.lacks.push(right_of(&refusal.message));
                    return;
                }
                Err(_) => return,
            }
        }
        self.ahead = best;
    }
}

/// The time of this machine, in microseconds since the epoch.
pub fn now_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

/// Clocks that differ: from this machine's, and from each other's.
pub fn clocks(all: &[Health]) -> Vec<Finding> {
    let limit = SKEW.as_micros() as i64;
    let known: Vec<(&str, i64, i64)> =
        all.iter().filter_map(|one| one.ahead.map(|(ahead, error)| (one.name.as_str(), ahead, error as i64))).collect();
    let mut findings = Vec::new();
    for (name, ahead, error) in &known {
        if ahead.abs() - error > limit {
            let word = if *ahead > 0 { "ahead of" } else { "behind" };
            findings.push(Finding::of_node(
                "clock",
                name,
                format!("has a clock {:.1} s {word} this machine's", ahead.unsigned_abs() as f64 / 1e6),
                "the server's clock decides, so nothing is wrong yet; but one of the two is wrong, and a step grants locks twice",
                "let both machines keep time (NTP), and don't let the clock step",
            ));
        }
    }
    let span = known.iter().min_by_key(|(_, ahead, _)| ahead).zip(known.iter().max_by_key(|(_, ahead, _)| ahead));
    if let Some(((first, low, one), (last, high, other))) = span
        && high - low - one - other > limit
    {
        findings.push(Finding::of_node(
            "clock",
            last,
            format!("has a clock {:.1} s ahead of that of {first}", (high - low) as f64 / 1e6),
            "after a failover limits and locks end earlier or later than promised",
            "let all machines keep time (NTP)",
        ));
    }
    findings
}
