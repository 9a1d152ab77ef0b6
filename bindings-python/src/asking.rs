//! What a loop's driver is asked for: calls, each with a future for its answer.

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use quotalock::driver::{LoopLink, Sink};
use quotalock::{Answer, Op};

use crate::call::call;
use crate::caller::{AnswersTo, Caller, Done, Outcome, Step};
use crate::future::resolve;
use crate::link::LoopDriver;
use crate::loop_loading::{Shared, lock};

impl LoopDriver {
    /// Submits a call and returns its future, which is done already if the call was answered without I/O. `naps` says
    /// that the call may be long under way without being sent.
    pub fn submit(slf: &Bound<'_, Self>, op: Op<Answer>, naps: bool) -> PyResult<Py<PyAny>> {
        LoopDriver::ask(slf, naps, [(op, AnswersTo::Caller)])
    }

    /// Makes the calls of a load's step, and returns the future of their end.
    pub fn carry(slf: &Bound<'_, Self>, mut calls: Vec<Op<Answer>>, loading: Shared) -> PyResult<Py<PyAny>> {
        if calls.is_empty() {
            lock(&loading).on_answers(Vec::new());
            let future = call(slf.get().create_future.bind(slf.py()), [])?.unbind();
            resolve(slf.py(), vec![(future.clone_ref(slf.py()), Outcome::Carried)]);
            return Ok(future);
        }
        if calls.len() == 1
            && let Some(only) = calls.pop()
        {
            return LoopDriver::ask(slf, false, [(only, AnswersTo::Load(loading))]);
        }
        let step = Arc::new(Step::new(calls.len(), loading));
        let part = |(at, op)| (op, AnswersTo::Step(step.clone(), at));
        LoopDriver::ask(slf, false, calls.into_iter().enumerate().map(part))
    }

    /// Submits calls, which have one future.
    fn ask(
        slf: &Bound<'_, Self>,
        naps: bool,
        calls: impl IntoIterator<Item = (Op<Answer>, AnswersTo)>,
    ) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let future = call(this.create_future.bind(py), [])?;
        let (done, naps, at_once, later) = {
            let mut state = this.lock();
            // Calls of one tick share a write; one that is likely to stay alone does not wait for the end of its tick.
            let at_once = state.quiet && !state.flush_due && !state.link.is_busy();
            for (op, answers) in calls {
                state.link.submit(op, Caller::new(future.clone().unbind(), answers));
            }
            let done = Done::take(py, &mut state.link);
            let later = done.count() == 0 && !at_once && !std::mem::replace(&mut state.flush_due, true);
            (done, naps || !state.link.is_connected(), at_once, later)
        };
        if done.count() > 0 {
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

    /// Returns a future that is resolved by what comes to the place that `ask` is given, under that number.
    pub fn expect(slf: &Bound<'_, Self>, ask: impl FnOnce(u64, &Arc<dyn Sink>)) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let future = call(this.create_future.bind(py), [])?;
        LoopDriver::mind(slf, &future)?;
        let (number, sink) = {
            let mut state = this.lock();
            (state.link.expect(Caller::new(future.clone().unbind(), AnswersTo::Caller)), state.link.sink())
        };
        ask(number, &sink);
        let done = Done::take(py, &mut this.lock().link);
        LoopDriver::tell_all(slf, done)?;
        Ok(future.unbind())
    }
}
