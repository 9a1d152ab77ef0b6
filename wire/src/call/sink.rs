//! Where answers go, and who waits for one.

use std::sync::Arc;

use crate::base::error::{Code, Error, Result};
use crate::call::answer::Answer;

/// Where answers go. Called on the process' thread, once for all that came in one turn; must not block.
pub trait Sink: Send + Sync {
    /// Takes answers, each with the number its call was submitted under.
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>);
}

/// Who waits for one answer. Dropped without one (the thread failed), it answers itself: nobody waits forever.
pub struct Tag {
    sink: Arc<dyn Sink>,
    id: u64,
    answered: bool,
}

impl Tag {
    /// The call of this number, whose answer goes to this sink.
    pub fn new(id: u64, sink: &Arc<dyn Sink>) -> Tag {
        Tag { sink: sink.clone(), id, answered: false }
    }

    /// Gives the answer.
    pub fn answer(self, answer: Result<Answer>) {
        let (sink, id) = self.into_parts();
        sink.complete(vec![(id, answer)]);
    }

    /// Where the answer goes, and under which number; whoever takes this gives it.
    pub(crate) fn into_parts(mut self) -> (Arc<dyn Sink>, u64) {
        self.answered = true;
        (self.sink.clone(), self.id)
    }

    /// Whether it is the one of this number, or any if none is given, of this sink.
    pub(crate) fn is(&self, id: Option<u64>, sink: &Arc<dyn Sink>) -> bool {
        id.is_none_or(|id| self.id == id) && Arc::ptr_eq(&self.sink, sink)
    }
}

impl Drop for Tag {
    fn drop(&mut self) {
        if !self.answered {
            let error = Error::new(Code::Internal, "the call was dropped by a fault of Quotalock's thread");
            self.sink.complete(vec![(self.id, Err(error))]);
        }
    }
}
