//! A call that was described but not yet made: run it on this thread, or await it.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::cache::Got;
use crate::client::{Client, Shared};
use crate::decision::{CombinedDecision, Decision};
use crate::error::{Code, Error, Result};
use crate::exchange::Exchange;
use crate::flight::{Claimed, Looked, Seen};
use crate::lease::{Grant, Inspection};
use crate::operation::{Answer, Operation, Stored};
use crate::stock::{LedgerEntry, StockPage, StockStatus, Taken, TakenAll};
use crate::store::redis::{pipeline, pool, seat};

/// What an operation's answer is turned into.
pub trait FromAnswer: Sized + Send + 'static {
    /// Takes the answer apart; none if it is of another kind.
    fn from_answer(answer: Answer) -> Option<Self>;
}

impl FromAnswer for Decision {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Decision(decision) = answer { Some(decision) } else { None }
    }
}

impl FromAnswer for CombinedDecision {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Combined(decision) = answer { Some(decision) } else { None }
    }
}

impl FromAnswer for bool {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Flag(flag) = answer { Some(flag) } else { None }
    }
}

impl FromAnswer for u64 {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Count(count) = answer { Some(count) } else { None }
    }
}

impl FromAnswer for Grant {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Grant(grant, _) = answer { Some(grant) } else { None }
    }
}

impl FromAnswer for Inspection {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Inspection(inspection) = answer { Some(inspection) } else { None }
    }
}

impl FromAnswer for Vec<Looked> {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Looked(looked) = answer { Some(looked) } else { None }
    }
}

impl FromAnswer for Option<Seen> {
    fn from_answer(answer: Answer) -> Option<Self> {
        let Answer::Looked(looked) = answer else { return None };
        let [looked] = <[Looked; 1]>::try_from(looked).ok()?;
        Some(if let Looked::Seen(seen) = looked { Some(seen) } else { None })
    }
}

impl FromAnswer for Got {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Got(got) = answer { Some(got) } else { None }
    }
}

impl FromAnswer for Claimed {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Claimed(claimed) = answer { Some(claimed) } else { None }
    }
}

impl FromAnswer for Taken {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Taken(taken) = answer { Some(taken) } else { None }
    }
}

impl FromAnswer for TakenAll {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::TakenAll(taken) = answer { Some(taken) } else { None }
    }
}

impl FromAnswer for StockStatus {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::StockStatus(status) = answer { Some(status) } else { None }
    }
}

impl FromAnswer for StockPage {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::StockPage(page) = answer { Some(page) } else { None }
    }
}

impl FromAnswer for Vec<LedgerEntry> {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Ledger(entries) = answer { Some(entries) } else { None }
    }
}

impl FromAnswer for Option<Stored> {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Stored(stored) = answer { Some(stored) } else { None }
    }
}

impl FromAnswer for Answer {
    fn from_answer(answer: Answer) -> Option<Self> {
        Some(answer)
    }
}

/// A described call. Nothing happens until it is [`run`](Op::run), `.await`ed, or handed to a driver.
#[must_use = "nothing happens until it is run or awaited"]
pub struct Op<T> {
    call: Call,
    answer: PhantomData<fn() -> T>,
}

/// What a driver has to do.
pub(crate) enum Call {
    /// A call of one server.
    One(Exchange),
    /// A call of several servers, which takes a thread.
    Several(Task),
}

/// Something that blocks until it has its answer.
pub(crate) type Task = Box<dyn FnOnce() -> Result<Answer> + Send>;

impl<T: FromAnswer> Op<T> {
    pub(crate) fn new(client: &Client, operation: Box<dyn Operation>, wait: Option<Duration>) -> Op<T> {
        Op { call: Call::One(Exchange::new(client.shared.clone(), operation, wait)), answer: PhantomData }
    }

    /// As [`new`](Op::new), for who has no client but what it shares.
    pub(crate) fn of(shared: &Arc<Shared>, operation: Box<dyn Operation>) -> Op<T> {
        Op { call: Call::One(Exchange::new(shared.clone(), operation, None)), answer: PhantomData }
    }

    /// A call that blocks in its own way.
    pub(crate) fn task(task: impl FnOnce() -> Result<Answer> + Send + 'static) -> Op<T> {
        Op { call: Call::Several(Box::new(task)), answer: PhantomData }
    }

    /// Forgets the type of the answer, for drivers that carry any.
    pub fn erased(self) -> Op<Answer> {
        Op { call: self.call, answer: PhantomData }
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
        typed(match self.call {
            Call::One(exchange) => pool::run(exchange, interrupted),
            Call::Several(task) => task(),
        })
    }

    /// Takes the call for a driver.
    pub(crate) fn into_call(self) -> Call {
        self.call
    }
}

/// Makes several calls of one client on this thread, and waits for all answers, which come in the calls' order: they travel
/// together. As [`Op::run_interruptibly`] otherwise.
pub(crate) fn run_all<T: FromAnswer>(ops: Vec<Op<T>>, interrupted: &mut dyn FnMut() -> bool) -> Vec<Result<T>> {
    let one = |op: Op<T>| if let Call::One(exchange) = op.call { Some(exchange) } else { None };
    pipeline::run_all(ops.into_iter().filter_map(one).collect(), interrupted).into_iter().map(typed).collect()
}

pub(crate) fn typed<T: FromAnswer>(answer: Result<Answer>) -> Result<T> {
    T::from_answer(answer?).ok_or_else(|| Error::new(Code::Internal, "an answer of another kind came back"))
}

impl<T: FromAnswer> IntoFuture for Op<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { typed(seat::ask(self.call).await) })
    }
}
