//! Clients and loads of an environment, which give back what they hold when the environment ends: some runtimes end one without
//! finalizing its values, as Deno does with each worker.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Handles of one kind that JavaScript has.
pub struct Handles<T> {
    /// By their addresses.
    all: HashMap<usize, Weak<T>>,
    /// The count from which on those are removed that JavaScript has no more.
    most: usize,
}

impl<T> Handles<T> {
    /// No handles.
    pub fn new() -> Handles<T> {
        Handles { all: HashMap::new(), most: 0 }
    }

    /// Adds a handle, unless it is there.
    pub fn add(&mut self, handle: &Arc<T>) {
        if self.all.len() >= self.most {
            self.all.retain(|_, handle| handle.strong_count() > 0);
            self.most = 2 * self.all.len().max(64);
        }
        self.all.insert(Arc::as_ptr(handle) as usize, Arc::downgrade(handle));
    }

    /// Takes those that JavaScript has.
    pub fn take(&mut self) -> Vec<Arc<T>> {
        std::mem::take(&mut self.all).into_values().filter_map(|handle| handle.upgrade()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once_and_those_that_are_gone_are_forgotten() {
        let (mut handles, kept) = (Handles::new(), Arc::new(1));
        for _ in 0..1_000 {
            handles.add(&kept);
            handles.add(&Arc::new(0));
        }
        assert!(handles.all.len() < 200);
        assert_eq!(handles.take(), [kept]);
        assert_eq!(handles.take(), []);
    }
}
