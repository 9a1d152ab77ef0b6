//! Calls of several questions: a caller asks, waits for others if the answer says so, and asks again. A [`Machine`] says what is
//! next and does no I/O; the driver on its caller's thread (`waiting.rs`), [`LoopLink`](crate::driver::LoopLink) and the process'
//! thread do it.

use std::sync::Arc;
use std::time::Instant;

use crate::base::error::{Code, Error, Result};
use crate::call::answer::{Answer, Sink};
use crate::call::hint::AttemptId;
use crate::connection::subscription::HintChannel;
use crate::session::Session;
use crate::session::exchange::Exchange;

/// Where a machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// On its caller's thread alone, which waits for hints itself.
    Caller,
    /// On its caller's thread, as long as it need not wait; then on the process' thread.
    Threads,
    /// On a loop, as long as it need not wait; then on the process' thread.
    Loop,
    /// On the process' thread.
    Process,
}

/// How a machine begins.
pub enum Start {
    /// Send this; [`Machine::on_answer`] reads the answer.
    Ask(Exchange),
    /// Let the process' thread do it: [`Machine::enter`].
    Enter,
    /// Let a thread do it that may block: [`Machine::block`].
    Block,
    /// It has its answer.
    Done(Result<Answer>),
}

/// What follows from an answer.
pub enum Next<T> {
    /// It is over.
    Done(Result<T>),
    /// Subscribe to hints, then ask again.
    Listen,
    /// Rest until a hint comes or this moment, then ask again.
    Rest(Instant),
}

/// Where a machine waits.
pub struct WaitPlace {
    /// Its client.
    pub session: Arc<Session>,
    /// What channels' names begin with.
    pub prefix: Arc<[u8]>,
    /// Where the key lies that it waits for.
    pub slot: u16,
    /// What hints for it say.
    pub topic: AttemptId,
    /// When waiting ends.
    pub until: Instant,
}

/// What takes back a machine that waits on the process' thread, when nobody wants its answer any more.
pub type GiveUp = Box<dyn FnOnce() + Send>;

/// A call of several questions. Dropped without an answer, it leaves nothing behind.
pub trait Machine: Send {
    /// Begins.
    fn start(&mut self, driver: Driver) -> Start;

    /// Reads the answer to its last question.
    fn on_answer(&mut self, answer: Result<Answer>) -> Next<Answer>;

    /// It is over with this result, and was not handed to the process' thread.
    fn on_end(&mut self, _result: &Result<Answer>) {}

    /// Hands it to the process' thread; its answer comes to `sink` under this number.
    fn enter(self: Box<Self>, id: u64, sink: &Arc<dyn Sink>);

    /// What takes it back from there, if [`driver::cancel`](crate::driver::cancel) does not.
    fn give_up(&self) -> Option<GiveUp> {
        None
    }

    /// Does it in its own way, which blocks.
    ///
    /// # Errors
    /// Those of the call.
    fn block(self: Box<Self>, _interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
        Err(Error::new(Code::Internal, "a call that does not block was to block"))
    }

    /// Where it waits; none if it never does.
    fn place(&self) -> Option<WaitPlace> {
        None
    }

    /// Whether it is likely to wait: then it listens before its first question, if that costs nothing.
    fn is_likely_to_wait(&self) -> bool {
        false
    }

    /// Hints for it will be heard here, if anywhere.
    fn listen_at(&mut self, _channel: Option<HintChannel>) {}

    /// Its next question, after it has waited.
    fn ask(&mut self) -> Option<Exchange> {
        None
    }

    /// Until when to rest before what has failed so is tried again; none if that is of no use.
    fn outlasts(&mut self, _error: &Error) -> Option<Instant> {
        None
    }

    /// What its caller gets where hints cannot be heard, for this reason.
    ///
    /// # Errors
    /// The reason, unless it has an answer without Redis.
    fn on_failure(&mut self, error: Error) -> Result<Answer> {
        Err(error)
    }

    /// What its caller gets when its time is over.
    ///
    /// # Errors
    /// Those of the call.
    fn on_wait_over(&mut self) -> Result<Answer> {
        Err(Error::new(Code::Internal, "a call that does not wait has waited"))
    }
}

/// A call on a connection that many share: who waits for its answer, and what reads it if that is not its caller.
pub(crate) struct SharedCall<T> {
    pub(crate) tag: T,
    pub(crate) machine: Option<Box<dyn Machine>>,
}

/// What an answer on a shared connection comes to.
pub(crate) enum Settled<T> {
    /// The caller has its answer.
    Done(T, Result<Answer>),
    /// It has to wait.
    Waits(T, Box<dyn Machine>),
}

impl<T> SharedCall<T> {
    /// A call whose caller reads its answer.
    pub(crate) fn plain(tag: T) -> SharedCall<T> {
        SharedCall { tag, machine: None }
    }

    /// Reads the answer.
    pub(crate) fn settle(self, answer: Result<Answer>) -> Settled<T> {
        let Some(mut machine) = self.machine else { return Settled::Done(self.tag, answer) };
        match machine.on_answer(answer) {
            Next::Done(result) => {
                machine.on_end(&result);
                Settled::Done(self.tag, result)
            }
            Next::Listen | Next::Rest(_) => Settled::Waits(self.tag, machine),
        }
    }
}

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
