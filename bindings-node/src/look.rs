//! Looks: the first question of a `get`, which goes out with the batch of its tick. Its answer is a value, the duty to load
//! one, or that another loads it: then the core waits for that one, under the same number.

use std::collections::HashMap;
use std::sync::Arc;

use quotalock::driver::{self, Sink};
use quotalock::{Answer, Getting, GettingMany, Op, Part, Result};

use crate::answers::{Lookout, Mailbox};

/// What is asked for.
pub enum Look {
    /// One entry.
    One(Getting),
    /// Several, in one call.
    Several(GettingMany),
}

/// What the answer to a look means.
pub enum Looked {
    /// This answer of the call.
    Answer(Result<Answer>),
    /// What is to be done about each of several keys.
    Parts(Result<Vec<Part>>),
    /// Another loads it: this is to be submitted under the same number.
    Waits(Getting),
}

/// The looks of one environment that are under way, by the numbers of their calls.
pub struct Looks {
    under_way: HashMap<u64, Look>,
    sink: Arc<dyn Sink>,
}

impl Looks {
    /// Looks whose answers come to this mailbox.
    pub fn new(mailbox: Arc<Mailbox>) -> Looks {
        Looks { under_way: HashMap::new(), sink: Arc::new(Lookout(mailbox)) }
    }

    /// Makes looks; returns what was answered at once.
    pub fn submit(&mut self, looks: Vec<(u64, Look)>) -> Vec<(u64, Result<Answer>)> {
        let mut ops = Vec::with_capacity(looks.len());
        for (id, mut look) in looks {
            ops.push((id, look.ask()));
            self.under_way.insert(id, look);
        }
        driver::submit(ops, &self.sink)
    }

    /// Takes a look back; tells whether there was one under this number.
    pub fn cancel(&mut self, id: u64) -> bool {
        let found = self.under_way.remove(&id).is_some();
        if found {
            driver::cancel(id, &self.sink);
        }
        found
    }

    /// Finds out what an answer means; nothing if its look was taken back, and so was a lease that came of it.
    pub fn understand(&mut self, id: u64, answer: Result<Answer>) -> Option<Looked> {
        Some(match self.under_way.remove(&id)? {
            Look::One(getting) => match getting.after(answer) {
                Ok(got) => Looked::Answer(got.map(Answer::new)),
                Err(getting) => Looked::Waits(*getting),
            },
            Look::Several(getting) => Looked::Parts(getting.after(answer)),
        })
    }
}

impl Look {
    fn ask(&mut self) -> Op<Answer> {
        match self {
            Look::One(getting) => getting.ask(),
            Look::Several(getting) => getting.ask(),
        }
    }
}
