//! What a command answers, as the layers between a feature and its caller carry it: without knowing its kind.

use std::any::Any;
use std::fmt;

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
