//! Warnings from what Python does when an object goes.

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::call::{call, enter, is_ending};

/// Warns of what became of an object that nobody keeps, as `warnings.warn` does; the place is that of whoever let it go. Not at the
/// interpreter's end, when everything goes.
pub fn warn<Category: pyo3::type_object::PyTypeInfo>(py: Python<'_>, message: &str) {
    if is_ending() {
        return;
    }
    let mut raised = [null_mut(); 3];
    let [kind, value, trace] = &mut raised;
    // SAFETY: this thread is attached. An object may go while an exception is on its way, which has to go on afterwards.
    unsafe { ffi::PyErr_Fetch(kind, value, trace) };
    let inside = enter(py);
    static WARN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let told = WARN.import(py, "warnings", "warn").and_then(|warn| {
        call(warn, [PyString::new(py, message).as_any(), py.get_type::<Category>().as_any()]).map(drop)
    });
    if let Err(error) = told {
        // A filter makes an exception of it, which can be raised at nobody here.
        error.write_unraisable(py, None);
    }
    drop(inside);
    let [kind, value, trace] = raised;
    // SAFETY: these are the references that were fetched.
    unsafe { ffi::PyErr_Restore(kind, value, trace) };
}
