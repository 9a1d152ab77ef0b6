//! Calls of Python, from which a thread may never come back.
//!
//! Before 3.14 CPython ends a daemon thread when it asks for the GIL after the interpreter began to end, and any Python
//! code lets go of the GIL and asks for it again. It ends it by `pthread_exit`, which with glibc unwinds the stack; but
//! our frames cannot be unwound through calls declared as `extern "C"`, as PyO3's are, so the process would abort. A
//! thread that is ended in a call from here waits for ever instead, as CPython itself has them do since 3.14, and as
//! PyO3 does where it asks for the GIL: nothing of ours runs in it any more, and the process ends around it.
//!
//! Not called from here is what Python runs by itself while it makes, converts or drops an object for us: `ending` keeps
//! threads from being ended just there.

use std::mem::forget;
use std::ptr::null_mut;
use std::thread::park;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::ending::outside;

// PyO3 declares it too, as one that never unwinds, but does not call it. Of a function that PyO3 calls the optimizer
// would see both declarations as one, and could take it that nothing is to run on an unwind.
unsafe extern "C-unwind" {
    fn PyObject_CallFunctionObjArgs(callable: *mut ffi::PyObject, ...) -> *mut ffi::PyObject;
}

/// How many arguments a call takes.
const MOST: usize = 3;

/// Calls `callable` with the arguments given. To be called with no lock held.
pub fn call<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    given: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    outside(callable.py(), || call_inside(callable, given))
}

/// As [`call`], of what is soon done: the interpreter's end waits for it.
pub fn call_inside<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    given: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(N <= MOST) }
    let mut arguments = [null_mut(); MOST];
    for (argument, given) in arguments.iter_mut().zip(given) {
        *argument = given.as_ptr();
    }
    let [first, second, third] = arguments;
    let ended = Ended;
    // SAFETY: the GIL is held, all are borrowed for the call, and a null ends them. If it unwinds, `ended` is the first
    // to be dropped, and stays there.
    let returned =
        unsafe { PyObject_CallFunctionObjArgs(callable.as_ptr(), first, second, third, null_mut::<ffi::PyObject>()) };
    forget(ended);
    // SAFETY: it is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), returned) }
}

/// Calls a method of `object` with the arguments given.
pub fn call_method<'py, const N: usize>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    given: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    call(&object.getattr(name)?, given)
}

/// Dropped only in a thread that is being ended: keeps it from being unwound.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        loop {
            park();
        }
    }
}
