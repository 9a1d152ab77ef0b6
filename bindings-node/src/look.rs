//! Looks: what a load asks, which goes out with the batch of its tick. If another loads it, the core waits for that one, under
//! the same number. What the answer is the load knows; its caller hears that there is one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quotalock::driver::{self, Sink};
use quotalock::{Answer, Getting, GettingMany, Op, Result};

use crate::answers::{Lookout, Mailbox};

/// A load, which a look is a part of. Touched on JavaScript's thread alone.
pub type Shared = Arc<Mutex<driver::Loading>>;

/// What is asked for.
pub enum Look {
    /// One entry.
    One(Getting, Shared),
    /// Several, in one call.
    Several(GettingMany, Shared),
}

/// What is under way.
enum UnderWay {
    /// A look.
    Looks(Look),
    /// Another loads what it wants.
    Waits(Shared),
}

/// The looks of one environment that are under way, by the numbers of their calls.
pub struct Looks {
    under_way: HashMap<u64, UnderWay>,
    sink: Arc<dyn Sink>,
}

impl Looks {
    /// Looks whose answers come to this mailbox.
    pub fn new(mailbox: Arc<Mailbox>) -> Looks {
        Looks { under_way: HashMap::new(), sink: Arc::new(Lookout(mailbox)) }
    }

    /// The calls of looks, whose answers are to come to the [`sink`](Looks::sink).
    pub fn begin(&mut self, looks: Vec<(u64, Look)>) -> Vec<(u64, Op<Answer>)> {
        let mut ops = Vec::with_capacity(looks.len());
        for (id, mut look) in looks {
            ops.push((id, look.ask()));
            self.under_way.insert(id, UnderWay::Looks(look));
        }
        ops
    }

    /// Where answers to looks come.
    pub fn sink(&self) -> &Arc<dyn Sink> {
        &self.sink
    }

    /// Whether a look is under way under this number.
    pub fn has(&self, id: u64) -> bool {
        self.under_way.contains_key(&id)
    }

    /// Forgets a look; tells whether there was one under this number.
    pub fn forget(&mut self, id: u64) -> bool {
        self.under_way.remove(&id).is_some()
    }

    /// Gives an answer to its load: true if the caller is to hear of it; false if it waits for one more, which comes under the
    /// same number. None if the look was taken back, and so is what comes of it.
    pub fn understand(&mut self, id: u64, answer: Result<Answer>) -> Option<bool> {
        match self.under_way.remove(&id)? {
            UnderWay::Looks(Look::One(getting, loading)) => match getting.after(answer) {
                Ok(got) => lock(&loading).on_got(got),
                Err(getting) => {
                    self.under_way.insert(id, UnderWay::Waits(loading));
                    getting.submit(id, &self.sink);
                    return Some(false);
                }
            },
            UnderWay::Looks(Look::Several(looking, loading)) => lock(&loading).on_looked(looking.after(answer)),
            UnderWay::Waits(loading) => lock(&loading).on_got(answer.and_then(Answer::take)),
        }
        Some(true)
    }
}

impl Look {
    fn ask(&mut self) -> Op<Answer> {
        match self {
            Look::One(getting, _) => getting.ask(),
            Look::Several(looking, _) => looking.ask(),
        }
    }
}

/// Locks a load.
pub fn lock(loading: &Shared) -> MutexGuard<'_, driver::Loading> {
    loading.lock().unwrap_or_else(PoisonError::into_inner)
}
