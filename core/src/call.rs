//! What a driver has to do.

use crate::answer::Answer;
use crate::error::Result;
use crate::exchange::Exchange;

/// One call.
pub(crate) enum Call {
    /// Of one server.
    One(Exchange),
    /// Of several servers, which takes a thread.
    Several(Task),
}

/// Something that blocks until it has its answer.
pub(crate) type Task = Box<dyn FnOnce() -> Result<Answer> + Send>;
