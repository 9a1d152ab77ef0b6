//! What an environment holds: given back when the environment ends, in runtimes that end one without finalizing its values, as
//! Deno does with a worker that is terminated.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use quotalock::driver;

use crate::look;

/// Something that is held until it is given back.
pub trait Handle {
    /// Gives back what is held, in the background.
    fn give_back(&self);
}

impl Handle for quotalock::Lock {
    fn give_back(&self) {
        // A lease that is not renewed is meant to end by itself. An acquisition under way has no lease yet.
        self.let_go();
        if !self.is_held() {
            self.abandon();
        }
    }
}

impl Handle for Mutex<driver::Loading> {
    fn give_back(&self) {
        look::locked(self).leave();
    }
}

/// The handles of one environment.
#[derive(Default)]
pub struct Handles {
    /// By their addresses.
    all: HashMap<usize, Weak<dyn Handle>>,
    /// The count from which on those are removed that nobody has any more.
    most: usize,
}

impl Handles {
    /// Adds a handle, unless it is there.
    pub fn add(&mut self, handle: &Arc<impl Handle + 'static>) {
        if self.all.len() >= self.most {
            self.all.retain(|_, handle| handle.strong_count() > 0);
            self.most = 2 * self.all.len().max(64);
        }
        let address = Arc::as_ptr(handle) as *const () as usize;
        let handle: Weak<dyn Handle> = Arc::downgrade(handle) as _;
        self.all.insert(address, handle);
    }

    /// Gives back what they hold.
    pub fn give_back(&mut self) {
        std::mem::take(&mut self.all)
            .into_values()
            .filter_map(|handle| handle.upgrade())
            .for_each(|handle| handle.give_back());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    impl Handle for AtomicUsize {
        fn give_back(&self) {
            self.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn each_is_given_back_once_and_those_that_are_gone_are_forgotten() {
        let mut handles = Handles::default();
        let kept = Arc::new(AtomicUsize::new(0));
        for _ in 0..1_000 {
            handles.add(&kept);
            handles.add(&Arc::new(AtomicUsize::new(0)));
        }
        assert!(handles.all.len() < 200);
        handles.give_back();
        handles.give_back();
        assert_eq!(kept.load(Ordering::Relaxed), 1);
    }
}
