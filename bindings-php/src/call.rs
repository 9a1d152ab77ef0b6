//! Makes a call and waits for its answer, letting PHP's signal handlers and time limit have their say meanwhile.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ext_php_rs::ffi::{ext_php_rs_executor_globals, zend_interrupt_function};
use ext_php_rs::zend::{bailout, try_catch};
use quotalock::{AnswerValue, Op, Result};

use crate::callback::Ending;
use crate::exception::{Outcome, Problem};
use crate::password;

/// How long a call that gives something back goes on when its script is interrupted: half of it helps nobody.
pub const GRACE: Duration = Duration::from_millis(100);

unsafe extern "C" {
    /// Ends the request with PHP's own "Maximum execution time exceeded".
    fn zend_timeout() -> !;
}

/// What a call of the core asks while it waits; true ends the call.
pub type Asked<'a> = &'a mut dyn FnMut() -> bool;

/// Why something of several steps ends without a value.
pub enum Stop {
    Problem(Problem),
    Ending(Ending),
}

impl<T: Into<Problem>> From<T> for Stop {
    fn from(problem: T) -> Self {
        Stop::Problem(problem.into())
    }
}

impl Stop {
    /// Ends the method of ours that runs. Whoever calls this must hold nothing that needs dropping: where the script
    /// ends too, it leaves by a jump over all Rust frames between here and PHP.
    pub fn follow(self) -> Problem {
        match self {
            Stop::Problem(problem) => problem,
            Stop::Ending(Ending::Threw) => Problem::Thrown,
            // SAFETY: nothing is left to drop, here nor in our callers, and both jumps land in the frame that PHP or
            // the macros of ext-php-rs set up around every call of ours.
            Stop::Ending(Ending::TimedOut) => unsafe { zend_timeout() },
            // SAFETY: as above.
            Stop::Ending(Ending::Exited) => unsafe { bailout() },
        }
    }
}

/// Makes the call on this thread. Signal handlers of `pcntl_async_signals` run while it waits.
///
/// Whoever calls this must hold nothing that needs dropping: `exit` in a handler and the end of the request's time
/// leave by a jump over all Rust frames between here and PHP.
pub fn run<T: AnswerValue>(op: Op<T>) -> Outcome<T> {
    interruptibly(Duration::ZERO, |asked| op.run_interruptibly(asked), drop)
}

/// As [`run`], for any call; interrupted, it goes on for `grace`, and `undo` takes back what it brought all the same.
pub fn interruptibly<T>(grace: Duration, call: impl FnOnce(Asked) -> Result<T>, undo: impl FnOnce(T)) -> Outcome<T> {
    attempt(grace, call, undo).map_err(Stop::follow)
}

/// As [`interruptibly`], for callers that hold something: they drop it, and [`Stop::follow`] what ended the call.
pub fn attempt<T>(
    grace: Duration,
    call: impl FnOnce(Asked) -> Result<T>,
    undo: impl FnOnce(T),
) -> std::result::Result<T, Stop> {
    let mut ending = None;
    let answer = call(&mut || {
        // Once is enough: what a handler threw is on its way, and no other handler runs until it has arrived.
        ending = ending.or_else(|| interruption().or_else(password::answer).map(|how| (how, Instant::now())));
        ending.is_some_and(|(_, since)| since.elapsed() >= grace)
    });
    let Some((how, _)) = ending else { return Ok(answer?) };
    answer.map_or_else(drop, undo);
    Err(Stop::Ending(how))
}

/// As [`interruptibly`], while an exception is on its way: no handler can run, so it is only looked whether anybody
/// waits for the script.
pub fn undisturbed<T>(call: impl FnOnce(Asked) -> Result<T>) -> Result<T> {
    let mut wanted = None;
    call(&mut || {
        if wanted.is_none() && attention().load(Ordering::Acquire) {
            wanted = Some(Instant::now());
        }
        wanted.is_some_and(|since: Instant| since.elapsed() >= GRACE)
    })
}

/// Makes a call that nothing interrupts, but that ends at this moment.
pub fn until<T>(end: Instant, call: impl FnOnce(Asked) -> Result<T>) -> Result<T> {
    call(&mut || Instant::now() >= end)
}

/// The flag by which somebody wants the script's attention.
fn attention() -> &'static AtomicBool {
    // SAFETY: the globals of this thread live as long as it does; the flag may be set by a signal handler or another
    // thread, which is why the engine makes it atomic.
    unsafe { AtomicBool::from_ptr(&raw mut (*ext_php_rs_executor_globals()).vm_interrupt.value) }
}

/// Does what the engine does between two instructions of a script: looks whether anybody wants the script's attention.
fn interruption() -> Option<Ending> {
    let wanted = attention();
    if !wanted.load(Ordering::Acquire) {
        return None;
    }
    // SAFETY: as of `attention`.
    let (globals, timed_out) = unsafe {
        let globals = ext_php_rs_executor_globals();
        (globals, AtomicBool::from_ptr(&raw mut (*globals).timed_out.value))
    };
    if timed_out.load(Ordering::Acquire) {
        return Some(Ending::TimedOut);
    }
    wanted.store(false, Ordering::Release);
    // SAFETY: set at start-up by the extensions that want to be asked, as pcntl.
    let handler = unsafe { zend_interrupt_function }?;
    // SAFETY: a function of ours runs, so there is a current frame; the engine calls the handler just so.
    let called = try_catch(AssertUnwindSafe(|| unsafe { handler((*globals).current_execute_data) }));
    if called.is_err() {
        return Some(Ending::Exited);
    }
    // SAFETY: as above.
    let threw = unsafe { !(*globals).exception.is_null() };
    threw.then_some(Ending::Threw)
}
