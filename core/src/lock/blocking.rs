//! Acquiring on the caller's thread.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::attempt::{Attempt, Next};
use super::desk::Request;
use crate::client::Shared;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::op::typed;
use crate::operation::Answer;
use crate::store::redis::ear::{Ear, Heard};
use crate::store::redis::hub::{self, Sink};
use crate::store::redis::patience::{SLICE, interruption, sleep_until};
use crate::store::redis::pool;

/// What taking back a failed attempt may cost the caller, who waits for it.
const CLEAN_UP: Duration = Duration::from_millis(100);
/// Idle subscriptions kept beyond this number are closed.
const KEPT: usize = 8;

/// The idle subscriptions of one client in one process.
#[derive(Default)]
pub(crate) struct Ears {
    idle: Mutex<Vec<Ear>>,
}

impl Ears {
    /// One that still hears.
    pub fn take(&self) -> Option<Ear> {
        let mut idle = self.idle.lock().ok()?;
        while let Some(mut ear) = idle.pop() {
            // Hints for earlier waiters are of no use.
            if ear.listen(&mut Vec::new()).is_ok() {
                return Some(ear);
            }
        }
        None
    }

    /// Keeps one for the next who waits.
    pub fn keep(&self, ear: Ear) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < KEPT
        {
            idle.push(ear);
        }
    }

    /// Closes those that are idle.
    pub fn close(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }
}

/// Acquires, and waits on this thread.
pub(super) fn acquire(mut attempt: Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let shared = attempt.lock.spec.shared.clone();
    let ears = &shared.engine().ears;
    let mut ear = if attempt.waits() && !attempt.is_in_memory() { ears.take() } else { None };
    let ask = |attempt: &mut Attempt, ear: &Option<Ear>, interrupted: &mut dyn FnMut() -> bool| {
        if let Some(ear) = ear {
            attempt.hear_at(ear.channel());
        }
        let question = attempt.ask(None);
        attempt.on_answer(pool::run(attempt.lock.spec.exchange(question), interrupted))
    };
    let result = loop {
        match ask(&mut attempt, &ear, interrupted) {
            Next::Held(held) => {
                super::tell::keep_if_renewed(&held);
                break Ok(true);
            }
            Next::Refused => break Ok(false),
            Next::Failed(error) => break Err(error),
            Next::Listen => match listen(&attempt, interrupted) {
                Ok(new) => ear = Some(new),
                Err(error) => break Err(error),
            },
            Next::Rest(until) => match rest(&attempt, &mut ear, until, interrupted) {
                Ok(()) if attempt.waits() => {}
                Ok(()) => break Ok(false),
                Err(error) => break Err(error),
            },
        }
    };
    if let Some(ear) = ear {
        ears.keep(ear);
    }
    if !matches!(result, Ok(true)) {
        clean_up(&attempt, &shared);
    }
    result
}

fn listen(attempt: &Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<Ear> {
    let spec = &attempt.lock.spec;
    Ear::for_waiter(&spec.shared, &spec.wake_prefix, attempt.until, interrupted)
}

fn rest(attempt: &Attempt, ear: &mut Option<Ear>, until: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
    let until = attempt.nap(until);
    if let Some(listening) = ear {
        if let Heard::Gone = listening.wait(&attempt.id, until, interrupted)? {
            *ear = Some(self::listen(attempt, interrupted)?);
        }
        return Ok(());
    }
    sleep_until(until, interrupted)
}

/// Takes back what the attempt may have left. What is left all the same ends with its ttl.
fn clean_up(attempt: &Attempt, shared: &Arc<Shared>) {
    if let Some(leave) = attempt.leave() {
        let exchange = Exchange::new(shared.clone(), Box::new(leave), None).within(CLEAN_UP);
        let _ = pool::run(exchange, &mut || false);
    }
}

/// What a thread waits for that has the process' thread wait.
#[derive(Default)]
pub(crate) struct Sitting {
    answer: Mutex<Option<Result<Answer>>>,
    came: Condvar,
}

impl Sink for Sitting {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answers.into_iter().next().map(|(_, a)| a);
        self.came.notify_one();
    }
}

impl Sitting {
    /// Waits for the answer; none if the caller was interrupted.
    pub fn wait(&self, interrupted: &mut dyn FnMut() -> bool) -> Option<Result<Answer>> {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if answer.is_some() {
                return answer.take();
            }
            answer = self.came.wait_timeout(answer, SLICE).unwrap_or_else(PoisonError::into_inner).0;
            if answer.is_none() {
                drop(answer);
                // A signal's handler may be slow, and the answer must not wait for it.
                if interrupted() {
                    return None;
                }
                answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Asks once on this thread; if it has to wait, the process' thread does.
pub(super) fn acquire_among_threads(mut attempt: Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let question = attempt.ask(None);
    match attempt.on_answer(pool::run(attempt.lock.spec.exchange(question), interrupted)) {
        Next::Held(held) => {
            super::tell::keep(&held);
            return Ok(true);
        }
        Next::Refused => {
            super::tell::forget(&attempt);
            return Ok(false);
        }
        Next::Failed(error) => {
            super::tell::forget(&attempt);
            return Err(error);
        }
        Next::Listen | Next::Rest(_) => {}
    }
    let (lock, seat) = (attempt.lock.clone(), Arc::new(Sitting::default()));
    let sink: Arc<dyn Sink> = seat.clone();
    hub::request(Request::Acquire(attempt), 0, &sink);
    seat.wait(interrupted).map_or_else(
        || {
            lock.abandon();
            Err(interruption())
        },
        typed,
    )
}
