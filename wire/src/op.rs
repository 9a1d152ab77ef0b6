//! A call that was described but not yet made: run it on this thread, or await it.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::base::error::Result;
use crate::call::answer::{Answer, AnswerValue};
use crate::call::command::Command;
use crate::machine::{Call, Machine};
use crate::reactor::completion;
use crate::redis::{batch, blocking};
use crate::session::Session;
use crate::session::exchange::Exchange;
use crate::waiting;

/// A described call. Nothing happens until it is [`run`](Op::run), `.await`ed, or handed to a driver.
#[must_use = "nothing happens until it is run or awaited"]
pub struct Op<T> {
    asked: OpKind<T>,
}

enum OpKind<T> {
    Call(Call, PhantomData<fn() -> T>),
    Unsure(Box<dyn Unsure<T>>),
}

/// What this process may know by itself when it is asked: then no call is made.
pub trait Unsure<T>: Send {
    /// The answer, if it is known. To be asked when the call is run, and not before: a decision is charged then.
    fn at_once(&self) -> Option<Result<T>>;
    /// The call. It knows what is known by itself too, but costs more.
    fn exchange(&self) -> Exchange;
}

impl<T> OpKind<T> {
    fn into_call(self) -> Call {
        match self {
            OpKind::Call(call, _) => call,
            OpKind::Unsure(unsure) => Call::One(unsure.exchange()),
        }
    }

    /// The answer, if it is known when it is run.
    fn at_once(&self) -> Option<Result<T>> {
        match self {
            OpKind::Call(..) => None,
            OpKind::Unsure(unsure) => unsure.at_once(),
        }
    }
}

impl<T: AnswerValue> Op<T> {
    /// A call of a session's server; `wait`: for how long it is made again while its answer says when that is worth it.
    pub fn new(session: &Arc<Session>, command: Box<dyn Command>, wait: Option<Duration>) -> Op<T> {
        Op::from_call(Call::One(Exchange::new(session.clone(), command, wait)))
    }

    /// A call that blocks in its own way.
    pub fn task(task: impl FnOnce() -> Result<Answer> + Send + 'static) -> Op<T> {
        Op::from_call(Call::Several(Box::new(task)))
    }

    /// A call of several questions.
    pub fn machine(machine: Box<dyn Machine>) -> Op<T> {
        Op::from_call(Call::Machine(machine))
    }

    /// A call that may not be needed.
    pub fn unsure(unsure: Box<dyn Unsure<T>>) -> Op<T> {
        Op { asked: OpKind::Unsure(unsure) }
    }

    fn from_call(call: Call) -> Op<T> {
        Op { asked: OpKind::Call(call, PhantomData) }
    }

    /// Forgets the type of the answer, for drivers that carry any.
    pub fn erased(self) -> Op<Answer> {
        Op::from_call(self.asked.into_call())
    }

    /// Makes the call on this thread and waits for the answer, within the client's timeout.
    ///
    /// # Errors
    /// As the method that described it says.
    pub fn run(self) -> Result<T> {
        self.run_interruptibly(&mut || false)
    }

    /// As [`run`](Op::run), asking `interrupted` about 20 times a second while nothing comes; true ends the call with
    /// an `internal` error. A binding looks there for its language's signals.
    ///
    /// # Errors
    /// As the method that described it says.
    pub fn run_interruptibly(self, interrupted: &mut dyn FnMut() -> bool) -> Result<T> {
        if let Some(known) = self.asked.at_once() {
            return known;
        }
        typed(match self.asked.into_call() {
            Call::One(exchange) => blocking::run(exchange, interrupted),
            Call::Several(task) => task(),
            Call::Machine(machine) => waiting::run(machine, interrupted),
        })
    }

    /// As [`run_interruptibly`](Op::run_interruptibly), but if it has to wait for others, the process' thread waits for it: one
    /// subscription for all threads, which wait in order. For processes of several threads.
    ///
    /// # Errors
    /// As the method that described it says.
    pub fn run_among_threads(self, interrupted: &mut dyn FnMut() -> bool) -> Result<T> {
        match self.asked {
            OpKind::Call(Call::Machine(machine), _) => typed(waiting::run_among_threads(machine, interrupted)),
            asked => Op { asked }.run_interruptibly(interrupted),
        }
    }

    /// Whether it is one question to one server.
    fn is_single(&self) -> bool {
        matches!(&self.asked, OpKind::Call(Call::One(_), _))
    }

    /// Takes the call for a driver.
    pub fn into_call(self) -> Call {
        self.asked.into_call()
    }
}

/// Makes several calls of one client on this thread, and waits for all answers, which come in the calls' order. Calls of one
/// question each travel together. As [`Op::run_interruptibly`] otherwise.
pub fn run_all<T: AnswerValue>(ops: Vec<Op<T>>, interrupted: &mut dyn FnMut() -> bool) -> Vec<Result<T>> {
    if !ops.iter().all(Op::is_single) {
        return ops.into_iter().map(|op| op.run_interruptibly(interrupted)).collect();
    }
    let one = |op: Op<T>| if let Call::One(exchange) = op.into_call() { Some(exchange) } else { None };
    batch::run_all(ops.into_iter().filter_map(one).collect(), interrupted).into_iter().map(typed).collect()
}

/// The answer of a call whose feature knows its type.
pub fn typed<T: AnswerValue>(answer: Result<Answer>) -> Result<T> {
    answer?.take()
}

impl<T> fmt::Debug for Op<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Op")
    }
}

impl<T: AnswerValue> IntoFuture for Op<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            match self.asked.at_once() {
                Some(known) => known,
                None => typed(completion::ask(self.asked.into_call()).await),
            }
        })
    }
}
