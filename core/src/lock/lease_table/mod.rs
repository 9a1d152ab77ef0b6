//! Locks of every kind as one state machine: a table of leases under one Redis key, and what is done with it.
//!
//! A table has permits; holders have some of them until a deadline, others wait. See ADR 10.

mod acquire;
mod adopt;
mod extend;
mod force_release;
mod inspect;
mod release;
mod stored;
mod table;
#[cfg(test)]
mod tests;

use table::LeaseTable;
use wire::base::error::Result;
use wire::base::fork::ForkCell;
use wire::base::format::{CHECK_FORMAT, FORMAT_OF_SCRIPTS};
use wire::base::host;
pub use wire::call::hint::{AttemptId, Channel};
use wire::call::hint::{SHARDED, TELL};
use wire::call::lua::{Constants, EXACT};
use wire::call::script::NamedScript;
use wire::call::space::Space;
use wire::reactor::LONGEST_REST;

pub use acquire::{Acquire, AcquireOutcome, Grant};
pub use adopt::Adopt;
pub use extend::ExtendLease;
pub use force_release::ForceRelease;
pub use inspect::{Holder, Inspect, Inspection};
pub use release::Release;
pub use stored::{StoredLock, StoredWaiter};

/// How long a waiter is remembered after it asked, in microseconds.
pub(crate) const HEARTBEAT: u64 = 1_500_000;
const _: () = assert!(HEARTBEAT > LONGEST_REST.as_micros() as u64, "a waiter would be forgotten between two questions");
/// For how long a waiter that only wants a hint goes before newcomers once it was told, in microseconds.
pub(crate) const RIGHT_OF_WAY: u64 = 50_000;
/// For how long a waiter that only wants a hint may be overtaken; from then on it waits in order. In microseconds.
pub(crate) const PATIENCE: u64 = 500_000;
/// The most holders of a table.
pub(crate) const MOST_HOLDERS: usize = 1_024;
/// The most waiters of a table.
pub(crate) const MOST_WAITERS: usize = 1_024;
/// The most tombstones of a table; the oldest goes first.
pub(crate) const MOST_TOMBSTONES: usize = 1_024;
/// A tombstone that would stand for longer is from before the clock went back, in microseconds.
pub const LONGEST_TOMBSTONE: u64 = 3_700_000_000;
/// How long a table is kept after its last lease, in milliseconds: a day.
pub(crate) const TABLE_MEMORY: u64 = 86_400_000;
/// The permits of a read-write lock; a writer takes all of them.
pub const ALL_PERMITS: u64 = 1 << 31;
/// The highest token that a caller may want to be exceeded.
pub const MAX_FLOOR: u64 = 1 << 52;
/// The most bytes of who holds.
pub const MAX_WHO_BYTES: usize = 256;

/// How a caller waits if it is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum QueueMode {
    /// Not at all.
    #[default]
    No = 0,
    /// For a hint that it is worth asking again; before those who come later once it has waited for half a second.
    Hint = 1,
    /// Before everybody who comes later, for a hint as well.
    Order = 2,
}

/// The name of the host and the number of this process, asked of the system once: an acquisition takes no system call for them.
static HERE: ForkCell<(String, u64)> = ForkCell::new();

/// What tells a holder from others, for people: host, process and label, one a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub host: String,
    /// 0 if it did not say.
    pub pid: u64,
    pub label: String,
}

impl Who {
    /// This process, under a label.
    pub fn here(label: &str) -> Who {
        let (host, pid) = HERE.get_or_init(|| (host::name(), u64::from(std::process::id())));
        Who { host: host.clone(), pid: *pid, label: label.to_owned() }
    }

    pub fn encode(&self) -> Vec<u8> {
        format!("{}\n{}\n{}", self.host, self.pid, self.label).into_bytes()
    }

    /// Reads what another wrote; what it left out is empty.
    pub fn decode(bytes: &[u8]) -> Who {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.splitn(3, '\n');
        let mut next = || lines.next().unwrap_or("").to_owned();
        Who { host: next(), pid: next().parse().unwrap_or(0), label: next() }
    }
}

/// How long a table is kept whose last lease lasts for so many microseconds, in milliseconds.
fn kept_for(lease: u64) -> u64 {
    TABLE_MEMORY + lease.div_ceil(1_000)
}

/// Reads the tables of all keys, without the holder that leaves.
fn load_all(space: &dyn Space, keys: &[Vec<u8>], now: u64, leaving: Option<&AttemptId>) -> Result<Vec<LeaseTable>> {
    keys.iter().map(|key| Ok(LeaseTable::load(space.get(key)?, now, leaving))).collect()
}

/// Writes a table and tells the waiters that were found for its permits.
fn save(space: &mut dyn Space, key: &[u8], table: &LeaseTable, now: u64, told: &[usize], wake_prefix: &[u8]) {
    space.set(key, table::encode(table), table.memory(now));
    for waiter in told.iter().filter_map(|at| table.waiters.get(*at)) {
        space.publish(&[wake_prefix, &waiter.channel].concat(), &waiter.id);
    }
}

/// The numbers that the scripts and the twins know by a name.
const CONSTANTS: &Constants = &[
    ("EXACT", EXACT),
    ("SHARDED", SHARDED as u64),
    ("HEAD", table::HEAD as u64),
    FORMAT_OF_SCRIPTS,
    ("TOMBSTONE", table::TOMBSTONE_SIZE as u64),
    ("WAITER", table::WAITER_SIZE as u64),
    ("HOLDER", table::HOLDER_SIZE as u64),
    ("TOLD", table::TOLD as u64),
    ("HEARTBEAT", HEARTBEAT),
    ("RIGHT_OF_WAY", RIGHT_OF_WAY),
    ("PATIENCE", PATIENCE),
    ("MOST_HOLDERS", MOST_HOLDERS as u64),
    ("MOST_WAITERS", MOST_WAITERS as u64),
    ("MOST_TOMBSTONES", MOST_TOMBSTONES as u64),
    ("LONGEST_TOMBSTONE", LONGEST_TOMBSTONE),
    ("TABLE_MEMORY", TABLE_MEMORY),
    ("REFUSED", acquire::REFUSED),
    ("GRANTED", acquire::GRANTED),
    ("CANCELLED", acquire::CANCELLED),
];
/// The usual cases have names of their own.
const BLOCK: &str = "do\n";
const END: &str = "end\n";
const CODEC: &str = include_str!("codec.lua");
const LOAD: &str = include_str!("load.lua");
const FIND: &str = include_str!("find.lua");
const PLACE: &str = include_str!("place.lua");
const READ_SIMPLE: &str = include_str!("read_simple.lua");
const RENEW: &str = include_str!("renew.lua");
const SAVE: &str = include_str!("save.lua");
const WAKE: &str = include_str!("wake.lua");

const fn script(name: &'static str, fragments: &'static [&'static str]) -> NamedScript {
    NamedScript::new(name, CONSTANTS, fragments)
}

static ACQUIRE: NamedScript = script(
    "lease-acquire",
    &[
        BLOCK,
        READ_SIMPLE,
        include_str!("acquire_simple.lua"),
        END,
        CHECK_FORMAT,
        CODEC,
        LOAD,
        FIND,
        PLACE,
        RENEW,
        SAVE,
        TELL,
        WAKE,
        include_str!("acquire.lua"),
    ],
);
static RELEASE: NamedScript = script(
    "lease-release",
    &[
        BLOCK,
        READ_SIMPLE,
        include_str!("release_simple.lua"),
        END,
        CHECK_FORMAT,
        CODEC,
        LOAD,
        FIND,
        SAVE,
        TELL,
        WAKE,
        include_str!("release.lua"),
    ],
);
static EXTEND: NamedScript = script(
    "lease-extend",
    &[
        BLOCK,
        READ_SIMPLE,
        include_str!("extend_simple.lua"),
        END,
        CHECK_FORMAT,
        CODEC,
        LOAD,
        FIND,
        RENEW,
        SAVE,
        include_str!("extend.lua"),
    ],
);
static ADOPT: NamedScript =
    script("lease-adopt", &[CHECK_FORMAT, CODEC, LOAD, FIND, RENEW, SAVE, include_str!("adopt.lua")]);
static INSPECT: NamedScript = script("lease-inspect", &[CHECK_FORMAT, CODEC, LOAD, include_str!("inspect.lua")]);
static FORCE_RELEASE: NamedScript =
    script("lease-force-release", &[CHECK_FORMAT, CODEC, LOAD, SAVE, TELL, WAKE, include_str!("force_release.lua")]);

/// The scripts of locks.
pub(crate) fn scripts() -> Vec<(String, String)> {
    [&ACQUIRE, &RELEASE, &EXTEND, &ADOPT, &INSPECT, &FORCE_RELEASE].map(|script| script.listed()).into()
}
