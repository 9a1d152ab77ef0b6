//! Acquiring on the caller's thread.

use std::sync::Arc;

use super::attempt::{Attempt, AttemptStep};
use wire::base::error::{Code, Result};
use wire::call::sink::Sink;
use wire::connection::deadline::sleep_until;
use wire::op::typed;
use wire::reactor::{CLEAN_UP, completion};
use wire::redis::blocking;
use wire::redis::hint_wait::HintWait;

/// Acquires, and waits on this thread.
pub(super) fn acquire(mut attempt: Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let spec = &attempt.lock.spec;
    let session = spec.session.clone();
    let mut hint_wait = HintWait::new(&session, &spec.wake_prefix, &spec.keys[0], attempt.until);
    if attempt.waits() && !attempt.is_in_memory() {
        hint_wait.listen_if_idle();
    }
    let result = loop {
        attempt.listen_at(hint_wait.ear());
        let answer = blocking::run(attempt.exchange(), interrupted);
        let step = match attempt.on_answer(answer) {
            AttemptStep::Held(held) => {
                super::messages::keep_if_renewed(&held);
                break Ok(true);
            }
            AttemptStep::Refused => break Ok(false),
            AttemptStep::Failed(error) => break Err(error),
            AttemptStep::Listen => hint_wait.listen(interrupted),
            AttemptStep::Rest(until) => match hint_wait.rest(&attempt.id, attempt.nap(until), interrupted) {
                Ok(()) if !attempt.waits() => break attempt.on_wait_over(),
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
    // A server that answered a moment ago has the client's timeout, as a new connection to it may be needed; a caller who was
    // failed or interrupted waits no longer than a moment.
    let within = match &result {
        Ok(true) => return result,
        Err(error) if error.code() != Code::Closed => CLEAN_UP,
        _ => session.timeout,
    };
    attempt.cleanup().into_iter().for_each(|cleanup| cleanup.send_here(within));
    result
}

/// Asks once on this thread; if it has to wait, the process' thread does.
pub(super) fn acquire_among_threads(mut attempt: Attempt, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
    let question = attempt.ask_once();
    let ended = match attempt.on_answer(blocking::run(attempt.lock.spec.exchange(question), interrupted)) {
        AttemptStep::Held(held) => {
            super::messages::watch(&held);
            return Ok(true);
        }
        AttemptStep::Refused => Some(Ok(false)),
        AttemptStep::Failed(error) => Some(Err(error)),
        AttemptStep::Listen | AttemptStep::Rest(_) => None,
    };
    if let Some(ended) = ended {
        super::messages::forget(&attempt);
        return ended;
    }
    let lock = attempt.lock.clone();
    let begin = |sink: &Arc<dyn Sink>| super::messages::acquire(attempt, 0, sink);
    typed(completion::wait_for(begin, |_| lock.abandon(), interrupted))
}
