//! What handles ask of the process' thread, and what they tell it.

use std::sync::Arc;

use super::Leave;
use crate::answer::Answer;
use crate::cache::Reader;
use crate::error::Result;
use crate::lock::{Acquiring, Attempt, Held, Releasing, Spec};
use crate::operation::odd_reply;

/// What wants an answer.
pub(crate) enum Request {
    Acquire(Attempt),
    Release {
        held: Arc<Held>,
        was_held: bool,
    },
    /// An entry of a cache.
    Read(Reader),
}

impl Request {
    /// Whether it is about several servers: then a thread of its own does it, with [`run`](Request::run).
    pub fn is_quorum(&self) -> bool {
        match self {
            Request::Acquire(attempt) => attempt.lock.spec.is_quorum(),
            Request::Release { held, .. } => held.spec.is_quorum(),
            Request::Read(_) => false,
        }
    }

    /// Does it on this thread, on several servers.
    pub fn run(self) -> Result<Answer> {
        match self {
            Request::Acquire(attempt) => Acquiring { attempt }.run_among_threads(&mut || false).map(Answer::new),
            Request::Release { held, was_held } => Releasing { held: Some(held), was_held }.run().map(Answer::new),
            Request::Read(_) => Err(odd_reply("a read of several servers".to_owned())),
        }
    }
}

/// What wants none.
pub(crate) enum Notice {
    /// Renew it and tell its loss.
    Keep(Arc<Held>),
    /// A lock was freed by another thread.
    Freed(Arc<Spec>),
    /// A caller has abandoned its attempt.
    Abandoned,
    /// Send this.
    Leave(Leave),
}
