//! Keys in this process, decided by the Rust twins of the scripts: all of `memory://`, and, in a bounded store, what stands in
//! for Redis.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;

use crate::base::clock::wall_micros;
use crate::base::error::{Result, newer_version, wrong_type};
use crate::base::format::newer_format;
use crate::base::hash;
use crate::call::command::Command;
use crate::call::resp::Reply;
use crate::call::space::{Knowledge, Lesson, Object, Planted, Space};

/// How many parts a store has, each with a lock of its own.
const SHARDS: usize = 16;
/// A part looks for expired keys when it has doubled since the last time, but not below this size.
const SWEEP_FROM: usize = 64;
/// What is set in a test's own time is kept for so many microseconds longer, since TTLs run in real time, as on a server: an hour.
const TEST_GRACE: u64 = 3_600_000_000;

enum StoredValue {
    Text(Vec<u8>),
    List,
    Object(Box<Object>),
}

struct StoreEntry {
    /// Whose key it is: 0 in `memory://`, else what stands for a server.
    owner: u64,
    key: Box<[u8]>,
    kept: StoredValue,
    /// Microseconds; none is forever.
    expires: Option<u64>,
    /// For how much longer it is not forgotten, since a test set its time.
    grace: u64,
    /// Of a bounded store.
    noted: Option<Box<Noted>>,
}

/// What a bounded store notes of a key.
#[derive(Default)]
struct Noted {
    known: Option<Box<dyn Knowledge>>,
    /// How much of its limits its value counts.
    share: u8,
    /// How many bytes it takes, as they were counted.
    size: usize,
}

impl StoreEntry {
    /// Of a key that has no value.
    fn empty(owner: u64, key: &[u8]) -> StoreEntry {
        StoreEntry {
            owner,
            key: key.into(),
            kept: StoredValue::Text(Vec::new()),
            expires: Some(0),
            grace: 0,
            noted: None,
        }
    }

    fn is(&self, owner: u64, key: &[u8]) -> bool {
        *self.key == *key && self.owner == owner
    }

    fn is_live(&self, wall: u64) -> bool {
        self.expires.is_none_or(|at| at.saturating_add(self.grace) > wall)
    }

    /// How many bytes it takes.
    fn size(&self) -> usize {
        let kept = match &self.kept {
            StoredValue::Text(value) => value.capacity(),
            StoredValue::List | StoredValue::Object(_) => 0,
        };
        let noted = self
            .noted
            .as_ref()
            .map_or(0, |noted| size_of::<Noted>() + noted.known.as_ref().map_or(0, |known| known.size()));
        size_of::<StoreEntry>() + self.key.len() + kept + noted
    }

    /// In which order entries of a bounded store are forgotten; none if nothing is lost with this one. First what only says what
    /// Redis counted, then what was counted here: the smallest share first, and of those the one that ends first.
    fn rank(&self, now: Now) -> Option<Rank> {
        let known = self.noted.as_ref().and_then(|noted| noted.known.as_ref()).filter(|known| known.end() > now.steady);
        let known_share = known.map(|known| known.share(now.steady));
        let share = self.is_live(now.wall).then(|| self.noted.as_ref().map_or(0, |noted| noted.share));
        known_share.or(share)?;
        let ends =
            if share.is_some() { self.expires.unwrap_or(u64::MAX) } else { known.map_or(0, |known| known.end()) };
        Some((share.map_or(0, |share| share.max(1)), known_share.unwrap_or(0), ends, self.key.as_ptr().addr()))
    }
}

/// What is counted here, what Redis counted, when it ends; and the entry's place, which no other has.
type Rank = (u8, u8, u64, usize);

/// A moment by two clocks, in microseconds.
#[derive(Clone, Copy)]
struct Now {
    /// By which values expire.
    wall: u64,
    /// Which never goes back: by which it counts what Redis said.
    steady: u64,
}

/// The entries of one part. On a cache line of its own: others may be locked on other processors.
#[derive(Default)]
#[repr(align(128))]
struct StoreShard(Mutex<StoreTable>);

#[derive(Default)]
struct StoreTable {
    entries: HashTable<StoreEntry>,
    sweep_at: usize,
    /// Of a bounded store, how many bytes the entries take.
    bytes: usize,
}

/// The most that a bounded store keeps.
#[derive(Clone, Copy)]
pub struct Bound {
    /// How many keys.
    pub keys: usize,
    /// How many bytes they may take.
    pub bytes: usize,
    /// The largest value that may still grow.
    pub value: usize,
}

/// How large a store is.
#[derive(Default)]
pub struct StoreSize {
    /// How many keys lie in it.
    pub keys: usize,
    /// For how many keys it has room.
    pub room: usize,
    /// Of a bounded store, how many bytes they take.
    pub bytes: usize,
}

/// What becomes of a value that was decided about where it lies.
pub enum InPlace {
    /// It stays as it is.
    Left,
    /// It was changed, and is forgotten after so many milliseconds.
    Changed(u64),
    /// There was none; this is to be set, and is forgotten after so many milliseconds.
    Made(Vec<u8>, u64),
}

/// What decided about a key.
pub enum ValueAccess<Q, S> {
    /// The value, where it lies.
    Quickly(Q),
    /// All that a twin is given.
    Slowly(S),
}

/// The keys of one process.
#[derive(Default)]
pub struct MemoryStore {
    shards: [StoreShard; SHARDS],
    secrets: Secrets,
    bound: Option<Bound>,
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
    /// Runs a command's twin at the given time, or at the wall clock's. It holds the parts of its keys and no others.
    pub fn run(&self, command: &dyn Command, time: Option<u64>) -> Result<Vec<Reply>> {
        let mut view = StoreView::of(self, 0, (0..).map_while(|at| command.key(at)), grace(time), 0);
        let now = time.unwrap_or(view.now.wall);
        command.twin(&mut view, now)
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
    ) -> Result<ValueAccess<Q, S>> {
        let hash = self.hash(0, key);
        let shard = shard_of(hash);
        let mut table = self.table(shard);
        let (wall, grace) = (wall_micros(), grace(time));
        let now = time.unwrap_or(wall);
        let mut found = table.entries.find_mut(hash, |entry| entry.is(0, key));
        let value = match found.as_deref_mut().filter(|entry| entry.is_live(wall)) {
            None => Some(None),
            Some(StoreEntry { kept: StoredValue::Text(value), .. }) => Some(Some(value.as_mut_slice())),
            Some(_) => None,
        };
        let Some((answer, change)) = value.and_then(|value| quick(value, now)) else {
            return self.decide_slowly(shard, table, (wall, grace), |view| slow(view, now)).map(ValueAccess::Slowly);
        };
        match (change, found) {
            (InPlace::Left, _) | (InPlace::Changed(_), None) => {}
            (InPlace::Changed(ttl), Some(entry)) => (entry.expires, entry.grace) = (end(wall, ttl), grace),
            (InPlace::Made(value, ttl), Some(entry)) => {
                (entry.kept, entry.expires, entry.grace) = (StoredValue::Text(value), end(wall, ttl), grace);
            }
            (InPlace::Made(value, ttl), None) => {
                let (kept, expires) = (StoredValue::Text(value), end(wall, ttl));
                table.insert(
                    self.secrets,
                    hash,
                    StoreEntry { kept, expires, grace, ..StoreEntry::empty(0, key) },
                    wall,
                );
            }
        }
        Ok(ValueAccess::Quickly(answer))
    }

    /// With all that a twin is given, of a key in this part.
    #[cold]
    fn decide_slowly<'a, T>(
        &'a self,
        shard: usize,
        table: MutexGuard<'a, StoreTable>,
        (wall, grace): (u64, u64),
        slow: impl FnOnce(&mut dyn Space) -> Result<T>,
    ) -> Result<T> {
        let now = Now { wall, steady: 0 };
        let mut view = StoreView { store: self, owner: 0, tables: [const { None }; SHARDS], now, grace };
        view.tables[shard] = Some(table);
        slow(&mut view)
    }

    /// For tests: lets them look at the keys.
    pub fn with_space<T>(&self, look: impl FnOnce(&mut dyn Space) -> T) -> T {
        let tables = std::array::from_fn(|shard| Some(self.table(shard)));
        look(&mut StoreView { store: self, owner: 0, tables, now: Now { wall: wall_micros(), steady: 0 }, grace: 0 })
    }

    fn hash(&self, owner: u64, key: &[u8]) -> u64 {
        self.secrets.hash(key) ^ owner
    }

    fn table(&self, shard: usize) -> MutexGuard<'_, StoreTable> {
        let StoreShard(table) = &self.shards[shard];
        table.lock().unwrap_or_else(|poisoned| {
            // Half-changed by a panic: then it is empty, as a server that was started anew.
            let mut broken = PoisonError::into_inner(poisoned);
            *broken = StoreTable::default();
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

/// A store that keeps no more than its bound, for the keys of several owners.
impl MemoryStore {
    /// An empty one.
    pub fn bounded(bound: Bound) -> MemoryStore {
        let Bound { keys, bytes, value } = bound;
        let bound = Bound { keys: keys / SHARDS, bytes: bytes / SHARDS, value };
        MemoryStore { bound: Some(bound), ..MemoryStore::default() }
    }

    /// As [`run`](MemoryStore::run), for the keys of this owner, and beginning with what is known of them at this steady time; none
    /// if a value is too large to grow.
    pub fn run_for(
        &self,
        owner: u64,
        command: &dyn Command,
        time: Option<u64>,
        steady: u64,
    ) -> Result<Option<Vec<Reply>>> {
        let keys = || (0..).map_while(|at| command.key(at));
        let mut view = StoreView::of(self, owner, keys(), grace(time), steady);
        let most = self.bound.map_or(usize::MAX, |bound| bound.value);
        for key in keys() {
            if view.get(key)?.is_some_and(|value| value.len() >= most) {
                return Ok(None);
            }
        }
        let now = time.unwrap_or(view.now.wall);
        let reply = command.twin(&mut view, now);
        keys().for_each(|key| view.account(key));
        reply.map(Some)
    }

    /// Notes what Redis said of a key.
    pub fn learn(&self, owner: u64, key: &[u8], lesson: Lesson<'_>, steady: u64) {
        let mut view = StoreView::of(self, owner, std::iter::once(key), 0, steady);
        let Lesson::Counted(learn) = lesson else {
            view.forget(key);
            return;
        };
        match view.entry_mut(key) {
            Some(entry) => learn(&mut entry.noted.get_or_insert_default().known, steady),
            None => {
                let mut noted = Box::<Noted>::default();
                learn(&mut noted.known, steady);
                if noted.known.as_ref().is_none_or(|known| known.end() <= steady) {
                    return;
                }
                view.add(StoreEntry { noted: Some(noted), ..StoreEntry::empty(owner, key) });
            }
        }
        view.account(key);
    }

    /// How large it is.
    pub fn size(&self) -> StoreSize {
        let mut size = StoreSize::default();
        for table in (0..SHARDS).map(|shard| self.table(shard)) {
            size.keys += table.entries.len();
            size.room += table.entries.capacity();
            size.bytes += table.bytes;
        }
        size
    }
}

impl StoreTable {
    /// Adds an entry that is not there.
    fn insert(&mut self, secrets: Secrets, hash: u64, entry: StoreEntry, wall: u64) {
        let again = |entry: &StoreEntry| secrets.hash(&entry.key) ^ entry.owner;
        if self.entries.len() >= self.sweep_at.max(SWEEP_FROM) {
            // A bounded store makes room by itself, and counts what it takes.
            self.entries.retain(|entry| entry.noted.is_some() || entry.is_live(wall));
            self.sweep_at = self.entries.len() * 2;
            self.entries.shrink_to(self.sweep_at, again);
        }
        self.entries.insert_unique(hash, entry, again);
    }

    fn remove(&mut self, hash: u64, owner: u64, key: &[u8]) {
        if let Ok(found) = self.entries.find_entry(hash, |entry| entry.is(owner, key)) {
            let (entry, _) = found.remove();
            self.bytes -= entry.noted.map_or(0, |noted| noted.size);
        }
    }

    /// Forgets what has ended, and of the rest as much of the least, that an eighth is free.
    #[cold]
    fn make_room(&mut self, bound: Bound, now: Now) {
        let mut ranks = Vec::with_capacity(self.entries.len());
        let (mut count, mut bytes) = (0, 0);
        for entry in &self.entries {
            if let Some(rank) = entry.rank(now) {
                let size = entry.noted.as_ref().map_or(0, |noted| noted.size);
                (count, bytes) = (count + 1, bytes + size);
                ranks.push((rank, size));
            }
        }
        ranks.sort_unstable();
        let mut kept_from = None;
        for (rank, size) in ranks {
            kept_from = Some(rank);
            if count <= bound.keys / 8 * 7 && bytes <= bound.bytes / 8 * 7 {
                break;
            }
            (kept_from, count, bytes) = (None, count - 1, bytes - size);
        }
        self.entries.retain(|entry| match (entry.rank(now), kept_from) {
            (Some(rank), Some(from)) => rank >= from,
            _ => false,
        });
        self.bytes = bytes;
    }
}

/// The parts of a store that some keys lie in, each locked.
struct StoreView<'a> {
    store: &'a MemoryStore,
    /// Whose keys they are.
    owner: u64,
    tables: [Option<MutexGuard<'a, StoreTable>>; SHARDS],
    now: Now,
    /// How long, in microseconds, what is set is kept longer than its TTL.
    grace: u64,
}

impl<'a> StoreView<'a> {
    /// A view of the parts of these keys, which are locked in their order: so no two calls wait for each other.
    fn of<'k>(
        store: &'a MemoryStore,
        owner: u64,
        keys: impl Iterator<Item = &'k [u8]>,
        grace: u64,
        steady: u64,
    ) -> StoreView<'a> {
        let wanted = keys.fold(0, |wanted, key| wanted | 1_u32 << shard_of(store.hash(owner, key)));
        let tables = std::array::from_fn(|shard| (wanted >> shard & 1 == 1).then(|| store.table(shard)));
        StoreView { store, owner, tables, now: Now { wall: wall_micros(), steady }, grace }
    }

    fn entry(&self, key: &[u8]) -> Option<&StoreEntry> {
        let hash = self.store.hash(self.owner, key);
        let table = self.tables[shard_of(hash)].as_ref();
        debug_assert!(table.is_some(), "a twin reads a key that its command does not name");
        table?.entries.find(hash, |entry| entry.is(self.owner, key))
    }

    fn live(&self, key: &[u8]) -> Option<&StoreEntry> {
        self.entry(key).filter(|entry| entry.is_live(self.now.wall))
    }

    fn entry_mut(&mut self, key: &[u8]) -> Option<&mut StoreEntry> {
        let (owner, hash) = (self.owner, self.store.hash(self.owner, key));
        self.tables[shard_of(hash)].as_mut()?.entries.find_mut(hash, |entry| entry.is(owner, key))
    }

    /// Adds an entry that is not there.
    fn add(&mut self, entry: StoreEntry) {
        let (hash, store, wall) = (self.store.hash(self.owner, &entry.key), self.store, self.now.wall);
        let table = self.tables[shard_of(hash)].as_mut();
        debug_assert!(table.is_some(), "a twin writes a key that its command does not name");
        if let Some(table) = table {
            table.insert(store.secrets, hash, entry, wall);
        }
    }

    fn forget(&mut self, key: &[u8]) {
        let (owner, hash) = (self.owner, self.store.hash(self.owner, key));
        if let Some(table) = &mut self.tables[shard_of(hash)] {
            table.remove(hash, owner, key);
        }
    }

    /// Counts what a key of a bounded store takes now, and makes room if that is too much.
    fn account(&mut self, key: &[u8]) {
        let (Some(bound), now) = (self.store.bound, self.now) else { return };
        let Some(entry) = self.entry_mut(key) else { return };
        entry.noted.get_or_insert_default();
        let size = entry.size();
        let before = entry.noted.as_mut().map_or(0, |noted| std::mem::replace(&mut noted.size, size));
        if let Some(table) = &mut self.tables[shard_of(self.store.hash(self.owner, key))] {
            table.bytes = table.bytes + size - before;
            if table.entries.len() > bound.keys || table.bytes > bound.bytes {
                table.make_room(bound, now);
            }
        }
    }

    fn put(&mut self, key: &[u8], kept: StoredValue, expires: Option<u64>, grace: u64) {
        if let Some(entry) = self.entry_mut(key) {
            (entry.kept, entry.expires, entry.grace) = (kept, expires, grace);
            return;
        }
        self.add(StoreEntry { kept, expires, grace, ..StoreEntry::empty(self.owner, key) });
    }
}

impl Space for StoreView<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        match self.live(key).map(|entry| &entry.kept) {
            None => Ok(None),
            Some(StoredValue::Text(value)) => match newer_format(value) {
                None => Ok(Some(value)),
                Some(format) => Err(newer_version(&[key], format)),
            },
            Some(StoredValue::List | StoredValue::Object(_)) => Err(wrong_type(&[key])),
        }
    }

    fn set(&mut self, key: &[u8], value: Vec<u8>, ttl: u64) {
        self.put(key, StoredValue::Text(value), end(self.now.wall, ttl), self.grace);
    }

    fn object(&mut self, key: &[u8]) -> Result<Option<&mut Object>> {
        let wall = self.now.wall;
        match self.entry_mut(key).filter(|entry| entry.is_live(wall)).map(|entry| &mut entry.kept) {
            None => Ok(None),
            Some(StoredValue::Object(object)) => Ok(Some(&mut **object)),
            Some(StoredValue::Text(_) | StoredValue::List) => Err(wrong_type(&[key])),
        }
    }

    fn set_object(&mut self, key: &[u8], object: Box<Object>, ttl: u64) {
        self.put(key, StoredValue::Object(object), end(self.now.wall, ttl), self.grace);
    }

    fn set_ttl(&mut self, key: &[u8], ttl: u64) {
        let (expires, grace) = (end(self.now.wall, ttl), self.grace);
        if let Some(entry) = self.entry_mut(key) {
            (entry.expires, entry.grace) = (expires, grace);
        }
    }

    fn range(&self, key: &[u8], from: u64, length: u64) -> &[u8] {
        let Some(StoredValue::Text(value)) = self.live(key).map(|entry| &entry.kept) else { return &[] };
        let size = value.len() as u64;
        &value[from.min(size) as usize..from.saturating_add(length).min(size) as usize]
    }

    fn set_range(&mut self, key: &[u8], from: u64, bytes: &[u8], ttl: u64) {
        let end = (end(self.now.wall, ttl), self.grace);
        if let Some(StoreEntry { kept: StoredValue::Text(value), expires, grace, .. }) = self.entry_mut(key) {
            let (from, to) = (from as usize, from as usize + bytes.len());
            value.resize(value.len().max(to), 0);
            value[from..to].copy_from_slice(bytes);
            (*expires, *grace) = end;
        }
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let existed = self.live(key).is_some();
        match self.entry_mut(key) {
            // What is known of it stays.
            Some(entry) if entry.noted.is_some() => {
                (entry.kept, entry.expires, entry.grace) = (StoredValue::Text(Vec::new()), Some(0), 0);
            }
            _ => self.forget(key),
        }
        existed
    }

    fn known(&self, key: &[u8]) -> Option<(&dyn Knowledge, u64)> {
        Some((self.entry(key)?.noted.as_ref()?.known.as_deref()?, self.now.steady))
    }

    fn weigh(&mut self, key: &[u8], share: u8) {
        if self.store.bound.is_some()
            && let Some(entry) = self.entry_mut(key)
        {
            entry.noted.get_or_insert_default().share = share;
        }
    }

    fn plant(&mut self, key: &[u8], value: Planted) {
        let kept = match value {
            Planted::Text(value) => StoredValue::Text(value),
            Planted::List => StoredValue::List,
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
            Some(entry) => entry.expires.map_or(-1, |at| (at.saturating_sub(self.now.wall) / 1_000) as i64),
        }
    }
}
