//! What a loop watches for a connection, and how that changes.

use std::os::fd::RawFd;

use pyo3::exceptions::{PyNotImplementedError, PyOSError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString};
use quotalock::driver::Interest;

use crate::call::call_method;

/// What a loop is to be told about a descriptor.
pub enum Change {
    /// To call back when it is ready; the name of the loop's method.
    Watch(&'static str, RawFd),
    /// To stop; the name of the loop's method.
    Leave(&'static str, RawFd),
}

impl Change {
    /// Tells the loop.
    pub fn tell(self, event_loop: &Bound<'_, PyAny>, callback: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = event_loop.py();
        let name = |method| PyString::intern(py, method);
        let number = |descriptor| PyInt::new(py, descriptor).into_any();
        match self {
            Change::Watch(method, descriptor) => {
                call_method(event_loop, &name(method), [&number(descriptor), callback]).map(drop)
            }
            Change::Leave(method, descriptor) => match call_method(event_loop, &name(method), [&number(descriptor)]) {
                // The link has closed it, so the system watches it no more; the loop forgets it all the same.
                Err(error) if error.is_instance_of::<PyOSError>(py) => Ok(()),
                told => told.map(drop),
            },
        }
    }
}

/// What the loop watches now.
#[derive(Default)]
pub struct Watched {
    socket: Option<(RawFd, u64)>,
    writable: bool,
}

impl Watched {
    /// Whether there is a connection.
    pub fn has_socket(&self) -> bool {
        self.socket.is_some()
    }

    /// Takes what shall be watched and returns what the loop must be told.
    pub fn update(&mut self, interest: Interest) -> Vec<Change> {
        let mut changes = Vec::new();
        let old = std::mem::replace(&mut self.socket, interest.socket);
        let mut was_writable = std::mem::replace(&mut self.writable, interest.writable);
        // A new number is a new socket, though the system may have given it the descriptor of the old one.
        if old != interest.socket {
            if let Some((descriptor, _)) = old {
                changes.push(Change::Leave("remove_reader", descriptor));
                if was_writable {
                    changes.push(Change::Leave("remove_writer", descriptor));
                }
            }
            if let Some((descriptor, _)) = interest.socket {
                changes.push(Change::Watch("add_reader", descriptor));
            }
            was_writable = false;
        }
        if let Some((descriptor, _)) = interest.socket
            && interest.writable != was_writable
        {
            changes.push(match interest.writable {
                true => Change::Watch("add_writer", descriptor),
                false => Change::Leave("remove_writer", descriptor),
            });
        }
        changes
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
