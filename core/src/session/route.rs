//! Which server a call goes to.

use std::sync::Arc;

use crate::base::endpoint::Endpoint;
use crate::base::error::{Code, Error, Result};
use crate::session::node::Node;

/// How a client's calls find their servers, in one process.
pub(crate) enum Route {
    /// Nowhere: they are done in this process.
    Memory,
    /// Always to the server of the URL.
    Fixed(Arc<Node>),
}

impl Route {
    pub fn new(endpoint: &Endpoint) -> Route {
        match endpoint {
            Endpoint::Memory(_) => Route::Memory,
            Endpoint::Redis(server) => Route::Fixed(Node::new(server.clone())),
        }
    }

    /// The server for a key.
    ///
    /// # Errors
    /// `internal` for memory, to which nothing connects.
    pub fn node_for(&self, _key: &[u8]) -> Result<Arc<Node>> {
        match self {
            Route::Fixed(node) => Ok(node.clone()),
            Route::Memory => Err(Error::new(Code::Internal, "memory:// has no connections")),
        }
    }

    /// A server at which messages are heard, whichever was asked to publish them.
    ///
    /// # Errors
    /// As [`node_for`](Route::node_for).
    pub fn any_node(&self) -> Result<Arc<Node>> {
        self.node_for(&[])
    }

    /// Whether a call with this key goes to this server, as far as is known without starting it.
    pub fn leads_to(&self, _key: &[u8], node: &Node) -> bool {
        match self {
            Route::Fixed(only) => only.number == node.number,
            Route::Memory => false,
        }
    }

    /// Closes the connections that lie idle.
    pub fn close(&self) {
        match self {
            Route::Memory => {}
            Route::Fixed(node) => node.pool.close(),
        }
    }
}
