//! Functions of PHP code that a client tells what happened: `onDecision` and `onLost`. A call of ours tells them when it is
//! done, before it returns or throws; none is kept longer than its request.

use std::cell::RefCell;
use std::ffi::c_int;
use std::panic::AssertUnwindSafe;
use std::rc::{Rc, Weak};

use ext_php_rs::ffi::{E_WARNING, zend_object};
use ext_php_rs::types::Zval;
use ext_php_rs::zend::{ExecutorGlobals, try_catch};
use quotalock::CombinedDecision;

use crate::argument::{Function, Maybe};
use crate::call::Stop;
use crate::callback::{self, Ended, Ending};
use crate::decision::{Decided, parts};
use crate::exception::{Outcome, Problem};
use crate::record::Recorded;

unsafe extern "C" {
    fn zend_exception_error(exception: *mut zend_object, severity: c_int) -> c_int;
    fn zend_is_unwind_exit(exception: *const zend_object) -> bool;
    fn zend_is_graceful_exit(exception: *const zend_object) -> bool;
}

thread_local! {
    // Of the thread, as the clients.
    static ALL: RefCell<Vec<Weak<Hook>>> = const { RefCell::new(Vec::new()) };
}

/// Such a function, until its request ends.
pub struct Hook(RefCell<Option<Zval>>);

impl Hook {
    /// The function given, if one is.
    pub fn of(given: &Maybe<Function>, position: u32) -> Outcome<Option<Rc<Hook>>> {
        let Some(function) = given.0.as_ref().map(|function| function.get(position)).transpose()? else {
            return Ok(None);
        };
        let hook = Rc::new(Hook(RefCell::new(Some(function.shallow_clone()))));
        ALL.with_borrow_mut(|all| {
            all.retain(|hook| hook.strong_count() > 0);
            all.push(Rc::downgrade(&hook));
        });
        Ok(Some(hook))
    }

    /// Tells of the decision that a call is about to return, or to throw. As of [`Stop::follow`].
    #[cold]
    pub fn after(&self, key: &Zval, mut decided: Outcome<Decided>) -> Outcome<Decided> {
        let decision = match &mut decided {
            Ok(decided) => decided.told(),
            Err(Problem::Error(error)) => error.cause::<quotalock::Decision>().map(Recorded::shown),
            Err(Problem::Thrown) => None,
        };
        let told = decision.map_or(Ok(()), |decision| self.tell(decision, key));
        match told {
            Ok(()) => decided,
            Err(stop) => {
                drop(decided);
                Err(stop.follow())
            }
        }
    }

    /// Tells of a decision.
    pub fn tell(&self, decision: Zval, key: &Zval) -> Result<(), Stop> {
        self.call(&[decision, key.shallow_clone()])
    }

    /// As [`after`](Hook::after), of several decisions with their keys; gives the PHP object of them.
    #[cold]
    pub fn after_all(&self, combined: CombinedDecision, keys: Vec<Zval>) -> Outcome<Zval> {
        let shown = combined.shown();
        let decisions = parts(&shown);
        let mut told = combined.decided().map(|(place, _)| {
            let whole = decisions.get(place).zip(keys.get(place));
            whole.map_or(Ok(()), |(decision, key)| self.tell(decision.shallow_clone(), key))
        });
        let stopped = told.find_map(Result::err);
        drop(told);
        drop((combined, keys, decisions));
        stopped.map_or(Ok(shown), |stop| Err(stop.follow()))
    }

    /// Tells of a lock. As of [`Stop::follow`].
    pub fn lost(&self, lock: Zval) -> Outcome<()> {
        let told = self.call(&[lock]);
        told.map_err(Stop::follow)
    }

    /// Calls the function. What it throws changes nothing for its caller, and is a warning; but `exit` goes on.
    fn call(&self, arguments: &[Zval]) -> Result<(), Stop> {
        let function = self.0.try_borrow().ok().and_then(|function| function.as_ref().map(Zval::shallow_clone));
        let Some(function) = function else { return Ok(()) };
        match callback::call(&function, arguments) {
            Ended::Returned(_) => Ok(()),
            Ended::Threw => warn().map_err(Stop::Ending),
            Ended::Jumped => Err(Stop::Ending(Ending::Exited)),
        }
    }
}

/// Makes a warning of the exception on its way; how the script ends, if it does.
fn warn() -> Result<(), Ending> {
    let globals = ExecutorGlobals::get();
    let exception = globals.exception;
    drop(globals);
    // SAFETY: an exception is on its way; `exit` is one, too.
    if unsafe { zend_is_unwind_exit(exception) || zend_is_graceful_exit(exception) } {
        return Err(Ending::Threw);
    }
    // SAFETY: the engine takes the exception off its way, logs it as it does one that nobody catches, and lets it go. It asks no
    // handler of errors: many make exceptions of warnings, and what the caller gets would be another's.
    let warned = try_catch(AssertUnwindSafe(|| unsafe { zend_exception_error(exception, E_WARNING as c_int) }));
    match warned {
        Err(_) => Err(Ending::Exited),
        // What shows the exception as a text may throw.
        Ok(_) if ExecutorGlobals::has_exception() => Err(Ending::Threw),
        Ok(_) => Ok(()),
    }
}

/// Lets go of all functions, at the end of the request: none may outlive it, also where a jump has left something behind.
pub fn forget_all() {
    for hook in ALL.take().iter().filter_map(Weak::upgrade) {
        let function = hook.0.take();
        drop(function);
    }
}
