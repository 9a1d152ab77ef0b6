//! Which server a call goes to.
//!
//! A route that has to find its servers first answers `Way::Unknown`: the call's driver has them found (`Session::discover` on its own
//! thread, `Session::discover_elsewhere` on another), and starts the call again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::endpoint::Endpoint;
use crate::base::error::{Code, Error, Result};
use crate::call::breaker::NotSent;
use crate::connection::wire::Wire;
use crate::session::cluster::Cluster;
pub(crate) use crate::session::cluster::Way;
use crate::session::discovery::Discovery;
use crate::session::node::Node;

/// How a client's calls find their servers, in one process.
pub(crate) enum Route {
    /// Nowhere: they are done in this process.
    Memory,
    /// Always to the server of the URL.
    Fixed(Arc<Node>),
    /// To the server of a Redis Cluster that serves the slot of the key.
    Cluster(Box<Cluster>),
}

impl Route {
    pub(crate) fn new(endpoint: &Endpoint) -> Route {
        match endpoint {
            Endpoint::Memory(_) => Route::Memory,
            Endpoint::Redis(server) => Route::Fixed(Node::new(server.clone())),
            Endpoint::Cluster(seeds) => Route::Cluster(Box::new(Cluster::new(seeds))),
        }
    }

    /// Where a call goes whose key lies in this slot. `timeout` is what calls of this client have.
    pub(crate) fn way(&self, slot: u16, timeout: Duration) -> Way {
        match self {
            Route::Fixed(node) => Way::To(node.clone()),
            Route::Cluster(cluster) => cluster.way(slot, timeout),
            Route::Memory => {
                let error = Error::new(Code::Internal, "memory:// has no connections");
                Way::Nowhere(NotSent { error: Some(error), retry_after: Duration::ZERO })
            }
        }
    }

    /// The cluster, if it is one.
    pub(crate) fn cluster(&self) -> Option<&Cluster> {
        match self {
            Route::Cluster(cluster) => Some(cluster),
            _ => None,
        }
    }

    /// A call of a server failed, or was refused, in a way that lets doubt whether it is the right one.
    pub(crate) fn doubt(&self) {
        if let Route::Cluster(cluster) = self {
            cluster.doubt();
        }
    }

    /// The server that tells those who wait for a key of this slot; none if the servers have to be found first.
    pub(crate) fn teller(&self, slot: u16) -> Result<Option<Arc<Node>>> {
        match self {
            Route::Fixed(node) => Ok(Some(node.clone())),
            Route::Cluster(cluster) => Ok(cluster.teller(slot)),
            Route::Memory => Err(Error::new(Code::Internal, "memory:// has no connections")),
        }
    }

    /// The search for servers; none if there is nothing to be found.
    pub(super) fn discovery(&self) -> Option<&Discovery> {
        match self {
            Route::Cluster(cluster) => Some(&cluster.discovery),
            Route::Memory | Route::Fixed(_) => None,
        }
    }

    /// Looks for the servers; to be done by one at a time.
    pub(super) fn search(
        &self,
        timeout: Duration,
        deadline: Instant,
        keep: bool,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        match self {
            Route::Cluster(cluster) => cluster.search(timeout, deadline, keep, interrupted),
            Route::Memory | Route::Fixed(_) => Ok(()),
        }
    }

    /// How many searches have ended.
    pub(crate) fn searches(&self) -> u64 {
        self.discovery().map_or(0, Discovery::searches_ended)
    }

    /// Whether it is time to look for the servers again, while calls go on.
    pub(crate) fn is_search_due(&self) -> bool {
        matches!(self, Route::Cluster(cluster) if cluster.pace.is_due(Instant::now))
    }

    /// Looks for the servers again if it is time, on the connection of a call that was just answered and within its deadline.
    /// False if the connection is of no use any more.
    pub(crate) fn look(&self, wire: &mut Wire, node: &Node, deadline: Instant) -> bool {
        match self {
            Route::Cluster(cluster) => cluster.look(wire, node, deadline),
            Route::Memory | Route::Fixed(_) => true,
        }
    }

    /// Closes the connections that lie idle.
    pub(crate) fn close(&self) {
        match self {
            Route::Memory => {}
            Route::Fixed(node) => node.pool.close(),
            Route::Cluster(cluster) => cluster.close(),
        }
    }
}
