//! What a command answers, as the layers between a feature and its caller carry it, without knowing its kind; and where it goes.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::base::error::{Code, Error, Result};

/// A value that can be an answer: any that may go to another thread. Implemented for all of them.
pub trait AnswerValue: Any + fmt::Debug + Send {}

impl<T: Any + fmt::Debug + Send> AnswerValue for T {}

/// The answer of one call. The feature that made the call knows its type, and so does the caller: see [`Op`](crate::op::Op).
pub struct Answer(Box<dyn AnswerValue>);

impl Answer {
    /// Wraps an answer.
    pub fn new(value: impl AnswerValue) -> Answer {
        Answer(Box::new(value))
    }

    /// The answer, if it is of this type.
    pub fn get<T: AnswerValue>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// Takes the answer out; as an `Answer`, whatever it is.
    ///
    /// # Errors
    /// The answer itself if it is of another type.
    pub fn downcast<T: AnswerValue>(self) -> std::result::Result<T, Answer> {
        let is_one = self.get::<T>().is_some();
        let mut whole = Some(self);
        let slot: &mut dyn Any = &mut whole;
        if let Some(same) = slot.downcast_mut::<Option<T>>().and_then(Option::take) {
            return Ok(same);
        }
        match whole {
            Some(answer) if is_one => {
                let any: Box<dyn Any> = answer.0;
                // It was looked at a moment ago: of another type it cannot be.
                any.downcast().map(|value| *value).map_err(|_| Answer::new(()))
            }
            other => Err(other.unwrap_or_else(|| Answer::new(()))),
        }
    }

    /// Takes the answer out.
    ///
    /// # Errors
    /// `internal` if it is of another type.
    pub fn take<T: AnswerValue>(self) -> Result<T> {
        self.downcast()
            .map_err(|other| Error::new(Code::Internal, format!("an answer of another kind came: {other:?}")))
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

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
