//! What the core has to say to the user about its decisions, as warnings of Python.

use std::ffi::CString;

use pyo3::exceptions::{PyException, PyUserWarning};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::unkept;

/// Warns the caller of a decision, as `warnings.warn` does. The caller gets the decision nevertheless: it was charged, and may hold a
/// reservation. A warning of which a filter makes an exception goes to `sys.unraisablehook`.
///
/// # Errors
/// What is no `Exception`, such as Ctrl-C while the warning is written.
#[inline]
pub fn warn(py: Python<'_>) -> PyResult<()> {
    let Some(message) = quotalock::limiter_warning() else { return Ok(()) };
    let category = py.get_type::<PyUserWarning>();
    match PyErr::warn(py, &category, &CString::new(message).unwrap_or_default(), 1) {
        Err(error) if error.is_instance_of::<PyException>(py) => error.write_unraisable(py, None),
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    Ok(())
}

/// As [`warn`], where nobody called: a loop has answers.
pub fn warn_nobody(py: Python<'_>) {
    if let Some(message) = quotalock::limiter_warning() {
        unkept::warn::<PyUserWarning>(py, &message);
    }
}

/// The file and line of the nearest caller outside of this package.
pub fn place(py: Python<'_>) -> Option<String> {
    // SAFETY: this thread is attached. It returns a frame that it lends, or null.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    let found = (|| -> PyResult<Option<String>> {
        let mut frame = frame;
        while let Some(at) = frame {
            let globals = at.getattr("f_globals")?.cast_into::<PyDict>()?;
            let module =
                globals.get_item("__name__")?.and_then(|name| name.extract::<String>().ok()).unwrap_or_default();
            if module != "quotalock" && !module.starts_with("quotalock.") {
                let file = at.getattr("f_code")?.getattr("co_filename")?;
                return Ok(Some(format!("{file}:{}", at.getattr("f_lineno")?)));
            }
            frame = Some(at.getattr("f_back")?).filter(|back| !back.is_none());
        }
        Ok(None)
    })();
    found.ok().flatten()
}
