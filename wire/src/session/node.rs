//! One server, with what this process has of it: connections, and what is remembered of its failures.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::base::endpoint::{Address, Server};
use crate::base::error::{Code, Error, Result};
use crate::call::breaker::{Breaker, RefusalBreaker};
use crate::connection::deadline::CallDeadline;
use crate::connection::dial::dial;
use crate::connection::sentinel;
use crate::connection::wire::Wire;
use crate::metrics::{Trouble, breaker_gauge};

/// The longest time between two searches for a primary: Sentinels name the next one within seconds.
const SEARCH_AGAIN: Duration = Duration::from_millis(50);

/// So long a server is believed that says that its cluster is down.
const CUT_OFF: Duration = Duration::from_secs(1);

/// Idle connections kept beyond this number are closed.
const KEPT: usize = 128;

/// One server of one client, in one process.
pub(crate) struct Node {
    /// No other node of this process has it, nor ever had.
    pub(crate) number: u64,
    /// Where it is, and who logs in.
    pub(crate) server: Server,
    /// Whether it was away a moment ago.
    pub(crate) breaker: Breaker,
    /// What it refused a moment ago.
    pub(crate) refusal_breaker: RefusalBreaker,
    /// Its idle connections.
    pub(crate) pool: Pool,
    /// Held by every link to this server that is connected.
    connected: Arc<()>,
    /// Whether no call goes there any more.
    retired: AtomicBool,
    /// When it said last that its cluster is down, in microseconds after `base`; 0 if it has served since.
    cut_off: AtomicU64,
    base: Instant,
}

impl Node {
    /// A server that nothing is known of.
    pub(crate) fn new(server: Server) -> Arc<Node> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let gauge = |trouble| breaker_gauge(&server.to_string(), trouble);
        Arc::new(Node {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            breaker: Breaker::with_gauge(gauge(Trouble::Unreachable)),
            refusal_breaker: RefusalBreaker::with_gauge(gauge(Trouble::Refusing)),
            server,
            pool: Pool::default(),
            connected: Arc::default(),
            retired: AtomicBool::new(false),
            cut_off: AtomicU64::new(0),
            base: Instant::now(),
        })
    }

    /// An idle connection that still has its peer, or a new one. `timeout` is what calls of this client have.
    pub(crate) fn connect(
        &self,
        timeout: Duration,
        deadline: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Wire> {
        while let Some(wire) = self.pool.take() {
            if !self.is_elsewhere(wire.epoch) {
                return Ok(wire);
            }
        }
        let began = Instant::now();
        match dial(&self.server, &mut CallDeadline::new(deadline, interrupted)) {
            Ok(connection) => {
                self.reached(connection.epoch);
                Ok(Wire::new(connection))
            }
            Err(error) => {
                // An interruption says nothing about the server, nor does a dial that had little time left.
                let hurried = error.code() == Code::Timeout && deadline < began + timeout / 2;
                if error.code() != Code::Internal && !hurried {
                    self.not_reached(began.elapsed(), &error);
                }
                Err(error)
            }
        }
    }

    /// No call goes there any more: links to it are given up when they have their answers.
    pub(crate) fn retire(&self, is_retired: bool) {
        self.retired.store(is_retired, Ordering::Relaxed);
    }

    /// Whether the cluster has it no more.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// It says that its cluster is down, or that it serves again. Other servers may see a majority that it does not see.
    pub(crate) fn says_cut_off(&self, is_cut_off: bool) {
        if is_cut_off {
            self.cut_off.store(self.base.elapsed().as_micros() as u64 + 1, Ordering::Relaxed);
        } else if self.cut_off.load(Ordering::Relaxed) != 0 {
            self.cut_off.store(0, Ordering::Relaxed);
        }
    }

    /// Whether it said a moment ago that its cluster is down.
    pub(crate) fn is_cut_off(&self) -> bool {
        let then = self.cut_off.load(Ordering::Relaxed);
        then != 0 && (self.base.elapsed().as_micros() as u64) < then + CUT_OFF.as_micros() as u64
    }

    /// Whether the server is elsewhere than a connection of this epoch.
    pub(crate) fn is_elsewhere(&self, epoch: u64) -> bool {
        if let Address::Watched(watched) = &self.server.address {
            sentinel::listen(watched);
            return epoch != watched.epoch();
        }
        false
    }

    /// A new connection was made.
    pub(crate) fn reached(&self, epoch: u64) {
        self.breaker.success();
        if self.server.is_watched() {
            self.pool.leave_all_but(epoch);
        }
    }

    /// No connection could be made, which took so long.
    pub(crate) fn not_reached(&self, cost: Duration, error: &Error) {
        match self.server.is_watched() {
            true => self.breaker.failure_within(cost, SEARCH_AGAIN, error),
            false => self.breaker.failure(cost, error),
        }
    }

    /// For a link to hold while it is connected.
    pub(crate) fn connected(&self) -> Arc<()> {
        self.connected.clone()
    }

    /// Whether there is a connection, whatever became of the last attempt to make one.
    pub(crate) fn is_connected(&self) -> bool {
        Arc::strong_count(&self.connected) > 1 || self.pool.has_idle()
    }
}

/// The idle connections to one server, for the next calls of its client in one process.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<IdleConnections>,
}

#[derive(Default)]
struct IdleConnections {
    connections: Vec<Wire>,
    closed: bool,
}

impl Pool {
    /// One that still has its peer.
    pub(crate) fn take(&self) -> Option<Wire> {
        let pop = || self.idle.lock().ok()?.connections.pop();
        std::iter::from_fn(pop).find_map(|mut wire| (!wire.hung_up()).then_some(wire))
    }

    /// Whether a connection lies ready.
    pub(crate) fn has_idle(&self) -> bool {
        self.idle.lock().is_ok_and(|idle| !idle.connections.is_empty())
    }

    /// Keeps one for the next call, unless something lies on it.
    pub(crate) fn give_back(&self, mut wire: Wire) {
        // Bytes behind the reply would be taken for the answer to the next call.
        if wire.is_drained()
            && let Ok(mut idle) = self.idle.lock()
            && !idle.closed
            && idle.connections.len() < KEPT
        {
            idle.connections.push(wire);
        }
    }

    /// Closes the idle connections that nothing was heard on since `then`: where one call waited in vain, they would
    /// cost their next callers a timeout each, while a new connection tells at once what is the matter.
    pub(crate) fn distrust(&self, then: Instant) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.connections.retain(|wire| wire.last_used >= then);
        }
    }

    /// Closes the idle connections to where the server was before.
    pub(crate) fn leave_all_but(&self, epoch: u64) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.connections.retain(|wire| wire.epoch == epoch);
        }
    }

    /// Closes the idle connections; those at work close when they come back.
    pub(crate) fn close(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.closed = true;
            idle.connections.clear();
        }
    }
}
