//! Handles that nobody keeps: PHP frees them as soon as the call returns, and with them goes what they hold.

use std::ffi::{CString, c_char, c_int};
use std::panic::AssertUnwindSafe;

use ext_php_rs::ffi::{
    E_USER_WARNING, E_WARNING, ZEND_INTERNAL_FUNCTION, ext_php_rs_executor_globals, php_error_docref, zend_execute_data,
};
use ext_php_rs::zend::{ExecutorGlobals, bailout, try_catch};

use crate::exception::{Outcome, Problem};

/// `ZEND_CALL_RELEASE_THIS` of Zend/zend_compile.h: the frame has a reference to `$this` of its own.
const RELEASE_THIS: u32 = 1 << 21;
/// `ZEND_DO_ICALL`, `ZEND_DO_FCALL_BY_NAME` and `ZEND_DO_FCALL` of Zend/zend_vm_opcodes.h: how a script calls us.
const CALLS: [u8; 3] = [129, 131, 60];
/// `IS_UNUSED` of Zend/zend_compile.h.
const UNUSED: u8 = 0;

/// `LOG_WARNING` of syslog.h.
const LOG_WARNING: c_int = 4;

unsafe extern "C" {
    /// Of Zend/zend_exceptions.h: drops the exception that is on its way.
    fn zend_clear_exception();
    /// Of main/php.h: writes a line into PHP's error log.
    fn php_log_err_with_severity(message: *const c_char, severity: c_int);
}

/// The frame of the function of ours that runs.
fn frame<'a>() -> Option<&'a zend_execute_data> {
    // SAFETY: while our function runs the engine's current frame is its own.
    unsafe { ext_php_rs_executor_globals().as_ref()?.current_execute_data.as_ref() }
}

/// Whether `$this` of the method of ours that runs goes when it returns, as in `$client->lock('n')->acquire()`: the call has
/// the last reference to it.
pub fn is_this() -> bool {
    frame().is_some_and(|frame| {
        // SAFETY: every value has type information.
        let releases = unsafe { frame.This.u1.type_info } & RELEASE_THIS != 0;
        releases && frame.This.object().is_some_and(|this| this.gc.refcount == 1)
    })
}

/// Whether what the function of ours that runs returns goes at once: it was called as a statement.
pub fn is_returned() -> bool {
    // SAFETY: the frames of callers outlive ours; one of a script has a function, and shows the instruction that called us.
    let instruction = frame().and_then(|frame| unsafe {
        let caller = frame.prev_execute_data.as_ref()?;
        // A script's, also of `eval`.
        if u32::from(caller.func.as_ref()?.type_) & ZEND_INTERNAL_FUNCTION == 0 { caller.opline.as_ref() } else { None }
    });
    instruction.is_some_and(|by| CALLS.contains(&by.opcode) && by.result_type == UNUSED)
}

/// Warns, as PHP does of what is surely not meant, and passes on what was there. Apart from that, the caller of this must hold
/// nothing that needs dropping.
pub fn warn<T>(message: String, kept: T) -> Outcome<T> {
    report(E_WARNING, message, kept)
}

/// As [`warn`], of what may be meant: `E_USER_WARNING`. It fails no call: if a handler of errors makes an exception of it, as
/// Laravel does, PHP's error log gets the message instead.
pub fn advise<T>(message: String, kept: T) -> Outcome<T> {
    report(E_USER_WARNING, message, kept)
}

fn report<T>(level: u32, message: String, kept: T) -> Outcome<T> {
    let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    // SAFETY: the format takes this one string, which outlives the calls. The number fits. An exception is there to be cleared.
    let warned = try_catch(AssertUnwindSafe(|| unsafe {
        php_error_docref(std::ptr::null(), level as c_int, c"%s".as_ptr(), message.as_ptr());
        if level == E_USER_WARNING && ExecutorGlobals::has_exception() {
            zend_clear_exception();
            php_log_err_with_severity(message.as_ptr(), LOG_WARNING);
        }
    }));
    drop(message);
    if warned.is_err() {
        drop(kept);
        // SAFETY: as in `call::Stop::follow`.
        unsafe { bailout() }
    }
    // A handler of errors may have thrown.
    if ExecutorGlobals::has_exception() { Err(Problem::Thrown) } else { Ok(kept) }
}
