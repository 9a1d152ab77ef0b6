//! Calls of several questions: a caller asks, waits for others if the answer says so, and asks again. A [`Machine`] says what is
//! next and does no I/O; the drivers here, [`LoopLink`](crate::driver::LoopLink) and the process' thread do it.

use std::sync::Arc;
use std::time::Instant;

use crate::base::error::{Code, Error, Result};
use crate::call::answer::Answer;
use crate::call::hint::AttemptId;
use crate::call::sink::Sink;
use crate::connection::deadline::sleep_until;
use crate::connection::subscription::HintChannel;
use crate::reactor::{completion, thread};
use crate::redis::blocking;
use crate::redis::hint_wait::HintWait;
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
    /// Whether it is likely to wait.
    pub is_likely: bool,
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

/// Runs a machine on this thread alone, which listens and rests itself.
pub(crate) fn run(mut machine: Box<dyn Machine>, interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
    let mut wait = machine.place().map(HintWait::new);
    if let Some(wait) = wait.as_mut().filter(|wait| wait.is_likely()) {
        wait.listen_if_idle();
        machine.listen_at(wait.ear());
    }
    match machine.start(Driver::Caller) {
        Start::Ask(exchange) => {
            let result = converse(&mut *machine, exchange, wait.as_mut(), interrupted);
            machine.on_end(&result);
            result
        }
        Start::Enter => wait_elsewhere(machine, interrupted),
        Start::Block => machine.block(interrupted),
        Start::Done(answer) => answer,
    }
}

fn converse(
    machine: &mut dyn Machine,
    mut exchange: Exchange,
    mut wait: Option<&mut HintWait>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Answer> {
    loop {
        let next = machine.on_answer(blocking::run(exchange, interrupted));
        let waited = match (next, wait.as_deref_mut()) {
            (Next::Done(result), _) => return result,
            (_, None) => return machine.on_wait_over(),
            (Next::Listen, Some(wait)) => wait.listen(interrupted),
            (Next::Rest(until), Some(wait)) => match wait.rest(until, interrupted) {
                Ok(()) if wait.is_over() => return machine.on_wait_over(),
                rested => rested,
            },
        };
        if let Err(error) = waited {
            match machine.outlasts(&error) {
                // The server has answered, and only had no time to take a subscription.
                None if error.may_pass() && wait.as_deref().is_some_and(HintWait::is_over) => {
                    return machine.on_wait_over();
                }
                Some(until) => sleep_until(until, interrupted)?,
                None => return machine.on_failure(error),
            }
        }
        machine.listen_at(wait.as_deref().and_then(HintWait::ear));
        exchange = match machine.ask() {
            Some(exchange) => exchange,
            None => return machine.on_wait_over(),
        };
    }
}

/// Runs a machine on this thread as long as it need not wait; then the process' thread waits for it.
pub(crate) fn run_among_threads(
    mut machine: Box<dyn Machine>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Answer> {
    match machine.start(Driver::Threads) {
        Start::Ask(exchange) => match machine.on_answer(blocking::run(exchange, interrupted)) {
            Next::Done(result) => {
                machine.on_end(&result);
                result
            }
            Next::Listen | Next::Rest(_) => wait_elsewhere(machine, interrupted),
        },
        Start::Enter => wait_elsewhere(machine, interrupted),
        Start::Block => machine.block(interrupted),
        Start::Done(answer) => answer,
    }
}

/// Has the process' thread wait, and sleeps until it has.
fn wait_elsewhere(machine: Box<dyn Machine>, interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
    let give_up = machine.give_up();
    let cancel = |sink: &Arc<dyn Sink>| give_up.map_or_else(|| thread::cancel(0, sink), |give_up| give_up());
    completion::wait_for(|sink| machine.enter(0, sink), cancel, interrupted)
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
