//! How a loop is told what to watch.

use std::os::fd::RawFd;

use pyo3::exceptions::{PyNotImplementedError, PyOSError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use quotalock::driver::Change;

use crate::call::call_method;

/// Tells a loop what to watch, or to watch no more.
pub fn tell(event_loop: &Bound<'_, PyAny>, change: Change, callback: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = event_loop.py();
    let name = |method| PyString::intern(py, method);
    let number = |descriptor| PyInt::new(py, descriptor).into_any();
    match change {
        Change::Watch { descriptor, writing } => {
            let method = name(if writing { "add_writer" } else { "add_reader" });
            call_method(event_loop, &method, [&number(descriptor), callback]).map(drop)
        }
        Change::Leave { descriptor, writing } => {
            let method = name(if writing { "remove_writer" } else { "remove_reader" });
            match call_method(event_loop, &method, [&number(descriptor)]) {
                // The link has closed it, so the system watches it no more; the loop forgets it all the same.
                Err(error) if error.is_instance_of::<PyOSError>(py) => Ok(()),
                told => told.map(drop),
            }
        }
    }
}

/// Has the loop call `callback` in `context` whenever `descriptor` is readable.
pub fn listen(
    event_loop: &Bound<'_, PyAny>,
    context: &Bound<'_, PyAny>,
    descriptor: RawFd,
    callback: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = event_loop.py();
    let (add_reader, descriptor) = (event_loop.getattr(intern!(py, "add_reader"))?, PyInt::new(py, descriptor));
    let listening = call_method(context, intern!(py, "run"), [&add_reader, &descriptor, callback]);
    listening.map(drop).map_err(|error| match error.is_instance_of::<PyNotImplementedError>(py) {
        true => PyNotImplementedError::new_err(format!(
            "quotalock.aio needs a loop that watches sockets, and {} has no add_reader: use a SelectorEventLoop",
            event_loop.get_type()
        )),
        false => error,
    })
}
