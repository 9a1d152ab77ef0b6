//! A list that only grows.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A list to which values are added and from which none is removed, for a `static`: its values live until the process ends. No call
/// blocks, so a forked process goes on with the list of its parent.
pub struct AppendList<T: 'static> {
    last: AtomicPtr<ListNode<T>>,
}

struct ListNode<T: 'static> {
    value: T,
    before: AtomicPtr<ListNode<T>>,
}

impl<T: Send + Sync> Default for AppendList<T> {
    fn default() -> AppendList<T> {
        AppendList::new()
    }
}

impl<T: Send + Sync> AppendList<T> {
    /// An empty list.
    pub const fn new() -> AppendList<T> {
        AppendList { last: AtomicPtr::new(null_mut()) }
    }

    /// All values, the latest first.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> + use<T> {
        let mut next = self.last.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: it is null or was published by `push`, which leaked it: valid and unchanged until the process ends.
            let node: &'static ListNode<T> = unsafe { next.as_ref() }?;
            next = node.before.load(Ordering::Relaxed);
            Some(&node.value)
        })
    }

    /// Adds a value.
    pub fn push(&self, value: T) -> &'static T {
        let node: &'static ListNode<T> = Box::leak(Box::new(ListNode { value, before: AtomicPtr::new(null_mut()) }));
        let mut last = self.last.load(Ordering::Relaxed);
        loop {
            node.before.store(last, Ordering::Relaxed);
            let ours = std::ptr::from_ref(node).cast_mut();
            // Whoever reads `last` sees what was written into the node.
            match self.last.compare_exchange_weak(last, ours, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return &node.value,
                Err(other) => last = other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_lose_nothing() {
        static LIST: AppendList<usize> = AppendList::new();
        assert_eq!(LIST.iter().count(), 0);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    (0..100).for_each(|number| assert_eq!(*LIST.push(100 * thread + number), 100 * thread + number))
                });
            }
        });
        let mut all: Vec<usize> = LIST.iter().copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..400).collect::<Vec<_>>());
        assert_eq!(
            LIST.iter().filter(|number| **number < 100).copied().collect::<Vec<_>>(),
            (0..100).rev().collect::<Vec<_>>()
        );
    }
}
