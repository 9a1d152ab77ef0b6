//! How each server is, asked once a second.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use quotalock::places::Target;

use super::api::{NodeRole, NodeRow};
use crate::doctor::health::{self, Health};
use crate::exit::Failure;
use crate::server::{self, Servers};

/// How long a server may take to say how it is.
const WITHIN: Duration = Duration::from_secs(2);
/// When it is seen anew which servers there are: soon if one is missing.
const ANEW: Duration = Duration::from_secs(60);
const ANEW_MISSING: Duration = Duration::from_secs(3);

/// The servers, as far as they can be asked.
pub struct Nodes {
    url: String,
    within: Duration,
    database: u32,
    servers: Option<Servers>,
    /// Why none can be asked.
    failure: Option<String>,
    /// Servers that answered before, and do not now: their role and why.
    away: BTreeMap<String, (NodeRole, String)>,
    /// They are looked for aside, since one that does not answer takes its time.
    search: Option<Receiver<Result<Servers, Failure>>>,
    searched: Option<Instant>,
}

impl Nodes {
    /// Of a URL, whose servers are found if they let us in within that time.
    pub fn new(url: &str, within: Duration) -> Nodes {
        let database = match Target::parse(url) {
            Ok(Target::Server(place)) => place.database(),
            Ok(Target::Sentinel(watched)) => watched.at("", 0).database(),
            _ => 0,
        };
        Nodes {
            url: url.to_owned(),
            within,
            database,
            servers: None,
            failure: None,
            away: BTreeMap::new(),
            search: None,
            searched: None,
        }
    }

    /// The servers that can be asked.
    pub fn servers(&mut self) -> Option<&mut Servers> {
        self.servers.as_mut()
    }

    /// Asks each server how it is. Beside their rows: what is missing, a sentence each.
    pub fn look(&mut self) -> (Vec<NodeRow>, Vec<String>) {
        self.search();
        let mut problems: Vec<String> = self.failure.iter().cloned().collect();
        let (mut rows, mut healths) = (Vec::new(), Vec::new());
        if let Some(servers) = &mut self.servers {
            for shard in &mut servers.shards {
                let all = shard.primary.take().into_iter().chain(shard.replicas.drain(..));
                for mut node in all.collect::<Vec<_>>() {
                    let health = health::ask(&mut node, self.database);
                    if let Some(refusal) = &health.away {
                        self.away.insert(health.name, (role(health.is_primary), refusal.message.clone()));
                        continue;
                    }
                    healths.push(health);
                    match node.is_primary {
                        true => shard.primary = Some(node),
                        false => shard.replicas.push(node),
                    }
                }
            }
            for missing in &servers.missing {
                let why = (role(missing.is_primary), missing.refusal.message.clone());
                self.away.entry(missing.place.to_string()).or_insert(why);
            }
        }
        let skewed = health::clocks(&healths);
        for health in &healths {
            let clock = skewed.iter().find(|finding| finding.node.as_ref() == Some(&health.name));
            rows.push(row(health, clock.map(|finding| finding.what.clone()), &healths));
            if !health.lacks.is_empty() {
                problems.push(format!("{}: the user lacks the right to {}", health.name, health.lacks.join(", ")));
            }
        }
        rows.extend(self.away.iter().map(|(address, (role, why))| NodeRow {
            address: address.clone(),
            role: *role,
            why: vec![why.clone()],
            ..NodeRow::default()
        }));
        rows.sort_by(|a, b| a.address.cmp(&b.address));
        (rows, problems)
    }

    /// Takes in what a search has found, and begins one when it is time.
    fn search(&mut self) {
        let is_first = self.searched.is_none();
        let is_missing = !self.away.is_empty() || self.failure.is_some() || self.servers.is_none();
        let pause = if is_missing { ANEW_MISSING } else { ANEW };
        if self.search.is_none() && self.searched.is_none_or(|at| at.elapsed() >= pause) {
            let (tell, told) = channel();
            let (url, within) = (self.url.clone(), self.within);
            // Whoever asked may be gone when it is found.
            thread::spawn(move || drop(tell.send(server::find(&url, within))));
            (self.search, self.searched) = (Some(told), Some(Instant::now()));
        }
        let Some(search) = &self.search else { return };
        // The first page a browser sees has its servers, if they are not slow.
        let found = match is_first {
            true => search.recv_timeout(Duration::from_millis(500)).map_err(|_| TryRecvError::Empty),
            false => search.try_recv(),
        };
        match found {
            Ok(Ok(mut servers)) => {
                servers.nodes().for_each(|node| node.wait_for(WITHIN));
                (self.servers, self.failure) = (Some(servers), None);
                self.away.clear();
            }
            Ok(Err(failure)) => (self.servers, self.failure) = (None, Some(failure.message)),
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => {}
        }
        (self.search, self.searched) = (None, Some(Instant::now()));
    }
}

fn role(is_primary: bool) -> NodeRole {
    if is_primary { NodeRole::Primary } else { NodeRole::Replica }
}

fn row(health: &Health, clock: Option<String>, all: &[Health]) -> NodeRow {
    let mut why: Vec<String> =
        health.findings.iter().filter(|finding| !finding.is_note).map(|finding| finding.what.clone()).collect();
    why.extend(clock);
    // Its primary knows when it last heard of it.
    let lag = || all.iter().flat_map(|one| &one.load.lags).find(|(name, _)| *name == health.name);
    NodeRow {
        address: health.name.clone(),
        role: role(health.is_primary),
        answers: true,
        ok: why.is_empty(),
        why,
        version: Some(health.version.clone()).filter(|version| !version.is_empty()),
        memory_used: health.load.memory_used,
        memory_max: health.load.memory_max,
        clients: health.load.clients,
        ops_per_s: health.load.ops_per_s,
        lag_ms: if health.is_primary { None } else { lag().map(|(_, seconds)| seconds * 1_000) },
        clock_skew_ms: health.ahead.map(|(ahead, _)| ahead / 1_000),
        keys: health.keys,
    }
}
