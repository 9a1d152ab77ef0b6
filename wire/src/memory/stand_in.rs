//! What decides by the same policies while Redis cannot (`on_error = local`).
//!
//! One table for all clients of the process; a child begins with its own. What was counted here stays counted until its window
//! ends, whatever Redis answers meanwhile: so what a process admits by itself fulfils the policy by itself. And it begins from
//! what Redis said last of the key: what that counted is not admitted again.

use crate::base::error::Result;
use crate::base::fork::ForkCell;
use crate::call::command::Command;
use crate::call::resp::Reply;
use crate::call::space::Lesson;
use crate::memory::store::{Bound, MemoryStore};

/// The most that is kept. What counts the smallest share of its limits makes room, what only says how much Redis counted before
/// what was counted here.
pub const BOUND: Bound = Bound { keys: 65_536, bytes: 32 << 20, value: 1 << 20 };

static TABLE: ForkCell<MemoryStore> = ForkCell::new();

/// The table of this process.
fn table() -> &'static MemoryStore {
    TABLE.get_or_init(|| MemoryStore::bounded(BOUND))
}

/// The keys of one server in the table.
#[derive(Clone, Copy)]
pub struct StandIn {
    server: u64,
}

impl StandIn {
    /// Of the server of this [identity](crate::base::endpoint::Endpoint::identity), for all who name it so.
    pub fn of(identity: &str) -> StandIn {
        let digest = sha1_smol::Sha1::from(identity).digest().bytes();
        StandIn { server: digest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)) }
    }

    /// Runs a command's twin, in place of its script; none if a key has counted more than there is room for. The second time is
    /// that of a clock that never goes back.
    pub(crate) fn run(self, command: &dyn Command, time: Option<u64>, steady: u64) -> Result<Option<Vec<Reply>>> {
        table().run_for(self.server, command, time, steady)
    }

    /// Notes what Redis said of a key at this time of a clock that never goes back.
    pub(crate) fn learn(self, key: &[u8], lesson: Lesson<'_>, steady: u64) {
        table().learn(self.server, key, lesson, steady);
    }
}
