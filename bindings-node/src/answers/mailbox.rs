//! Where the core's thread leaves answers for JavaScript's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi::{Env, sys};
use quotalock::driver::Sink;
use quotalock::{Answer, Result};

use super::Answers;
use crate::bell::Bell;

/// Where the core's thread leaves answers for JavaScript.
pub struct Mailbox {
    contents: Mutex<Contents>,
    bell: Bell,
}

#[derive(Default)]
struct Contents {
    answers: Answers,
    /// Whether the environment has ended: then nobody takes answers, and there may be nothing to ring for.
    has_ended: bool,
}

impl Mailbox {
    /// Makes a mailbox that rings `bell` when it is not empty any more.
    pub fn new(bell: Bell) -> Mailbox {
        Mailbox { contents: Mutex::default(), bell }
    }

    /// Keeps the environment from ending, as long as calls are under way, or lets it end.
    pub fn hold(&self, env: Env, hold: bool) {
        self.bell.handle.with_read_aborted(|gone| {
            if !gone {
                let change = if hold { sys::napi_ref_threadsafe_function } else { sys::napi_unref_threadsafe_function };
                // SAFETY: the function was not finalized (`gone`), and this is the thread of its environment.
                unsafe { change(env.raw(), self.bell.handle.get_raw()) };
            }
        });
    }

    /// Leaves word that a lock was lost that is watched under this number.
    pub fn lost(&self, id: u64) {
        self.leave(|answers| answers.lost(id));
    }

    /// Exchanges what lies here for an empty `into`.
    pub fn empty(&self, into: &mut Answers) {
        std::mem::swap(&mut self.contents().answers, into);
    }

    /// Throws away what lies here, and whatever comes from now on.
    pub fn end(&self) {
        let unread = {
            let mut contents = self.contents();
            contents.has_ended = true;
            std::mem::take(&mut contents.answers)
        };
        drop(unread);
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, write: impl FnOnce(&mut Answers)) {
        let was_empty = {
            let mut contents = self.contents();
            if contents.has_ended {
                return;
            }
            let was_empty = contents.answers.is_empty();
            write(&mut contents.answers);
            was_empty
        };
        if was_empty {
            // An environment that is gone takes no answers: nobody waits for them any more.
            self.bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

impl Sink for Mailbox {
    fn complete(&self, new: Vec<(u64, Result<Answer>)>) {
        self.leave(|answers| new.into_iter().for_each(|(id, answer)| answers.push(id, answer)));
    }
}

/// Where answers to looks come: what they mean is found out on JavaScript's thread, which knows who asked.
pub struct Lookout(pub Arc<Mailbox>);

impl Sink for Lookout {
    fn complete(&self, new: Vec<(u64, Result<Answer>)>) {
        self.0.leave(|answers| answers.looked.extend(new));
    }
}
