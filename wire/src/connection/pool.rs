//! The idle connections of one client, for its next calls.

use std::sync::Mutex;
use std::time::Instant;

use super::wire::Wire;

/// Idle connections kept beyond this number are closed.
const KEPT: usize = 128;

/// The idle connections of one client in one process.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
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
