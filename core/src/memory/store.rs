//! `memory://`: everything in this process, decided by the Rust twins of the scripts.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::clock::wall_micros;
use crate::base::error::{Result, wrong_type};
use crate::base::fork::ForkCell;
use crate::call::operation::Operation;
use crate::call::resp::Value;
use crate::call::space::{Object, Planted, Space};

/// Expired keys are looked for when the store has doubled since the last time, but not below this size.
const SWEEP_FROM: usize = 1_024;
/// What is set in a test's own time is kept for so many microseconds longer, since TTLs run in real time, as on a server: an hour.
const TEST_GRACE: u64 = 3_600_000_000;

enum Kept {
    Text(Vec<u8>),
    List,
    Object(Box<Object>),
}

struct Entry {
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

#[derive(Default)]
struct Table {
    entries: HashMap<Vec<u8>, Entry>,
    sweep_at: usize,
}

/// The keys of one process.
#[derive(Default)]
pub(crate) struct MemoryStore {
    table: Mutex<Table>,
}

impl MemoryStore {
    /// Runs an operation's twin at the given time, or at the wall clock's.
    pub fn run(&self, operation: &dyn Operation, time: Option<u64>) -> Result<Vec<Value>> {
        let mut table = self.table();
        // Whatever time a test sets, TTLs run in real time, as on a server: other clients of the same memory set another.
        let wall = wall_micros();
        table.sweep(wall);
        let grace = if time.is_some() { TEST_GRACE } else { 0 };
        operation.twin(&mut View { table: &mut table, wall, grace }, time.unwrap_or(wall))
    }

    /// For tests: lets them look at the keys.
    #[cfg(test)]
    pub fn with_space<T>(&self, look: impl FnOnce(&mut dyn Space) -> T) -> T {
        look(&mut View { table: &mut self.table(), wall: wall_micros(), grace: 0 })
    }

    /// Forgets these keys.
    pub fn forget<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        if let Ok(mut table) = self.table.lock() {
            keys.for_each(|key| drop(table.entries.remove(key)));
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.table().entries.clear();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(|poisoned| {
            // Half-changed by a panic: then it is empty, as a server that was started anew.
            let mut table = PoisonError::into_inner(poisoned);
            table.entries.clear();
            self.table.clear_poison();
            table
        })
    }
}

/// Memories by their names, and how many clients each has.
type Memories = HashMap<String, (Arc<MemoryStore>, usize)>;

/// Those of this process that have clients. A child begins with none.
static ALL: ForkCell<Mutex<Memories>> = ForkCell::new();

/// One client's part in a memory: it is forgotten with the last of them, but for that without a name.
#[derive(Default)]
pub(crate) struct Part {
    store: Arc<MemoryStore>,
    /// None if it is shared with nobody.
    name: Option<String>,
    ended: AtomicBool,
}

impl Part {
    /// A part in the memory of this name, which is made if there is none.
    pub fn of(name: &str) -> Part {
        let mut all = ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let (store, clients) = all.entry(name.to_owned()).or_default();
        *clients += 1;
        Part { store: store.clone(), name: Some(name.to_owned()), ended: AtomicBool::new(false) }
    }

    /// The client needs it no more. Twice does nothing.
    pub fn end(&self) {
        let Some(name) = self.name.as_ref().filter(|name| !name.is_empty()) else { return };
        // What a fork inherited is its parent's: a child has no such table yet, or another memory of that name.
        let Some(all) = ALL.get().filter(|_| !self.ended.swap(true, Ordering::Relaxed)) else { return };
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((store, clients)) = all.get_mut(name)
            && Arc::ptr_eq(store, &self.store)
        {
            *clients -= 1;
            if *clients == 0 {
                all.remove(name);
            }
        }
    }
}

impl Deref for Part {
    type Target = MemoryStore;

    fn deref(&self) -> &MemoryStore {
        &self.store
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.end();
    }
}

impl Table {
    fn sweep(&mut self, now: u64) {
        if self.entries.len() >= self.sweep_at.max(SWEEP_FROM) {
            self.entries.retain(|_, entry| entry.is_live(now));
            self.sweep_at = self.entries.len() * 2;
        }
    }
}

struct View<'a> {
    table: &'a mut Table,
    /// The time by which keys are forgotten.
    wall: u64,
    /// How long, in microseconds, what is set is kept longer than its TTL.
    grace: u64,
}

impl View<'_> {
    fn live(&self, key: &[u8]) -> Option<&Entry> {
        self.table.entries.get(key).filter(|entry| entry.is_live(self.wall))
    }

    /// When a key with this TTL, in milliseconds, is forgotten.
    fn end(&self, ttl: u64) -> Option<u64> {
        Some(self.wall.saturating_add(ttl.saturating_mul(1_000)))
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
        let fresh = Entry { kept: Kept::Text(value), expires: self.end(ttl), grace: self.grace };
        match self.table.entries.get_mut(key) {
            Some(entry) => *entry = fresh,
            None => drop(self.table.entries.insert(key.to_vec(), fresh)),
        }
    }

    fn object(&mut self, key: &[u8]) -> Result<Option<&mut Object>> {
        if self.live(key).is_none() {
            return Ok(None);
        }
        match self.table.entries.get_mut(key).map(|entry| &mut entry.kept) {
            None => Ok(None),
            Some(Kept::Object(object)) => Ok(Some(&mut **object)),
            Some(Kept::Text(_) | Kept::List) => Err(wrong_type(&[key])),
        }
    }

    fn set_object(&mut self, key: &[u8], object: Box<Object>, ttl: u64) {
        let entry = Entry { kept: Kept::Object(object), expires: self.end(ttl), grace: self.grace };
        self.table.entries.insert(key.to_vec(), entry);
    }

    fn keep(&mut self, key: &[u8], ttl: u64) {
        let (expires, grace) = (self.end(ttl), self.grace);
        if let Some(entry) = self.table.entries.get_mut(key) {
            (entry.expires, entry.grace) = (expires, grace);
        }
    }

    fn range(&self, key: &[u8], from: u64, length: u64) -> &[u8] {
        let Ok(Some(value)) = self.get(key) else { return &[] };
        let size = value.len() as u64;
        &value[from.min(size) as usize..from.saturating_add(length).min(size) as usize]
    }

    fn set_range(&mut self, key: &[u8], from: u64, bytes: &[u8], ttl: u64) {
        let end = (self.end(ttl), self.grace);
        if let Some(Entry { kept: Kept::Text(value), expires, grace }) = self.table.entries.get_mut(key) {
            let (from, to) = (from as usize, from as usize + bytes.len());
            value.resize(value.len().max(to), 0);
            value[from..to].copy_from_slice(bytes);
            (*expires, *grace) = end;
        }
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let existed = self.live(key).is_some();
        self.table.entries.remove(key);
        existed
    }

    fn plant(&mut self, key: &[u8], value: Planted) {
        let kept = match value {
            Planted::Text(value) => Kept::Text(value),
            Planted::List => Kept::List,
            Planted::Persisted => {
                if let Some(entry) = self.table.entries.get_mut(key) {
                    entry.expires = None;
                }
                return;
            }
        };
        self.table.entries.insert(key.to_vec(), Entry { kept, expires: None, grace: 0 });
    }

    fn ttl(&self, key: &[u8]) -> i64 {
        match self.live(key) {
            None => -2,
            Some(entry) => entry.expires.map_or(-1, |at| (at.saturating_sub(self.wall) / 1_000) as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::base::error::Code;
    use crate::client::{Client, Options};
    use crate::testing;

    fn client(url: &str) -> Client {
        Client::new(Options { url: Some(url.into()), ..Options::default() }).unwrap()
    }

    /// What is left of three after one more call.
    fn left(client: &Client) -> u64 {
        let limiter = client.limiter("shared", "3/hour".parse().unwrap()).unwrap();
        limiter.consume(b"k", 1).unwrap().run().unwrap().remaining
    }

    #[test]
    fn a_memory_is_shared_by_all_clients_of_its_name() {
        let (one, other, third) = (client("memory://one"), client("memory://one"), client("memory://third"));
        assert_eq!([left(&one), left(&other), left(&third)], [2, 1, 2]);
        assert_eq!((one.server(), one.is_in_memory()), ("memory://one".into(), true));
        let (first, second) = (client("memory://"), client("memory://"));
        assert_eq!([left(&first), left(&second)], [2, 1]);
    }

    #[test]
    fn a_memory_with_a_name_is_forgotten_with_its_last_client() {
        let (one, other) = (client("memory://kept"), client("memory://kept"));
        assert_eq!(left(&one), 2);
        one.close();
        one.close();
        drop(one);
        let third = client("memory://kept");
        assert_eq!(left(&third), 1, "another client keeps it");
        drop((third, other));
        assert_eq!(left(&client("memory://kept")), 2);
        drop(client("memory://plain"));
    }

    #[test]
    fn the_memory_without_a_name_is_kept_as_long_as_the_process_lives() {
        let count = || {
            let own = client("memory://");
            own.limiter("for good", "9/hour".parse().unwrap())
                .unwrap()
                .consume(b"k", 1)
                .unwrap()
                .run()
                .unwrap()
                .remaining
        };
        assert_eq!([count(), count()], [8, 7]);
    }

    #[test]
    fn a_time_of_a_test_forgets_nothing_of_others() {
        let (one, other) = (client("memory://times"), client("memory://times"));
        testing::set_time(&other, Some(1_000_000_000_000_000)).unwrap();
        let limiter = |client: &Client, name| client.limiter(name, "3/s".parse().unwrap()).unwrap();
        let [mine, theirs] = [limiter(&one, "mine"), limiter(&other, "theirs")];
        let ask = |limiter: &crate::Limiter| limiter.consume(b"k", 1).unwrap().run().unwrap().remaining;
        assert_eq!([ask(&theirs), ask(&mine), ask(&theirs)], [2, 2, 1]);
        // As many keys as have the expired ones looked for.
        for key in 0..2_048_u32 {
            mine.consume(&key.to_le_bytes(), 1).unwrap().run().unwrap();
        }
        assert_eq!(ask(&theirs), 0);
    }

    #[test]
    fn a_panic_leaves_an_empty_memory_and_not_a_dead_one() {
        let own = client("memory://panics");
        assert_eq!(left(&own), 2);
        let panics = || own.session.engine().memory.with_space(|_| panic!("a fault"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!([left(&own), left(&own)], [2, 1]);
    }

    #[test]
    fn a_name_that_cannot_be_is_refused_and_not_shown() {
        for url in ["memory://a/b", "memory://a?b", "memory://user:secret@x", "memory://a b", "memory://é"] {
            let error = Client::new(Options { url: Some(url.into()), ..Options::default() }).err().unwrap();
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(!error.message().contains("secret"), "{error}");
        }
        let longest = "x".repeat(255);
        assert_eq!(client(&format!("memory://{longest}")).server(), format!("memory://{longest}"));
        assert!(Client::new(Options { url: Some(format!("memory://x{longest}")), ..Options::default() }).is_err());
    }
}
