//! What is held through a client in this process, so that its close can give it back.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Something that is held for a while; whoever adds it knows what it is.
pub trait Holding: Any + Send + Sync {
    /// Whether it is held now.
    fn is_held(&self) -> bool;
    /// Whether it never will be again.
    fn has_ended(&self) -> bool;
}

/// The grants of one client.
#[derive(Default)]
pub struct Holdings {
    all: Mutex<Crowd>,
}

#[derive(Default)]
struct Crowd {
    held: Vec<Weak<dyn Holding>>,
    /// From how many on those are looked for that have ended.
    most: usize,
}

impl Holdings {
    /// Knows of one more.
    pub fn add(&self, held: Weak<dyn Holding>) {
        let mut crowd = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if crowd.held.len() >= crowd.most {
            crowd.held.retain(|held| held.upgrade().is_some_and(|held| !held.has_ended()));
            crowd.most = 2 * crowd.held.len().max(64);
        }
        crowd.held.push(held);
    }

    /// Those of a type that are held now.
    pub fn take_all<T: Holding>(&self) -> Vec<Arc<T>> {
        let held = std::mem::take(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner).held);
        let of_type = |held: Arc<dyn Holding>| {
            let any: Arc<dyn Any + Send + Sync> = held;
            any.downcast().ok()
        };
        held.iter().filter_map(Weak::upgrade).filter(|held| held.is_held()).filter_map(of_type).collect()
    }

    /// How many are remembered.
    pub fn count(&self) -> usize {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).held.len()
    }
}
