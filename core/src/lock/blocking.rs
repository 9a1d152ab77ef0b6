//! Acquiring on the caller's thread.

use std::sync::Arc;

use super::attempt::{Attempt, Next};
use crate::base::error::Result;
use crate::call::sink::Sink;
use crate::connection::patience::{interruption, sleep_until};
use crate::op::typed;
use crate::reactor::Leave;
use crate::reactor::completion::Sitting;
use crate::redis::blocking;
use crate::redis::listening::Listening;

/// Acquires, and waits on this thread.
pub(super) fn acquire(mut attempt: Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let spec = &attempt.lock.spec;
    let shared = spec.shared.clone();
    let mut listening = Listening::new(&shared, &spec.wake_prefix, attempt.until);
    if attempt.waits() && !attempt.is_in_memory() {
        listening.listen_if_idle();
    }
    let result = loop {
        attempt.hear_at(listening.channel());
        let question = attempt.ask(None);
        let step = match attempt.on_answer(blocking::run(attempt.lock.spec.exchange(question), interrupted)) {
            Next::Held(held) => {
                super::tell::keep_if_renewed(&held);
                break Ok(true);
            }
            Next::Refused => break Ok(false),
            Next::Failed(error) => break Err(error),
            Next::Listen => listening.listen(interrupted),
            Next::Rest(until) => match listening.rest(&attempt.id, attempt.nap(until), interrupted) {
                Ok(()) if !attempt.waits() => break attempt.over(),
                rested => rested,
            },
        };
        let Err(error) = step else { continue };
        let rested = match attempt.outlasts(&error) {
            Some(until) => sleep_until(until, interrupted),
            None => Err(error),
        };
        if let Err(error) = rested {
            break Err(error);
        }
    };
    if !matches!(result, Ok(true)) {
        attempt.leave().into_iter().for_each(Leave::send_here);
    }
    result
}

/// Asks once on this thread; if it has to wait, the process' thread does.
pub(super) fn acquire_among_threads(mut attempt: Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let question = attempt.ask_once();
    let ended = match attempt.on_answer(blocking::run(attempt.lock.spec.exchange(question), interrupted)) {
        Next::Held(held) => {
            super::tell::keep(&held);
            return Ok(true);
        }
        Next::Refused => Some(Ok(false)),
        Next::Failed(error) => Some(Err(error)),
        Next::Listen | Next::Rest(_) => None,
    };
    if let Some(ended) = ended {
        super::tell::forget(&attempt);
        return ended;
    }
    let (lock, seat) = (attempt.lock.clone(), Arc::new(Sitting::default()));
    let sink: Arc<dyn Sink> = seat.clone();
    super::tell::acquire(attempt, 0, &sink);
    seat.wait(interrupted).map_or_else(
        || {
            lock.abandon();
            Err(interruption())
        },
        typed,
    )
}
