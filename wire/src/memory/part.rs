//! Memories that the clients of a process share by their names.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::store::MemoryStore;
use crate::base::fork::ForkCell;

/// Memories by their names, and how many clients each has.
type Memories = HashMap<String, (Arc<MemoryStore>, usize)>;

/// Those of this process that have clients. A child begins with none.
static ALL: ForkCell<Mutex<Memories>> = ForkCell::new();

/// One client's part in a memory: it is forgotten with the last of them, but for that without a name.
#[derive(Default)]
pub struct MemoryShare {
    store: Arc<MemoryStore>,
    /// None if it is shared with nobody.
    name: Option<String>,
    ended: AtomicBool,
}

impl MemoryShare {
    /// A part in the memory of this name, which is made if there is none.
    pub(crate) fn of(name: &str) -> MemoryShare {
        let mut all = ALL.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let (store, clients) = all.entry(name.to_owned()).or_default();
        *clients += 1;
        MemoryShare { store: store.clone(), name: Some(name.to_owned()), ended: AtomicBool::new(false) }
    }

    /// The client needs it no more. Twice does nothing.
    pub(crate) fn end(&self) {
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

impl Deref for MemoryShare {
    type Target = MemoryStore;

    fn deref(&self) -> &MemoryStore {
        &self.store
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.end();
    }
}
