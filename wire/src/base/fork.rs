//! What keeps a child process from using what its parent made.
//!
//! Sockets, threads and mutexes made before a `fork` are poison in the child: two processes read each other's replies,
//! and a mutex held by a thread that no longer exists stays locked. Everything of that kind lives in a [`ForkCell`].

use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(1);
static PROCESS: AtomicUsize = AtomicUsize::new(0);
static REGISTER: Once = Once::new();

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    PROCESS.store(std::process::id() as usize, Ordering::Relaxed);
}

/// A number that changes with each fork once a [`ForkCell`] was used. Reading it costs one load, not a system call.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// The id of this process, once forks are [watched](watch); as cheap to read.
pub(crate) fn process() -> usize {
    PROCESS.load(Ordering::Relaxed)
}

/// Has forks noticed from now on.
pub(crate) fn watch() {
    // The handler runs in the only thread of the child, asks the system for its id, and touches two atomics.
    REGISTER.call_once(|| {
        PROCESS.store(std::process::id() as usize, Ordering::Relaxed);
        // SAFETY: `in_child` is an `extern "C" fn` that lives as long as this library and is async-signal-safe.
        unsafe {
            libc::pthread_atfork(None, None, Some(in_child));
        }
    });
}

struct Stamped<T> {
    generation: u64,
    value: T,
}

/// A value made lazily, once per process: after a fork the inherited one is forgotten (never dropped, never locked)
/// and a new one is made at the next use. Never blocks: of two threads that make it at once one wins.
pub struct ForkCell<T> {
    current: AtomicPtr<Stamped<T>>,
}

impl<T: Send + Sync> Default for ForkCell<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync> ForkCell<T> {
    /// An empty cell.
    pub const fn new() -> Self {
        ForkCell { current: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The value of this process, if it was made already.
    pub fn get(&self) -> Option<&T> {
        let seen = self.current.load(Ordering::Acquire);
        // SAFETY: a pointer in the cell comes from `Box::into_raw` and is freed only by `Drop`, which has `&mut self`;
        // one that is replaced after a fork is leaked on purpose.
        let stamped = unsafe { seen.as_ref() }?;
        (stamped.generation == generation()).then_some(&stamped.value)
    }

    /// The value of this process, made by `make` if there is none yet.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        watch();
        let fresh = Box::into_raw(Box::new(Stamped { generation: generation(), value: make() }));
        loop {
            let seen = self.current.load(Ordering::Acquire);
            // SAFETY: as in `get`.
            let current = unsafe { seen.as_ref() };
            if let Some(stamped) = current.filter(|s| s.generation == generation()) {
                // SAFETY: `fresh` was never published: another thread won, so this one is still ours alone.
                drop(unsafe { Box::from_raw(fresh) });
                return &stamped.value;
            }
            if self.current.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                // SAFETY: just published, freed only by `Drop`. The value it replaced is of another generation: leaked.
                return unsafe { &(*fresh).value };
            }
        }
    }
}

impl<T> Drop for ForkCell<T> {
    fn drop(&mut self) {
        let seen = *self.current.get_mut();
        if seen.is_null() {
            return;
        }
        // SAFETY: `&mut self` proves that nobody else reads it; it came from `Box::into_raw`.
        let stamped = unsafe { Box::from_raw(seen) };
        if stamped.generation != generation() {
            std::mem::forget(stamped);
        }
    }
}
