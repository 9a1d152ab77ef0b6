//! A Redis Cluster: which of its servers serves which slots, as far as this process knows.
//!
//! What is known is corrected by whom it misleads: a server that is asked for what it does not serve names the one that does,
//! and who takes the place of a primary that has gone is found by asking its replicas. The whole map is asked for at the
//! beginning, and after a doubt at a moment that each process chooses for itself.

pub(crate) mod layout;
mod map;
mod search;
pub mod slot;
mod survey;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use crate::base::endpoint::{Seeds, Server};
use crate::base::error::{Code, Error};
use crate::base::random;
use crate::call::breaker::{Breaker, NotSent};
use crate::session::discovery::{Discovery, Pace};
use crate::session::node::Node;

use map::Map;
use survey::Survey;

/// Where a call goes.
pub(crate) enum Way {
    To(Arc<Node>),
    /// Nobody is known to serve its slot: to this one, who may know better, else it comes to this error.
    Guess(Arc<Node>, Error),
    /// The servers have to be found first.
    Unknown,
    /// There is no server for it, as far as is known.
    Nowhere(NotSent),
}

/// What one process knows of one cluster.
pub(crate) struct Cluster {
    seeds: Seeds,
    map: RwLock<Map>,
    pub(crate) discovery: Discovery,
    /// When to ask for the map again.
    pub(crate) pace: Pace,
    /// The epoch of the map.
    epoch: AtomicU64,
    /// What servers said behind answers, and was not believed on their word alone.
    hearsay: Mutex<Survey>,
    /// Keeps calls from searching in vain while no map is known.
    absence: Breaker,
    closed: AtomicBool,
}

impl Cluster {
    pub(crate) fn new(seeds: &Seeds) -> Cluster {
        Cluster {
            seeds: seeds.clone(),
            map: RwLock::default(),
            discovery: Discovery::default(),
            pace: Pace::default(),
            epoch: AtomicU64::new(0),
            hearsay: Mutex::default(),
            absence: Breaker::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server for a slot. `timeout` is what calls of this client have.
    pub(crate) fn way(&self, slot: u16, timeout: Duration) -> Way {
        let map = self.read();
        if let Some(node) = map.primary_of(slot) {
            return Way::To(node.clone());
        }
        if !map.is_known() {
            drop(map);
            return match self.absence.admit(timeout) {
                Ok(()) => Way::Unknown,
                Err(refused) => Way::Nowhere(refused),
            };
        }
        let guess = map.about_a_hole(Instant::now());
        drop(map);
        if self.pace.is_due(Instant::now) {
            return Way::Unknown;
        }
        self.doubt();
        let message = format!(
            "no server of the cluster at {} serves slot {slot}: look at CLUSTER SLOTS, and give the slot to a server",
            self.seeds
        );
        let error = Error::new(Code::Unavailable, message);
        match guess {
            Some(node) => Way::Guess(node, error),
            None => Way::Nowhere(NotSent { error: Some(error), retry_after: Duration::ZERO }),
        }
    }

    /// Who serves a slot, as far as is known.
    pub(crate) fn primary_of(&self, slot: u16) -> Option<Arc<Node>> {
        self.read().primary_of(slot).cloned()
    }

    /// How many servers were heard of, and not forgotten.
    pub(crate) fn remembered(&self) -> usize {
        self.read().nodes().count()
    }

    /// Whether a slot is a server's, as far as is known.
    pub(crate) fn is_at(&self, slot: u16, node: &Node) -> bool {
        self.read().primary_of(slot).is_some_and(|primary| primary.number == node.number)
    }

    /// The server that tells those who wait for a key of this slot, or any if nobody is known to have it; none if the servers
    /// have to be found first.
    pub(crate) fn teller(&self, slot: u16) -> Option<Arc<Node>> {
        let map = self.read();
        if let Some(primary) = map.primary_of(slot) {
            return Some(primary.clone());
        }
        let nodes: Vec<&Arc<Node>> = map.primaries().collect();
        let sound: Vec<_> = nodes.iter().filter(|node| !node.breaker.is_open()).copied().collect();
        let nodes = if sound.is_empty() { nodes } else { sound };
        nodes.get(usize::from(luck()) * nodes.len() / 256).map(|node| Arc::clone(node))
    }

    /// `from` says that a slot has moved to this address: the server there.
    pub(crate) fn moved(&self, slot: u16, address: &str, from: &Node) -> Option<Arc<Node>> {
        let node = self.node_at(address, from)?;
        self.write().give(slot, &node);
        self.doubt();
        Some(node)
    }

    /// The server at an address that `from` has named.
    pub(crate) fn node_at(&self, address: &str, from: &Node) -> Option<Arc<Node>> {
        let (host, _) = from.server.place()?;
        let (host, port) = layout::redirected(address, host, &self.seeds.host_map)?;
        self.node(&host, port)
    }

    /// The server at this host and port; none if as many were named as no cluster has, until the map tells which there are.
    fn node(&self, host: &str, port: u16) -> Option<Arc<Node>> {
        if let Some(node) = self.read().node(host, port) {
            return Some(node.clone());
        }
        let server = self.seeds.server_at(host, port)?;
        self.write().node_or(host, port, || self.new_node(server))
    }

    fn new_node(&self, server: Server) -> Arc<Node> {
        let node = Node::new(server);
        if self.closed.load(Ordering::Relaxed) {
            node.pool.close();
        }
        node
    }

    /// Why a server cannot be reached, with a cure if it never was, and others have named it.
    pub(crate) fn explained(&self, node: &Node, error: Error) -> Error {
        if node.breaker.has_answered() || self.seeds.servers.contains(&node.server) {
            return error;
        }
        let message = format!(
            "{}; the cluster calls it so: if it is called otherwise from here, say so by host_map= in the url",
            error.message()
        );
        Error::new(error.code(), message)
    }

    /// Another server that may serve a slot by now, since `tried` cannot be reached, or is cut off from the others; after the
    /// first of a call none of those `asked`.
    pub(crate) fn stand_by(&self, slot: u16, tried: &Node, asked: &[u64]) -> Option<Arc<Node>> {
        self.doubt();
        match asked {
            [] => self.read().stand_by(slot, tried, Instant::now()),
            asked => self.read().another(slot, tried, asked),
        }
    }

    /// A server that was asked in place of a slot's primary says that it still is the primary, or none knows better.
    pub(crate) fn confirmed(&self, slot: u16) {
        self.read().confirmed(slot, Instant::now());
    }

    /// A server that was asked in place of a slot's primary has done what only a primary does.
    pub(crate) fn promoted(&self, slot: u16, node: &Arc<Node>) {
        self.write().give(slot, node);
        self.doubt();
    }

    /// Something says that the map is not right any more.
    pub(crate) fn doubt(&self) {
        self.pace.want(Instant::now(), luck);
    }

    /// Closes the connections that lie idle.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.read().nodes().for_each(|node| node.pool.close());
    }
}

/// A number of 0 to 255 that no other process has but by chance.
fn luck() -> u8 {
    random::bytes::<1>().map_or(128, |[luck]| luck)
}
