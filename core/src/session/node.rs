//! One server, with what this process has of it: connections, and what is remembered of its failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::endpoint::Server;
use crate::base::error::{Code, Result};
use crate::call::breaker::Breaker;
use crate::call::refusal_breaker::RefusalBreaker;
use crate::connection::deadline::CallDeadline;
use crate::connection::dial::dial;
use crate::connection::pool::Pool;
use crate::connection::wire::Wire;

/// One server of one client, in one process.
pub(crate) struct Node {
    /// No other node of this process has it, nor ever had.
    pub number: u64,
    pub server: Server,
    pub breaker: Breaker,
    pub refusal_breaker: RefusalBreaker,
    pub pool: Pool,
    /// Held by every link to this server that is connected.
    connected: Arc<()>,
    /// Whether no call goes there any more.
    retired: AtomicBool,
}

impl Node {
    pub fn new(server: Server) -> Arc<Node> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new(Node {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            server,
            breaker: Breaker::default(),
            refusal_breaker: RefusalBreaker::default(),
            pool: Pool::default(),
            connected: Arc::default(),
            retired: AtomicBool::new(false),
        })
    }

    /// An idle connection that still has its peer, or a new one. `timeout` is what calls of this client have.
    pub fn connect(&self, timeout: Duration, deadline: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<Wire> {
        if let Some(wire) = self.pool.take() {
            return Ok(wire);
        }
        let began = Instant::now();
        match dial(&self.server, &mut CallDeadline::new(deadline, interrupted)) {
            Ok(connection) => {
                self.breaker.success();
                Ok(Wire::new(connection))
            }
            Err(error) => {
                // An interruption says nothing about the server, nor does a dial that had little time left.
                let hurried = error.code() == Code::Timeout && deadline < began + timeout / 2;
                if error.code() != Code::Internal && !hurried {
                    self.breaker.failure(began.elapsed(), &error);
                }
                Err(error)
            }
        }
    }

    /// No call goes there any more: links to it are given up when they have their answers.
    pub fn retire(&self, is_retired: bool) {
        self.retired.store(is_retired, Ordering::Relaxed);
    }

    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// For a link to hold while it is connected.
    pub fn connected(&self) -> Arc<()> {
        self.connected.clone()
    }

    /// Whether there is a connection, whatever became of the last attempt to make one.
    pub fn is_connected(&self) -> bool {
        Arc::strong_count(&self.connected) > 1 || self.pool.has_idle()
    }
}
