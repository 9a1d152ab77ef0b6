//! Getting an entry on the caller's thread.

use std::sync::Arc;
use std::time::Instant;

use super::Got;
use super::lookup::{Lookup, LookupStep};
use super::queue;
use wire::base::error::Result;
use wire::call::sink::Sink;
use wire::connection::deadline::sleep_until;
use wire::op::typed;
use wire::reactor::{completion, thread};
use wire::redis::blocking;
use wire::redis::hint_wait::HintWait;

/// Asks, and waits on this thread.
pub(super) fn get(mut lookup: Lookup, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    lookup.here = true;
    let got = wait(&mut lookup, interrupted);
    lookup.count_result(got.as_ref());
    got
}

fn wait(lookup: &mut Lookup, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    let spec = &lookup.target.spec;
    let mut hint_wait = HintWait::new(&spec.session, &spec.wake_prefix, &lookup.target.keys[0], lookup.until);
    loop {
        lookup.listen_at(hint_wait.ear());
        let answer = blocking::run(lookup.exchange(), interrupted);
        let step = match lookup.on_answer(answer) {
            LookupStep::Done(done) => return done,
            LookupStep::Listen => hint_wait.listen(interrupted),
            LookupStep::Rest(until) => match hint_wait.rest(&lookup.target.topic(), until, interrupted) {
                Ok(()) if Instant::now() >= lookup.until => return lookup.on_wait_over(),
                rested => rested,
            },
        };
        let Err(error) = step else { continue };
        match lookup.outlasts(&error) {
            Some(until) => sleep_until(until, interrupted)?,
            None => return lookup.on_failure(error),
        }
    }
}

/// Asks once on this thread; if it has to wait, the process' thread does.
pub(super) fn get_among_threads(mut lookup: Lookup, interrupted: &mut dyn FnMut() -> bool) -> Result<Got> {
    let answer = blocking::run(lookup.exchange(), interrupted);
    if let LookupStep::Done(done) = lookup.on_answer(answer) {
        lookup.count_result(done.as_ref());
        return done;
    }
    let begin = |sink: &Arc<dyn Sink>| queue::enter(lookup, 0, sink);
    typed(completion::wait_for(begin, |sink| thread::cancel(0, sink), interrupted))
}
