//! `memory://`: everything in this process, decided by the Rust twins of the scripts.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::clock::wall_micros;
use crate::error::{Code, Error, Result, wrong_type};
use crate::operation::Operation;
use crate::resp::Value;
use crate::space::{Object, Planted, Space};

/// Expired keys are looked for when the store has doubled since the last time, but not below this size.
const SWEEP_FROM: usize = 1_024;

enum Kept {
    Text(Vec<u8>),
    List,
    Object(Box<Object>),
}

struct Entry {
    kept: Kept,
    /// Microseconds; none is for ever.
    expires: Option<u64>,
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
        let Ok(mut table) = self.table.lock() else {
            return Err(Error::new(Code::Internal, "memory:// was left half-changed by a panic: make a new client"));
        };
        let now = time.unwrap_or_else(wall_micros);
        // In a test's own time nothing is forgotten, as on a server, whose TTLs run in real time.
        let forgetting = time.is_none();
        if forgetting {
            table.sweep(now);
        }
        operation.twin(&mut View { table: &mut table, now, forgetting }, now)
    }

    /// For tests: lets them look at the keys at the given time.
    #[cfg(test)]
    pub fn with_space<T>(&self, now: u64, look: impl FnOnce(&mut dyn Space) -> T) -> T {
        look(&mut View { table: &mut self.table.lock().unwrap(), now, forgetting: false })
    }

    /// Forgets these keys.
    pub fn forget<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        if let Ok(mut table) = self.table.lock() {
            keys.for_each(|key| drop(table.entries.remove(key)));
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        if let Ok(mut table) = self.table.lock() {
            table.entries.clear();
        }
    }
}

impl Table {
    fn sweep(&mut self, now: u64) {
        if self.entries.len() >= self.sweep_at.max(SWEEP_FROM) {
            self.entries.retain(|_, entry| entry.expires.is_none_or(|at| at > now));
            self.sweep_at = self.entries.len() * 2;
        }
    }
}

struct View<'a> {
    table: &'a mut Table,
    now: u64,
    forgetting: bool,
}

impl View<'_> {
    fn live(&self, key: &[u8]) -> Option<&Entry> {
        let live = |entry: &&Entry| !self.forgetting || entry.expires.is_none_or(|at| at > self.now);
        self.table.entries.get(key).filter(live)
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
        let expires = Some(self.now + ttl * 1_000);
        match self.table.entries.get_mut(key) {
            Some(entry) => *entry = Entry { kept: Kept::Text(value), expires },
            None => drop(self.table.entries.insert(key.to_vec(), Entry { kept: Kept::Text(value), expires })),
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
        let entry = Entry { kept: Kept::Object(object), expires: Some(self.now + ttl * 1_000) };
        self.table.entries.insert(key.to_vec(), entry);
    }

    fn keep(&mut self, key: &[u8], ttl: u64) {
        if let Some(entry) = self.table.entries.get_mut(key) {
            entry.expires = Some(self.now + ttl * 1_000);
        }
    }

    fn range(&self, key: &[u8], from: u64, length: u64) -> &[u8] {
        let Ok(Some(value)) = self.get(key) else { return &[] };
        let size = value.len() as u64;
        &value[from.min(size) as usize..from.saturating_add(length).min(size) as usize]
    }

    fn set_range(&mut self, key: &[u8], from: u64, bytes: &[u8], ttl: u64) {
        let expires = Some(self.now + ttl * 1_000);
        if let Some(Entry { kept: Kept::Text(value), expires: old }) = self.table.entries.get_mut(key) {
            let (from, end) = (from as usize, from as usize + bytes.len());
            value.resize(value.len().max(end), 0);
            value[from..end].copy_from_slice(bytes);
            *old = expires;
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
        self.table.entries.insert(key.to_vec(), Entry { kept, expires: None });
    }

    fn ttl(&self, key: &[u8]) -> i64 {
        match self.live(key) {
            None => -2,
            Some(entry) => entry.expires.map_or(-1, |at| (at.saturating_sub(self.now) / 1_000) as i64),
        }
    }
}
