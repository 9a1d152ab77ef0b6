//! How a driver and its loop part.

use std::sync::atomic::Ordering;

use pyo3::intern;
use pyo3::prelude::*;

use crate::call::call_method;
use crate::caller::{Answered, answered};
use crate::link::LoopDriver;

impl LoopDriver {
    /// Asks the loop to retire this driver, from any thread. If the loop is closed, it only hangs up.
    pub fn retire(slf: &Bound<'_, Self>) {
        let py = slf.py();
        let retire = || {
            let retire = slf.getattr(intern!(py, "_retire"))?;
            slf.get().tell(intern!(py, "call_soon_threadsafe"), &retire)
        };
        if retire().is_err() {
            slf.get().hang_up(py);
        }
    }

    /// Asks the loop to retire this driver when it runs next; a closed loop lets go of it. For destructors: they
    /// run wherever the last reference goes, also while an exception is on its way, and then nothing of Python may be
    /// called. Takes no lock that is held while an object may go.
    pub fn dismiss(&self) {
        self.is_dismissed.store(true, Ordering::Relaxed);
        self.bell.complete(Vec::new());
    }

    /// Hangs up and returns the calls under way, ended with `closed`. On a closed loop nobody waits for them any more.
    pub fn hang_up(&self, py: Python<'_>) -> Vec<Answered> {
        let done = self.let_go(py);
        let timer = self.lock(py).timer.take();
        if let Some((_, timer)) = timer
            && let Err(error) = call_method(timer.bind(py), intern!(py, "cancel"), [])
        {
            error.write_unraisable(py, Some(timer.bind(py)));
        }
        done
    }

    /// As [`hang_up`](LoopDriver::hang_up), without a word to the loop. Nothing of Python runs in it.
    pub fn let_go(&self, py: Python<'_>) -> Vec<Answered> {
        let mut state = self.lock(py);
        state.link.close();
        answered(&mut state.link)
    }
}
