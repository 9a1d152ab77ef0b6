//! The servers that a URL names: every primary, and its replicas.
//!
//! [`find`] connects to all of them. One that cannot be reached is told in [`Servers::missing`], and the others go on; only if none
//! can be reached is it a failure.

mod node;
mod refusal;
mod topology;

use std::thread;

use quotalock::places::{Place, Target};

pub use node::Node;
pub use refusal::{Refusal, Why};

use crate::exit::Failure;

/// The servers that a URL names.
pub struct Servers {
    /// Each primary, with its replicas.
    pub shards: Vec<Shard>,
    /// Those that should be there and are not.
    pub missing: Vec<Missing>,
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

    /// The primaries that can be asked.
    pub fn primaries(&mut self) -> impl Iterator<Item = &mut Node> {
        self.shards.iter_mut().filter_map(|shard| shard.primary.as_mut())
    }
}

/// Connects to all servers that this URL names.
///
/// # Errors
/// If the URL is wrong, or no server can be reached; the message names it.
pub fn find(url: &str) -> Result<Servers, Failure> {
    let (groups, is_cluster) = match Target::parse(url)? {
        Target::Server(place) => (vec![topology::Group { primary: place, replicas: Vec::new() }], false),
        Target::Sentinel(watched) => (vec![topology::watched(&watched)?], false),
        Target::Cluster(seeds) => (topology::cluster(&seeds)?, true),
    };
    let mut servers = Servers { shards: Vec::new(), missing: Vec::new() };
    for (mut shard, mut missing) in connect(groups, is_cluster) {
        let is_covered = shard.nodes().next().is_some();
        missing.iter_mut().for_each(|one| one.is_covered = is_covered);
        servers.missing.append(&mut missing);
        if is_covered {
            servers.shards.push(shard);
        }
    }
    match servers.missing.first() {
        Some(first) if servers.shards.is_empty() => Err(first.refusal.clone().into()),
        _ => Ok(servers),
    }
}

/// Connects to all at once: one that does not answer keeps the others waiting no longer than itself.
fn connect(groups: Vec<topology::Group>, is_cluster: bool) -> Vec<(Shard, Vec<Missing>)> {
    thread::scope(|scope| {
        let begin = |(place, is_primary): (Place, bool)| {
            let there = place.clone();
            (there, is_primary, scope.spawn(move || Node::connect(place, is_primary, is_cluster)))
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
