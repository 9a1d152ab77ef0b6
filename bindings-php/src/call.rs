//! Makes a call and waits for its answer, letting PHP's signal handlers and time limit have their say meanwhile.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};

use ext_php_rs::ffi::{ext_php_rs_executor_globals, zend_interrupt_function};
use ext_php_rs::zend::{bailout, try_catch};
use quotalock::{FromAnswer, Op};

use crate::exception::{Outcome, Problem};

unsafe extern "C" {
    /// Ends the request with PHP's own "Maximum execution time exceeded".
    fn zend_timeout() -> !;
}

/// Why a call ends before its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The request's time is over.
    TimedOut,
    /// A signal handler threw.
    Threw,
    /// A signal handler called `exit`, or died of a fatal error.
    Exited,
}

/// Makes the call on this thread. Signal handlers of `pcntl_async_signals` run while it waits.
///
/// Whoever calls this must hold nothing that needs dropping: `exit` in a handler and the end of the request's time leave
/// by a jump over all Rust frames between here and PHP.
pub fn run<T: FromAnswer>(op: Op<T>) -> Outcome<T> {
    let mut ending = None;
    let answer = op.run_interruptibly(&mut || {
        ending = interruption();
        ending.is_some()
    });
    match ending {
        None => Ok(answer?),
        Some(Ending::Threw) => Err(Problem::Thrown),
        Some(how) => {
            drop(answer);
            // SAFETY: nothing is left to drop, here nor in our callers, and both land in the frame that PHP or the
            // macros of ext-php-rs set up around every call of ours.
            unsafe {
                match how {
                    Ending::TimedOut => zend_timeout(),
                    _ => bailout(),
                }
            }
        }
    }
}

/// Does what the engine does between two instructions of a script: looks whether anybody wants the script's attention.
fn interruption() -> Option<Ending> {
    // SAFETY: the globals of this thread live as long as it does; their flags may be set by a signal handler or another
    // thread, which is why the engine makes them atomic.
    let (globals, wanted, timed_out) = unsafe {
        let globals = ext_php_rs_executor_globals();
        let atomic = |flag: *mut bool| AtomicBool::from_ptr(flag);
        (globals, atomic(&raw mut (*globals).vm_interrupt.value), atomic(&raw mut (*globals).timed_out.value))
    };
    if !wanted.load(Ordering::Acquire) {
        return None;
    }
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
