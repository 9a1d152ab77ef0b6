//! What belongs to the process that made it.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use quotalock::generation;

/// A value that a forked child must neither use nor drop: there it is its parent's.
pub struct Ours<T> {
    generation: u64,
    value: ManuallyDrop<T>,
}

impl<T> Ours<T> {
    /// Makes a value of this process.
    pub fn new(value: T) -> Ours<T> {
        Ours { generation: generation(), value: ManuallyDrop::new(value) }
    }

    /// Whether it was made in this process.
    pub fn is_ours(&self) -> bool {
        self.generation == generation()
    }
}

impl<T> Deref for Ours<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Ours<T> {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: nothing else drops it, and after this nothing can reach it.
            unsafe { ManuallyDrop::drop(&mut self.value) }
        }
    }
}
