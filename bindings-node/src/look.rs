//! Calls that are a step of a load: their answers are for the load, and JavaScript hears only that it knows more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quotalock::driver::{self, Sink};
use quotalock::{Answer, Result};

use crate::answers::{Lookout, Mailbox};

/// A load, which a look is a part of. Touched on JavaScript's thread alone.
pub type Shared = Arc<Mutex<driver::Loading>>;

/// Those of one environment that are under way, by the numbers of their calls.
pub struct Looks {
    under_way: HashMap<u64, Shared>,
    sink: Arc<dyn Sink>,
}

impl Looks {
    /// Looks whose answers come to this mailbox.
    pub fn new(mailbox: Arc<Mailbox>) -> Looks {
        Looks { under_way: HashMap::new(), sink: Arc::new(Lookout(mailbox)) }
    }

    /// A call of this load has begun.
    pub fn begin(&mut self, id: u64, loading: Shared) {
        self.under_way.insert(id, loading);
    }

    /// Where answers to them come.
    pub fn sink(&self) -> &Arc<dyn Sink> {
        &self.sink
    }

    /// Whether one is under way under this number.
    pub fn has(&self, id: u64) -> bool {
        self.under_way.contains_key(&id)
    }

    /// Forgets one; tells whether there was one under this number.
    pub fn forget(&mut self, id: u64) -> bool {
        self.under_way.remove(&id).is_some()
    }

    /// Forgets all: what they were granted is given back.
    pub fn forget_all(&mut self) {
        self.under_way.clear();
    }

    /// Gives an answer to the load that it is for, and returns what JavaScript hears; nothing if it was taken back.
    pub fn understand(&mut self, id: u64, answer: Result<Answer>) -> Option<Result<Answer>> {
        let loading = self.under_way.remove(&id)?;
        locked(&loading).on_answers(vec![answer]);
        Some(Ok(Answer::new(true)))
    }
}

/// Locks a load.
pub fn locked(loading: &Mutex<driver::Loading>) -> MutexGuard<'_, driver::Loading> {
    loading.lock().unwrap_or_else(PoisonError::into_inner)
}
