//! What a driver has to do.

use crate::base::error::Result;
use crate::call::answer::Answer;
use crate::session::exchange::Exchange;

/// One call.
pub enum Call {
    /// Of one server.
    One(Exchange),
    /// Of several servers, which takes a thread.
    Several(Task),
}

/// Something that blocks until it has its answer.
pub(crate) type Task = Box<dyn FnOnce() -> Result<Answer> + Send>;
