//! Machines on their callers' threads: they wait here, or on the process' thread.

use std::sync::Arc;

use crate::base::error::Result;
use crate::call::answer::{Answer, Sink};
use crate::connection::deadline::sleep_until;
use crate::machine::{Driver, Machine, Next, Start};
use crate::reactor::{completion, thread};
use crate::redis::blocking;
use crate::redis::hint_wait::HintWait;
use crate::session::exchange::Exchange;

/// Runs a machine on this thread alone, which listens and rests itself.
pub(crate) fn run(mut machine: Box<dyn Machine>, interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
    let mut wait = None;
    if machine.is_likely_to_wait()
        && let Some(place) = machine.place()
    {
        let wait = wait.insert(HintWait::new(place));
        wait.listen_if_idle();
        machine.listen_at(wait.ear());
    }
    match machine.start(Driver::Caller) {
        Start::Ask(exchange) => {
            let result = converse(&mut *machine, exchange, wait, interrupted);
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
    mut wait: Option<HintWait>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Answer> {
    loop {
        let rest = match machine.on_answer(blocking::run(exchange, interrupted)) {
            Next::Done(result) => return result,
            Next::Listen => None,
            Next::Rest(until) => Some(until),
        };
        // Not before it is needed: the place of a cache's entry has a hash in it, and most calls need not wait.
        let Some(here) = wait.take().or_else(|| machine.place().map(HintWait::new)) else {
            return machine.on_wait_over();
        };
        let wait = wait.insert(here);
        let waited = match rest {
            None => wait.listen(interrupted),
            Some(until) => match wait.rest(until, interrupted) {
                Ok(()) if wait.is_over() => return machine.on_wait_over(),
                rested => rested,
            },
        };
        if let Err(error) = waited {
            match machine.outlasts(&error) {
                // The server has answered, and only had no time to take a subscription.
                None if error.may_pass() && wait.is_over() => return machine.on_wait_over(),
                Some(until) => sleep_until(until, interrupted)?,
                None => return machine.on_failure(error),
            }
        }
        machine.listen_at(wait.ear());
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
