//! `memory://`: everything in this process, decided by the Rust twins of the scripts.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;

use crate::base::clock::wall_micros;
use crate::base::error::{Result, wrong_type};
use crate::base::hash;
use crate::call::operation::Operation;
use crate::call::resp::Value;
use crate::call::space::{Object, Planted, Space};

/// How many parts a store has, each with a lock of its own.
const SHARDS: usize = 16;
/// A part looks for expired keys when it has doubled since the last time, but not below this size.
const SWEEP_FROM: usize = 64;
/// What is set in a test's own time is kept for so many microseconds longer, since TTLs run in real time, as on a server: an hour.
const TEST_GRACE: u64 = 3_600_000_000;

enum Kept {
    Text(Vec<u8>),
    List,
    Object(Box<Object>),
}

struct Entry {
    key: Box<[u8]>,
    kept: Kept,
    /// Microseconds; none is forever.
    expires: Option<u64>,
    /// For how much longer it is not forgotten, since a test set its time.
    grace: u64,
}

impl Entry {
    fn is_live(&self, wall: u64) -> bool {
        self.expires.is_none_or(|at| at.saturating_add(self.grace) > wall)
    }
}

/// The entries of one part. On a cache line of its own: others may be locked on other processors.
#[derive(Default)]
#[repr(align(128))]
struct Shard(Mutex<Table>);

#[derive(Default)]
struct Table {
    entries: HashTable<Entry>,
    sweep_at: usize,
}

/// What becomes of a value that was decided about where it lies.
pub(crate) enum InPlace {
    /// It stays as it is.
    Left,
    /// It was changed, and is forgotten after so many milliseconds.
    Changed(u64),
    /// There was none; this is to be set, and is forgotten after so many milliseconds.
    Made(Vec<u8>, u64),
}

/// What decided about a key.
pub(crate) enum Decided<Q, S> {
    /// The value, where it lies.
    Quickly(Q),
    /// All that a twin is given.
    Slowly(S),
}

/// The keys of one process.
#[derive(Default)]
pub(crate) struct MemoryStore {
    shards: [Shard; SHARDS],
    secrets: Secrets,
}

/// What keys are hashed by: users choose keys, so it is told to nobody.
#[derive(Clone, Copy)]
struct Secrets([u64; 2]);

impl Default for Secrets {
    fn default() -> Secrets {
        let random = RandomState::new();
        Secrets([1, 2].map(|number| random.hash_one(number)))
    }
}

impl Secrets {
    #[inline]
    fn hash(self, key: &[u8]) -> u64 {
        hash::half(self.0, key)
    }
}

impl MemoryStore {
    /// Runs an operation's twin at the given time, or at the wall clock's. It holds the parts of its keys and no others.
    pub fn run(&self, operation: &dyn Operation, time: Option<u64>) -> Result<Vec<Value>> {
        let mut view = View::of(self, (0..).map_while(|at| operation.key(at)), grace(time));
        let now = time.unwrap_or(view.wall);
        operation.twin(&mut view, now)
    }

    /// Decides about one key: by `quick`, given its value and the time; if that takes more than the value, by `slow`, given
    /// all that a twin is.
    #[inline(always)]
    pub fn decide<Q, S>(
        &self,
        key: &[u8],
        time: Option<u64>,
        quick: impl FnOnce(Option<&mut [u8]>, u64) -> Option<(Q, InPlace)>,
        slow: impl FnOnce(&mut dyn Space, u64) -> Result<S>,
    ) -> Result<Decided<Q, S>> {
        let hash = self.hash(key);
        let shard = shard_of(hash);
        let mut table = self.table(shard);
        let (wall, grace) = (wall_micros(), grace(time));
        let now = time.unwrap_or(wall);
        let mut found = table.entries.find_mut(hash, |entry| *entry.key == *key);
        let value = match found.as_deref_mut().filter(|entry| entry.is_live(wall)) {
            None => Some(None),
            Some(Entry { kept: Kept::Text(value), .. }) => Some(Some(value.as_mut_slice())),
            Some(_) => None,
        };
        let Some((answer, change)) = value.and_then(|value| quick(value, now)) else {
            return self.decide_slowly(shard, table, (wall, grace), |view| slow(view, now)).map(Decided::Slowly);
        };
        match (change, found) {
            (InPlace::Left, _) | (InPlace::Changed(_), None) => {}
            (InPlace::Changed(ttl), Some(entry)) => (entry.expires, entry.grace) = (end(wall, ttl), grace),
            (InPlace::Made(value, ttl), Some(entry)) => {
                (entry.kept, entry.expires, entry.grace) = (Kept::Text(value), end(wall, ttl), grace);
            }
            (InPlace::Made(value, ttl), None) => {
                let entry = Entry { key: key.into(), kept: Kept::Text(value), expires: end(wall, ttl), grace };
                table.insert(self.secrets, hash, entry, wall);
            }
        }
        Ok(Decided::Quickly(answer))
    }

    /// With all that a twin is given, of a key in this part.
    #[cold]
    fn decide_slowly<'a, T>(
        &'a self,
        shard: usize,
        table: MutexGuard<'a, Table>,
        (wall, grace): (u64, u64),
        slow: impl FnOnce(&mut dyn Space) -> Result<T>,
    ) -> Result<T> {
        let mut view = View { store: self, tables: [const { None }; SHARDS], wall, grace };
        view.tables[shard] = Some(table);
        slow(&mut view)
    }

    /// For tests: lets them look at the keys.
    #[cfg(test)]
    pub fn with_space<T>(&self, look: impl FnOnce(&mut dyn Space) -> T) -> T {
        let tables = std::array::from_fn(|shard| Some(self.table(shard)));
        look(&mut View { store: self, tables, wall: wall_micros(), grace: 0 })
    }

    /// Forgets these keys.
    pub fn forget<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        for key in keys {
            let hash = self.hash(key);
            self.table(shard_of(hash)).remove(hash, key);
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        (0..SHARDS).for_each(|shard| *self.table(shard) = Table::default());
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.secrets.hash(key)
    }

    fn table(&self, shard: usize) -> MutexGuard<'_, Table> {
        let Shard(table) = &self.shards[shard];
        table.lock().unwrap_or_else(|poisoned| {
            // Half-changed by a panic: then it is empty, as a server that was started anew.
            let mut broken = PoisonError::into_inner(poisoned);
            *broken = Table::default();
            table.clear_poison();
            broken
        })
    }
}

/// Which part a key is in: by bits of its hash that its place there does not depend on.
fn shard_of(hash: u64) -> usize {
    (hash >> 40) as usize % SHARDS
}

/// How long, in microseconds, what is set is kept longer than its TTL.
fn grace(time: Option<u64>) -> u64 {
    // Whatever time a test sets, TTLs run in real time, as on a server: other clients of the same memory set another.
    if time.is_some() { TEST_GRACE } else { 0 }
}

/// When a key with this TTL, in milliseconds, is forgotten.
fn end(wall: u64, ttl: u64) -> Option<u64> {
    Some(wall.saturating_add(ttl.saturating_mul(1_000)))
}

impl Table {
    /// Adds an entry that is not there.
    fn insert(&mut self, secrets: Secrets, hash: u64, entry: Entry, wall: u64) {
        let again = |entry: &Entry| secrets.hash(&entry.key);
        if self.entries.len() >= self.sweep_at.max(SWEEP_FROM) {
            self.entries.retain(|entry| entry.is_live(wall));
            self.sweep_at = self.entries.len() * 2;
            self.entries.shrink_to(self.sweep_at, again);
        }
        self.entries.insert_unique(hash, entry, again);
    }

    fn remove(&mut self, hash: u64, key: &[u8]) {
        if let Ok(found) = self.entries.find_entry(hash, |entry| *entry.key == *key) {
            found.remove();
        }
    }
}

/// The parts of a store that some keys lie in, each locked.
struct View<'a> {
    store: &'a MemoryStore,
    tables: [Option<MutexGuard<'a, Table>>; SHARDS],
    /// The time by which keys are forgotten.
    wall: u64,
    /// How long, in microseconds, what is set is kept longer than its TTL.
    grace: u64,
}

impl<'a> View<'a> {
    /// A view of the parts of these keys, which are locked in their order: so no two calls wait for each other.
    fn of<'k>(store: &'a MemoryStore, keys: impl Iterator<Item = &'k [u8]>, grace: u64) -> View<'a> {
        let wanted = keys.fold(0, |wanted, key| wanted | 1_u32 << shard_of(store.hash(key)));
        let tables = std::array::from_fn(|shard| (wanted >> shard & 1 == 1).then(|| store.table(shard)));
        View { store, tables, wall: wall_micros(), grace }
    }

    fn entry(&self, key: &[u8]) -> Option<&Entry> {
        let hash = self.store.hash(key);
        let table = self.tables[shard_of(hash)].as_ref();
        debug_assert!(table.is_some(), "a twin reads a key that its operation does not name");
        table?.entries.find(hash, |entry| *entry.key == *key)
    }

    fn live(&self, key: &[u8]) -> Option<&Entry> {
        self.entry(key).filter(|entry| entry.is_live(self.wall))
    }

    fn entry_mut(&mut self, key: &[u8]) -> Option<&mut Entry> {
        let hash = self.store.hash(key);
        self.tables[shard_of(hash)].as_mut()?.entries.find_mut(hash, |entry| *entry.key == *key)
    }

    fn put(&mut self, key: &[u8], kept: Kept, expires: Option<u64>, grace: u64) {
        if let Some(entry) = self.entry_mut(key) {
            (entry.kept, entry.expires, entry.grace) = (kept, expires, grace);
            return;
        }
        let (hash, store, wall) = (self.store.hash(key), self.store, self.wall);
        let table = self.tables[shard_of(hash)].as_mut();
        debug_assert!(table.is_some(), "a twin writes a key that its operation does not name");
        if let Some(table) = table {
            table.insert(store.secrets, hash, Entry { key: key.into(), kept, expires, grace }, wall);
        }
    }
}

impl Space for View<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        match self.live(key).map(|entry| &entry.kept) {
            None => Ok(None),
            Some(Kept::Text(value)) => Ok(Some(value)),
            Some(Kept::List | Kept::Object(_)) => Err(wrong_type(&[key])),
        }
    }

    fn set(&mut self, key: &[u8], value: Vec<u8>, ttl: u64) {
        self.put(key, Kept::Text(value), end(self.wall, ttl), self.grace);
    }

    fn object(&mut self, key: &[u8]) -> Result<Option<&mut Object>> {
        let wall = self.wall;
        match self.entry_mut(key).filter(|entry| entry.is_live(wall)).map(|entry| &mut entry.kept) {
            None => Ok(None),
            Some(Kept::Object(object)) => Ok(Some(&mut **object)),
            Some(Kept::Text(_) | Kept::List) => Err(wrong_type(&[key])),
        }
    }

    fn set_object(&mut self, key: &[u8], object: Box<Object>, ttl: u64) {
        self.put(key, Kept::Object(object), end(self.wall, ttl), self.grace);
    }

    fn keep(&mut self, key: &[u8], ttl: u64) {
        let (expires, grace) = (end(self.wall, ttl), self.grace);
        if let Some(entry) = self.entry_mut(key) {
            (entry.expires, entry.grace) = (expires, grace);
        }
    }

    fn range(&self, key: &[u8], from: u64, length: u64) -> &[u8] {
        let Ok(Some(value)) = self.get(key) else { return &[] };
        let size = value.len() as u64;
        &value[from.min(size) as usize..from.saturating_add(length).min(size) as usize]
    }

    fn set_range(&mut self, key: &[u8], from: u64, bytes: &[u8], ttl: u64) {
        let end = (end(self.wall, ttl), self.grace);
        if let Some(Entry { kept: Kept::Text(value), expires, grace, .. }) = self.entry_mut(key) {
            let (from, to) = (from as usize, from as usize + bytes.len());
            value.resize(value.len().max(to), 0);
            value[from..to].copy_from_slice(bytes);
            (*expires, *grace) = end;
        }
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let existed = self.live(key).is_some();
        let hash = self.store.hash(key);
        if let Some(table) = &mut self.tables[shard_of(hash)] {
            table.remove(hash, key);
        }
        existed
    }

    fn plant(&mut self, key: &[u8], value: Planted) {
        let kept = match value {
            Planted::Text(value) => Kept::Text(value),
            Planted::List => Kept::List,
            Planted::Persisted => {
                if let Some(entry) = self.entry_mut(key) {
                    entry.expires = None;
                }
                return;
            }
        };
        self.put(key, kept, None, 0);
    }

    fn ttl(&self, key: &[u8]) -> i64 {
        match self.live(key) {
            None => -2,
            Some(entry) => entry.expires.map_or(-1, |at| (at.saturating_sub(self.wall) / 1_000) as i64),
        }
    }
}

#[cfg(test)]
mod tests;
