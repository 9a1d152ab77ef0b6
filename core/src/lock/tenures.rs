//! What is held through a client in this process, so that its close can give it back.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::held::Held;

/// The grants of one client.
#[derive(Default)]
pub(crate) struct Tenures {
    all: Mutex<Crowd>,
}

#[derive(Default)]
struct Crowd {
    held: Vec<Weak<Held>>,
    /// From how many on those are looked for that have ended.
    most: usize,
}

impl Tenures {
    /// Knows of one more.
    pub fn add(&self, held: &Arc<Held>) {
        let mut crowd = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if crowd.held.len() >= crowd.most {
            crowd.held.retain(|held| held.upgrade().is_some_and(|held| !held.has_ended()));
            crowd.most = 2 * crowd.held.len().max(64);
        }
        crowd.held.push(Arc::downgrade(held));
    }

    /// Those that are held now.
    pub fn take(&self) -> Vec<Arc<Held>> {
        let held = std::mem::take(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner).held);
        held.iter().filter_map(Weak::upgrade).filter(|held| held.is_held()).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::client::{Client, Options};
    use crate::lock::LockOptions;

    #[test]
    fn what_has_ended_is_not_remembered() {
        let client = Client::new(Options { url: Some("memory://".into()), ..Options::default() }).unwrap();
        let kept = client.lock(b"kept", LockOptions::default()).unwrap();
        assert!(kept.acquire(std::time::Duration::ZERO).unwrap().run().unwrap());
        for _ in 0..1_000 {
            let lock = client.lock(b"another", LockOptions::default()).unwrap();
            assert!(lock.acquire(std::time::Duration::ZERO).unwrap().run().unwrap());
            assert!(lock.release().run().unwrap());
        }
        let tenures = &client.shared.engine().tenures;
        assert!(tenures.all.lock().unwrap().held.len() < 200);
        assert_eq!(tenures.take().len(), 1);
    }
}
