//! One interpreter of a process has the package: what is made here is the process', and objects of one interpreter are no
//! business of another.

use std::sync::atomic::{AtomicI64, Ordering};

use pyo3::exceptions::PyImportError;
use pyo3::{PyResult, ffi};

/// The number of the interpreter that has the package; none is -1.
static OWNER: AtomicI64 = AtomicI64::new(-1);

/// Makes the running interpreter the one that has the package.
///
/// # Errors
/// `ImportError` if another one has it, also if that has ended.
pub fn claim() -> PyResult<()> {
    // SAFETY: a module is being made, so an interpreter runs and this thread is attached to it.
    let running = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match OWNER.compare_exchange(-1, running, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != running => Err(PyImportError::new_err(format!(
            "quotalock is imported by interpreter {owner} of this process, and works in one interpreter only, not in \
             sub-interpreter {running}: run the applications in processes of their own (mod_wsgi: WSGIApplicationGroup \
             %{{GLOBAL}}; uWSGI: single-interpreter = true)"
        ))),
        _ => Ok(()),
    }
}
