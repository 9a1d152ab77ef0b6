//! What a table promises, transition by transition; that scripts do the same is for `tests/rust/tests/all/twin_lease`.

mod ending;
mod granting;
mod order;
mod storing;
mod waiting;

use std::sync::Arc;

use super::table::{LeaseTable, Waiter};
use super::{
    ALL_PERMITS, Acquire, AcquireOutcome, AttemptId, ExtendLease, ForceRelease, Grant, HEARTBEAT, Inspect, Inspection,
    LONGEST_TOMBSTONE, MOST_HOLDERS, MOST_TOMBSTONES, MOST_WAITERS, QueueMode, Release, TABLE_MEMORY, table,
};
use super::{PATIENCE, RIGHT_OF_WAY};
use wire::base::source::Source;
use wire::call::answer::Answer;
use wire::call::command::Command;
use wire::call::space::{Planted, Space};
use wire::memory::store::MemoryStore;

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const TTL: u64 = 10 * SECOND;
const A: AttemptId = [1; 16];
const B: AttemptId = [2; 16];
const C: AttemptId = [3; 16];
const D: AttemptId = [4; 16];

/// Tables of one kind of lock in a time of their own.
struct Locks {
    store: MemoryStore,
    permits: u64,
    now: u64,
    keys: Arc<[Vec<u8>]>,
}

impl Locks {
    fn with(permits: u64) -> Locks {
        Locks { store: MemoryStore::default(), permits, now: START, keys: [b"k".to_vec()].into() }
    }

    /// The same tables, several in one call.
    fn several(&mut self, keys: &[&str]) -> &Locks {
        self.keys = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        self
    }

    fn run(&self, command: &dyn Command) -> Answer {
        let mut reply = self.store.run(command, Some(self.now)).unwrap();
        command.decode(&mut reply[2..], Source::Memory.into()).unwrap()
    }

    fn call(&self, id: AttemptId) -> Acquire {
        Acquire {
            keys: self.keys.clone(),
            id,
            ttl: TTL,
            floor: 0,
            permits: self.permits,
            weight: 1,
            queue: QueueMode::No,
            channel: *b"0123456789abcdef",
            wake_prefix: b"wake:".as_slice().into(),
            who: id[..1].into(),
            instead_of: None,
            waited: 0,
            token: 0,
            shown: "it".into(),
        }
    }

    fn ask(&self, call: Acquire) -> Grant {
        let grant: Grant = self.run(&call).take().unwrap();
        grant
    }

    /// The token, if it was granted.
    fn take(&self, call: Acquire) -> Option<u64> {
        let AcquireOutcome::Granted { token, .. } = self.ask(call).outcome else { return None };
        Some(token)
    }

    fn acquire(&self, id: AttemptId) -> Option<u64> {
        self.take(self.call(id))
    }

    fn wait(&self, id: AttemptId, queue: QueueMode) -> Option<u64> {
        self.take(Acquire { queue, ..self.call(id) })
    }

    fn weighing(&self, id: AttemptId, weight: u64, queue: QueueMode) -> Option<u64> {
        self.take(Acquire { weight, queue, ..self.call(id) })
    }

    fn release_and_cancel(&self, id: AttemptId, cancel: u64) -> bool {
        let (keys, wake_prefix) = (self.keys.clone(), b"wake:".as_slice().into());
        let call = Release { keys, id, cancel, permits: self.permits, wake_prefix, shown: "it".into() };
        self.run(&call).take().unwrap()
    }

    fn release(&self, id: AttemptId) -> bool {
        self.release_and_cancel(id, 0)
    }

    fn extend(&self, id: AttemptId, ttl: u64) -> bool {
        let call = ExtendLease { keys: self.keys.clone(), id, ttl, shown: "it".into() };
        self.run(&call).take().unwrap()
    }

    fn inspect(&self) -> Inspection {
        let call = Inspect { keys: self.keys.clone(), shown: "it".into() };
        let inspection: Inspection = self.run(&call).take().unwrap();
        inspection
    }

    fn table(&self, key: &str) -> LeaseTable {
        self.stored(key).and_then(|value| table::decode(&value)).unwrap_or_default()
    }

    fn stored(&self, key: &str) -> Option<Vec<u8>> {
        self.with_space(|space| space.get(key.as_bytes()).unwrap().map(<[u8]>::to_vec))
    }

    fn with_space<T>(&self, look: impl FnOnce(&mut dyn Space) -> T) -> T {
        self.store.with_space(look)
    }

    /// Who was told, and did not ask again.
    fn told(&self, key: &str) -> Vec<AttemptId> {
        self.table(key).waiters.iter().filter(|waiter| waiter.told).map(|waiter| waiter.id).collect()
    }
}
