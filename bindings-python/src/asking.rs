//! What a loop's driver is asked for: calls, each with a future for its answer.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use quotalock::driver::{LoadCall, LoopLink, Sink};
use quotalock::{Answer, Lock, Op};

use crate::call::call;
use crate::caller::{About, Caller, Done, Ends, Outcome};
use crate::future::resolve;
use crate::link::LoopDriver;
use crate::loop_loading::{Shared, lock};

impl LoopDriver {
    /// Submits a call and returns its future, which is done already if the call was answered without I/O. `naps` says
    /// that the call may be long under way without being sent.
    pub fn submit(slf: &Bound<'_, Self>, op: Op<Answer>, naps: bool) -> PyResult<Py<PyAny>> {
        LoopDriver::ask(slf, naps, [(op, About::Nothing)])
    }

    /// Does a step of a load, and returns the future of its end.
    pub fn carry(slf: &Bound<'_, Self>, step: LoadCall, loading: Shared) -> PyResult<Py<PyAny>> {
        match step {
            LoadCall::Get(mut getting) => LoopDriver::ask(slf, false, [(getting.ask(), About::Gets(getting, loading))]),
            LoadCall::Look(mut looking) => {
                LoopDriver::ask(slf, false, [(looking.ask(), About::Looks(looking, loading))])
            }
            LoadCall::End(calls) if calls.is_empty() => {
                lock(&loading).on_ended(None);
                let future = call(slf.get().create_future.bind(slf.py()), [])?.unbind();
                resolve(slf.py(), vec![(future.clone_ref(slf.py()), Outcome::Carried)]);
                Ok(future)
            }
            LoadCall::End(calls) => {
                let ends = Arc::new(Ends::new(calls.len(), loading));
                let end = |(at, op): (usize, Op<bool>)| (op.erased(), About::Ends(ends.clone(), at));
                LoopDriver::ask(slf, false, calls.into_iter().enumerate().map(end))
            }
        }
    }

    /// Submits calls, which have one future.
    fn ask(
        slf: &Bound<'_, Self>,
        naps: bool,
        calls: impl IntoIterator<Item = (Op<Answer>, About)>,
    ) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let future = call(this.create_future.bind(py), [])?;
        let (done, naps, at_once, later) = {
            let mut state = this.lock();
            // Calls of one tick share a write; one that is likely to stay alone does not wait for the end of its tick.
            let at_once = state.quiet && !state.flush_due && !state.link.is_busy();
            for (op, about) in calls {
                state.link.submit(op, Caller::new(future.clone().unbind(), about));
            }
            let done = Done::take(py, &mut state.link);
            let later = done.is_empty() && !at_once && !std::mem::replace(&mut state.flush_due, true);
            (done, naps || !state.link.is_connected(), at_once, later)
        };
        if !done.is_empty() {
            LoopDriver::tell_all(slf, done)?;
            return Ok(future.unbind());
        }
        if naps {
            LoopDriver::mind(slf, &future)?;
        }
        if at_once {
            LoopDriver::work(slf, LoopLink::flush)?;
        } else if later && let Err(error) = this.tell(intern!(py, "call_soon"), &slf.getattr(intern!(py, "_flush"))?) {
            this.lock().flush_due = false;
            return Err(error);
        }
        Ok(future.unbind())
    }

    /// Returns a future that is resolved by what comes to the place that `ask` is given, under that number. If it is for
    /// a handle that `acquires`, that ends when nobody can await it any more.
    pub fn expect(
        slf: &Bound<'_, Self>,
        acquires: Option<Lock>,
        ask: impl FnOnce(u64, &Arc<dyn Sink>),
    ) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let future = call(this.create_future.bind(py), [])?;
        LoopDriver::mind(slf, &future)?;
        let (number, sink) = {
            let mut state = this.lock();
            let about = acquires.map_or(About::Nothing, About::Acquires);
            let number = state.link.expect(Caller::new(future.clone().unbind(), about));
            (number, state.link.sink())
        };
        ask(number, &sink);
        let done = Done::take(py, &mut this.lock().link);
        LoopDriver::tell_all(slf, done)?;
        Ok(future.unbind())
    }
}
