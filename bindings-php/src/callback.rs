//! Functions of PHP code: how they are called, and how they end the call of ours that waits for them.

use std::ffi::{CStr, CString, c_char};
use std::panic::AssertUnwindSafe;

use ext_php_rs::ffi::_call_user_function_impl;
use ext_php_rs::types::Zval;
use ext_php_rs::zend::{ExecutorGlobals, try_catch};

use crate::argument::type_name;
use crate::exception::Problem;

unsafe extern "C" {
    fn zend_type_error(format: *const c_char, ...);
}

/// Why a call ends before its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The request's time is over.
    TimedOut,
    /// A signal handler threw, or a function that tells a password.
    Threw,
    /// A signal handler called `exit` or died of a fatal error, or a function of PHP code did the latter.
    Exited,
}

/// How a function of PHP code ended.
pub enum Ended {
    /// With this value.
    Returned(Zval),
    /// With an exception, which is on its way; `exit` is one to the engine.
    Threw,
    /// With a fatal error, or for lack of time: the jump was caught, and has to go on by [`bailout`].
    Jumped,
}

/// Calls a function of PHP code.
pub fn call(function: &Zval, arguments: &[Zval]) -> Ended {
    let called = try_catch(AssertUnwindSafe(|| {
        let mut value = Zval::new();
        let count = u32::try_from(arguments.len()).unwrap_or_default();
        // SAFETY: all are live values, which the engine only reads; it fills `value`, and wants no object nor names.
        unsafe {
            let (function, arguments) = (std::ptr::from_ref(function), arguments.as_ptr());
            let nothing = std::ptr::null_mut();
            let named = std::ptr::null_mut();
            _call_user_function_impl(nothing, function.cast_mut(), &raw mut value, count, arguments.cast_mut(), named);
        }
        value
    }));
    match called {
        Ok(_) if ExecutorGlobals::has_exception() => Ended::Threw,
        // Of a function that returns a reference.
        Ok(value) => Ended::Returned(value.dereference().shallow_clone()),
        Err(_) => Ended::Jumped,
    }
}

/// Throws a TypeError about what a function of PHP code returned, with what to do about it.
pub fn wrong(wanted: &CStr, found: &Zval, cure: &CStr) -> Problem {
    let found = CString::new(type_name(found)).unwrap_or_default();
    // SAFETY: the format takes these three strings.
    unsafe {
        let format = c"The function must return a value of type %s, %s returned%s";
        zend_type_error(format.as_ptr(), wanted.as_ptr(), found.as_ptr(), cure.as_ptr());
    }
    Problem::Thrown
}
