//! A call that was described but not yet made: run it on this thread, or await it.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::client::{Client, Shared};
use crate::decision::{CombinedDecision, Decision};
use crate::error::{Code, Error, Result};
use crate::exchange::Exchange;
use crate::lease::{Grant, Inspection};
use crate::operation::{Answer, Operation, Stored};
use crate::store::redis::{hub, pool};

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
        if let Answer::Grant(grant) = answer { Some(grant) } else { None }
    }
}

impl FromAnswer for Inspection {
    fn from_answer(answer: Answer) -> Option<Self> {
        if let Answer::Inspection(inspection) = answer { Some(inspection) } else { None }
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
    exchange: Exchange,
    answer: PhantomData<fn() -> T>,
}

impl<T: FromAnswer> Op<T> {
    pub(crate) fn new(client: &Client, operation: Box<dyn Operation>, wait: Option<Duration>) -> Op<T> {
        Op { exchange: Exchange::new(client.shared.clone(), operation, wait), answer: PhantomData }
    }

    /// As [`new`](Op::new), for who has no client but what it shares.
    pub(crate) fn of(shared: &Arc<Shared>, operation: Box<dyn Operation>) -> Op<T> {
        Op { exchange: Exchange::new(shared.clone(), operation, None), answer: PhantomData }
    }

    /// Forgets the type of the answer, for drivers that carry any.
    pub fn erased(self) -> Op<Answer> {
        Op { exchange: self.exchange, answer: PhantomData }
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
        typed(pool::run(self.exchange, interrupted))
    }

    /// Takes the call for a driver.
    pub(crate) fn into_exchange(self) -> Exchange {
        self.exchange
    }
}

pub(crate) fn typed<T: FromAnswer>(answer: Result<Answer>) -> Result<T> {
    T::from_answer(answer?).ok_or_else(|| Error::new(Code::Internal, "an answer of another kind came back"))
}

impl<T: FromAnswer> IntoFuture for Op<T> {
    type Output = Result<T>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { typed(hub::ask(self.exchange).await) })
    }
}
