//! What decides by the same policies while Redis cannot (`on_error = local`), and when that is forgotten.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::base::error::Result;
use crate::call::operation::Operation;
use crate::call::resp::Value;
use crate::memory::store::MemoryStore;

/// When Redis has taken every write for so long, all that stood in for it is forgotten.
const QUIET: Duration = Duration::from_secs(60);

/// The memory of one client in one process.
///
/// A key is forgotten when Redis has written it: that it answers what only reads proves nothing, since a Redis that is full
/// or was demoted does so, and a stand-in that begins anew with each answer limits nothing.
#[derive(Default)]
pub(crate) struct StandIn {
    memory: MemoryStore,
    /// Whether anything may stand in it.
    in_use: AtomicBool,
    last: Mutex<Option<Instant>>,
}

impl StandIn {
    /// Runs an operation's twin, in place of its script.
    pub fn run(&self, operation: &dyn Operation, time: Option<u64>) -> Result<Vec<Value>> {
        self.in_use.store(true, Ordering::Relaxed);
        if let Ok(mut last) = self.last.lock() {
            *last = Some(Instant::now());
        }
        self.memory.run(operation, time)
    }

    /// Whether it is of interest that Redis has written something.
    pub fn is_in_use(&self) -> bool {
        self.in_use.load(Ordering::Relaxed)
    }

    /// Redis has written the keys of this operation: it decides about them again.
    pub fn redis_wrote(&self, operation: &dyn Operation) {
        let last = self.last.lock().ok().and_then(|last| *last);
        self.redis_wrote_after(operation, last.map_or(QUIET, |last| last.elapsed()));
    }

    fn redis_wrote_after(&self, operation: &dyn Operation, quiet: Duration) {
        if quiet >= QUIET {
            self.in_use.store(false, Ordering::Relaxed);
            self.memory.clear();
        } else {
            self.memory.forget((0..).map_while(|at| operation.key(at)));
        }
    }
}
