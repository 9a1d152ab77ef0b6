//! The servers that a URL names: every primary, and its replicas.
//!
//! [`find`] connects to all of them, [`find_owners`] to those that have given keys. [`Servers::missing`] lists each that does not
//! answer in time, and the others go on; only if none can be reached is it a failure. A URL of one server that names a node of a
//! cluster is refused, as the packages refuse it: what it holds is a part.

mod node;
mod refusal;
mod topology;

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use quotalock::places::{Place, Target, slot_of};

pub use node::Node;
pub use refusal::{Refusal, RefusalKind};

use crate::exit::Failure;

/// The servers that a URL names.
pub struct Servers {
    /// Each primary, with its replicas.
    pub shards: Vec<Shard>,
    /// Those that should be there and are not.
    pub missing: Vec<Missing>,
    /// If the URL names one server that is a replica: what that means for what it tells.
    pub replica: Option<Replica>,
    /// The server, if the URL names one.
    pub only: Option<Place>,
    /// Those that are not connected to yet.
    others: Vec<topology::ServerGroup>,
    is_cluster: bool,
    within: Duration,
}

/// A replica that is asked in place of its primary.
#[derive(Clone, Debug)]
pub struct Replica {
    /// A sentence about how old its data may be.
    pub sentence: String,
    /// Whether it has a link to its primary.
    pub has_link: bool,
}

/// What an answer cannot know of the servers it was made from.
#[derive(Default)]
pub struct Unknown {
    /// Servers whose keys are missing, a sentence each.
    pub missing: Vec<String>,
    /// Servers whose data may be old, a sentence each.
    pub old: Vec<String>,
    /// Replicas that may lag as any may, a sentence each.
    pub notes: Vec<String>,
}

impl Unknown {
    /// Whether keys are missing.
    pub fn is_partial(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Whether nothing is missing or old: all is known that can be.
    pub fn is_fine(&self) -> bool {
        self.missing.is_empty() && self.old.is_empty()
    }

    /// All sentences.
    pub fn sentences(&self) -> impl Iterator<Item = &String> {
        self.missing.iter().chain(&self.old).chain(&self.notes)
    }
}

/// A primary and its replicas: they have the same keys.
#[derive(Default)]
pub struct Shard {
    /// The one that takes writes, if it can be reached.
    pub primary: Option<Node>,
    /// The others.
    pub replicas: Vec<Node>,
}

/// A server that cannot be asked.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Where it should be.
    pub place: Place,
    /// Whether it should take writes.
    pub is_primary: bool,
    /// Whether its keys can be read elsewhere.
    pub is_covered: bool,
    /// Why.
    pub refusal: Refusal,
}

impl Shard {
    /// Who should be asked what burdens a server: a replica if there is one.
    pub fn reader(&mut self) -> Option<&mut Node> {
        self.replicas.first_mut().or(self.primary.as_mut())
    }

    /// All of them, the primary first.
    pub fn nodes(&mut self) -> impl Iterator<Item = &mut Node> {
        self.primary.iter_mut().chain(&mut self.replicas)
    }
}

impl Servers {
    /// All servers that can be asked.
    pub fn nodes(&mut self) -> impl Iterator<Item = &mut Node> {
        self.shards.iter_mut().flat_map(Shard::nodes)
    }

    /// What is not known because the URL names a replica.
    pub fn unknown_of_replica(&self) -> Unknown {
        let mut unknown = Unknown::default();
        if let Some(Replica { sentence, has_link }) = &self.replica {
            if *has_link { &mut unknown.notes } else { &mut unknown.old }.push(sentence.clone());
        }
        unknown
    }

    /// What these servers cannot tell.
    pub fn unknown(&self) -> Unknown {
        let mut unknown = self.unknown_of_replica();
        for Missing { refusal, is_covered, is_primary, .. } in &self.missing {
            let why = &refusal.message;
            match (is_covered, is_primary) {
                (false, _) => unknown.missing.push(format!("the keys of one server are missing: {why}")),
                (true, true) => {
                    unknown.old.push(format!("a replica answers in place of its primary, and may lag: {why}"));
                }
                (true, false) => {}
            }
        }
        unknown
    }

    /// Connects to the servers that [`find_owners`] left out. Those that do not answer are added to `missing`.
    pub fn connect_others(&mut self) {
        let others = std::mem::take(&mut self.others);
        self.connect(others);
    }

    fn connect(&mut self, groups: Vec<topology::ServerGroup>) {
        for (mut shard, mut missing) in connect(groups, self.is_cluster, self.within) {
            let is_covered = shard.nodes().next().is_some();
            missing.iter_mut().for_each(|one| one.is_covered = is_covered);
            self.missing.append(&mut missing);
            if is_covered {
                self.shards.push(shard);
            }
        }
    }

    /// The primaries that can be asked.
    pub fn primaries(&mut self) -> impl Iterator<Item = &mut Node> {
        self.shards.iter_mut().filter_map(|shard| shard.primary.as_mut())
    }
}

/// Connects to all servers that this URL names. Each has let us in within that time, and then has as long for each answer.
///
/// # Errors
/// If the URL is wrong, names one server that is a node of a cluster, or no server can be reached; the message names it.
pub fn find(url: &str, within: Duration) -> Result<Servers, Failure> {
    find_some(url, within, |groups| (groups, Vec::new()))
}

/// Connects to the primaries that have these keys. Other servers of the cluster may be down.
///
/// # Errors
/// Those of [`find`].
pub fn find_owners(url: &str, within: Duration, keys: &[Vec<u8>]) -> Result<Servers, Failure> {
    let slots: Vec<u16> = keys.iter().map(|key| slot_of(key)).collect();
    find_some(url, within, |mut groups| {
        groups.iter_mut().for_each(|group| group.replicas.clear());
        let is_alone = groups.len() < 2;
        groups.into_iter().partition(|group| is_alone || slots.iter().any(|slot| group.has(*slot)))
    })
}

/// Connects to those of the first part; the second is known.
fn find_some(
    url: &str,
    within: Duration,
    wanted: impl FnOnce(Vec<topology::ServerGroup>) -> (Vec<topology::ServerGroup>, Vec<topology::ServerGroup>),
) -> Result<Servers, Failure> {
    let target = Target::parse(url)?;
    let only = match &target {
        Target::Server(place) => Some(place.clone()),
        _ => None,
    };
    let (groups, is_cluster) = match target {
        Target::Server(primary) => {
            (vec![topology::ServerGroup { primary, replicas: Vec::new(), slots: Vec::new() }], false)
        }
        Target::Sentinel(watched) => (vec![topology::watched(&watched, within)?], false),
        Target::Cluster(seeds) => (topology::cluster(&seeds, within)?, true),
    };
    let (groups, others) = wanted(groups);
    let (shards, missing) = (Vec::new(), Vec::new());
    let mut servers = Servers { shards, missing, replica: None, only, others, is_cluster, within };
    servers.connect(groups);
    if servers.only.is_some() {
        let replica = servers.nodes().next().map_or(Ok(None), |node| {
            let info = InfoText::of(node);
            info.check(node).map(|()| info.replica(node))
        });
        servers.replica = replica?;
    }
    match servers.missing.first() {
        Some(first) if servers.shards.is_empty() => Err(first.refusal.clone().into()),
        _ => Ok(servers),
    }
}

/// Refuses a URL of one server that names a node of a cluster. A server that does not answer so soon is not waited for.
///
/// # Errors
/// That of [`find`].
pub fn check(url: &str, within: Duration) -> Result<(), Failure> {
    let Target::Server(place) = Target::parse(url)? else { return Ok(()) };
    let (tell, told) = channel();
    thread::spawn(move || {
        if let Ok(mut node) = Node::connect(place, true, false, within) {
            // Nobody may listen any more.
            let _ = tell.send(InfoText::of(&mut node).check(&mut node));
        }
    });
    told.recv_timeout(within).unwrap_or(Ok(()))
}

/// What a server says of itself; nothing if the user may not ask.
struct InfoText(Option<String>);

impl InfoText {
    fn of(node: &mut Node) -> InfoText {
        InfoText(node.ask(&redis::cmd("INFO")).ok())
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))
    }

    /// Refuses a node of a cluster, unless it is the only one that has slots.
    fn check(&self, node: &mut Node) -> Result<(), Failure> {
        if self.field("cluster_enabled") != Some("1") {
            return Ok(());
        }
        let map: Result<String, Refusal> = node.ask(redis::cmd("CLUSTER").arg("NODES"));
        match map.is_ok_and(|map| topology::is_alone(&map)) {
            true => Ok(()),
            false => Err(node.place.in_cluster().into()),
        }
    }

    /// What is to be said of a server that is a replica; none of a primary.
    fn replica(&self, node: &Node) -> Option<Replica> {
        if self.field("role")? != "slave" {
            return None;
        }
        let primary = format!("{}:{}", self.field("master_host")?, self.field("master_port")?);
        let primary = crate::printable::shown(primary.as_bytes());
        let has_link = self.field("master_link_status") == Some("up");
        let sentence = if has_link {
            format!("{} is a replica of {primary}, and may lag", node.place)
        } else {
            let since = self.field("master_link_down_since_seconds").and_then(|text| text.parse::<u64>().ok());
            let since =
                since.map_or_else(String::new, |seconds| format!(" for {}", crate::words::span(seconds * 1_000_000)));
            format!("{} is a replica of {primary}, and has had no link to it{since}: what it holds is old", node.place)
        };
        Some(Replica { sentence, has_link })
    }
}

/// Connects to all at once: one that does not answer keeps the others waiting no longer than itself.
fn connect(groups: Vec<topology::ServerGroup>, is_cluster: bool, within: Duration) -> Vec<(Shard, Vec<Missing>)> {
    thread::scope(|scope| {
        let begin = |(place, is_primary): (Place, bool)| {
            let there = place.clone();
            (there, is_primary, scope.spawn(move || Node::connect(place, is_primary, is_cluster, within)))
        };
        let begun: Vec<Vec<_>> = groups.into_iter().map(|group| group.places().map(begin).collect()).collect();
        let ended = begun.into_iter().map(|group| {
            let (mut shard, mut missing) = (Shard::default(), Vec::new());
            for (place, is_primary, connecting) in group {
                match connecting.join().unwrap_or_else(|_| Err(Refusal::odd(&place, "our greeting"))) {
                    Ok(node) if is_primary => shard.primary = Some(node),
                    Ok(node) => shard.replicas.push(node),
                    Err(refusal) => missing.push(Missing { place, is_primary, is_covered: false, refusal }),
                }
            }
            (shard, missing)
        });
        ended.collect()
    })
}
