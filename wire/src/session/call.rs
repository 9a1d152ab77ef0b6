//! What a driver has to do.

use crate::base::error::Result;
use crate::call::answer::Answer;
use crate::machine::{GiveUp, Machine};
use crate::session::exchange::Exchange;

/// One call.
pub enum Call {
    /// Of one server.
    One(Exchange),
    /// Of several servers, which takes a thread.
    Several(Task),
    /// Of several questions.
    Machine(Box<dyn Machine>),
}

impl Call {
    /// What takes it back from the process' thread, if [`driver::cancel`](crate::driver::cancel) does not.
    pub(crate) fn give_up(&self) -> Option<GiveUp> {
        if let Call::Machine(machine) = self { machine.give_up() } else { None }
    }
}

/// Something that blocks until it has its answer.
pub(crate) type Task = Box<dyn FnOnce() -> Result<Answer> + Send>;
