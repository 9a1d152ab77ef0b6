//! Who waits for the answer of the process' thread: a future, or a thread that sleeps.

use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use super::thread::{cancel, submit};
use crate::base::error::Result;
use crate::call::answer::{Answer, Sink};
use crate::connection::deadline::{SLICE, interruption};
use crate::machine::{Call, GiveUp};

/// What a thread waits for that has the process' thread wait.
#[derive(Default)]
struct SleepingThread {
    answer: Mutex<Option<Result<Answer>>>,
    came: Condvar,
}

impl Sink for SleepingThread {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answers.into_iter().next().map(|(_, a)| a);
        self.came.notify_one();
    }
}

/// Begins something whose answer comes to the sink that it is given, under the number 0, and waits for it on this thread;
/// takes it back by `cancel`, and fails, if the caller was interrupted.
pub fn wait_for(
    begin: impl FnOnce(&Arc<dyn Sink>),
    cancel: impl FnOnce(&Arc<dyn Sink>),
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Answer> {
    let sleeper = Arc::new(SleepingThread::default());
    let sink: Arc<dyn Sink> = sleeper.clone();
    begin(&sink);
    let mut answer = sleeper.answer.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(answer) = answer.take() {
            return answer;
        }
        answer = sleeper.came.wait_timeout(answer, SLICE).unwrap_or_else(PoisonError::into_inner).0;
        if answer.is_none() {
            drop(answer);
            // A signal's handler may be slow, and the answer must not wait for it.
            if interrupted() {
                cancel(&sink);
                return Err(interruption());
            }
            answer = sleeper.answer.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What one future waits for.
#[derive(Default)]
struct FutureAnswer {
    slot: Mutex<(Option<Result<Answer>>, Option<Waker>)>,
}

impl FutureAnswer {
    fn poll(&self, context: &Context<'_>) -> Poll<Result<Answer>> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.0.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                slot.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Sink for FutureAnswer {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        slot.0 = answers.into_iter().next().map(|(_, answer)| answer);
        let waker = slot.1.take();
        // A waker may poll at once, and polling takes the lock.
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Takes the call back when its future is dropped before the answer came.
struct AwaitedCall {
    sink: Arc<dyn Sink>,
    give_up: Option<GiveUp>,
    answered: bool,
}

impl Drop for AwaitedCall {
    fn drop(&mut self) {
        match self.give_up.take() {
            _ if self.answered => {}
            Some(give_up) => give_up(),
            None => cancel(0, &self.sink),
        }
    }
}

/// Makes a call and waits for its answer on any executor. Dropped before, it leaves no wait behind.
pub(crate) async fn ask(call: Call) -> Result<Answer> {
    let waiter = Arc::new(FutureAnswer::default());
    let mut awaited = AwaitedCall { sink: waiter.clone(), give_up: call.give_up(), answered: false };
    let answer = match submit(vec![(0, call)], &awaited.sink).pop() {
        Some((_, answer)) => answer,
        None => poll_fn(|context| waiter.poll(context)).await,
    };
    awaited.answered = true;
    answer
}
