//! One client's connections on one asyncio loop, and the calls that are made on them, each with a future for its answer. The loop
//! watches the descriptors; no thread touches Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyFloat, PyInt, PyString};
use quotalock::driver::{Interest, LoopLink, Sink};
use quotalock::{Answer, Op};

use crate::call::{call, call_method, enter};
use crate::caller::{AnswersTo, Caller, Done, Outcome, Step, resolve};
use crate::error::raised;
use crate::loop_loading::{Shared, lock};
use crate::ours::Ours;
use crate::password::Password;
use crate::watch::{listen, tell};

/// Carries the calls of one client on one loop: those of a tick go out as one write, and what one read brings resolves
/// its futures in one turn.
#[pyclass(frozen, module = "quotalock._native")]
pub struct LoopDriver {
    pub event_loop: Py<PyAny>,
    create_future: Py<PyAny>,
    /// What the loop shall run us in: it would keep that of whoever happened to call first.
    context: Py<PyAny>,
    /// Touched only by threads that are attached; while it is locked nothing of Python runs but a future's `cancelled`.
    state: Ours<Mutex<State>>,
    /// Rings for the loop without a word of Python.
    pub bell: Ours<Arc<dyn Sink>>,
    /// Whether the last who could make calls has gone.
    pub is_dismissed: AtomicBool,
    /// That of the client, if a function tells it.
    password: Option<Password>,
}

/// What a driver knows.
pub struct State {
    pub link: LoopLink<Caller>,
    /// Whether a flush was asked of the loop already.
    flush_due: bool,
    /// Whether the last turn had one answer at most: then one call is likely to come again.
    quiet: bool,
    /// The timer that has not rung yet, and when it will.
    pub timer: Option<(Instant, Py<PyAny>)>,
}

#[pymethods]
impl LoopDriver {
    /// Reads, writes and expires what is due. Called by the loop when a socket is ready.
    fn _turn(slf: &Bound<'_, Self>) -> PyResult<()> {
        let _inside = enter(slf.py());
        LoopDriver::work(slf, LoopLink::turn)
    }

    /// Does the same when it is time. Called by the loop's timer, up to a millisecond early by that of uvloop: then nothing
    /// is due yet, and the rest of the wait needs another timer.
    fn _ring(slf: &Bound<'_, Self>) -> PyResult<()> {
        let rung = slf.get().lock(slf.py()).timer.take();
        drop(rung);
        LoopDriver::_turn(slf)
    }

    /// Sends the calls of a tick. Called by the loop after that tick.
    fn _flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        let _inside = enter(slf.py());
        slf.get().lock(slf.py()).flush_due = false;
        LoopDriver::work(slf, LoopLink::flush)
    }

    /// Takes a call back if its caller cancelled it. Called by the loop when the call's future is done. A look that was sent
    /// may bring a lease, which only its answer tells: it is awaited, and what it brings is given back.
    fn _settled(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        let _inside = enter(future.py());
        if call_method(future, intern!(future.py(), "cancelled"), [])?.is_truthy()? {
            let caller = {
                let mut state = self.lock(future.py());
                let waiting = state.link.cancel_waiting(|caller| caller.future.is(future));
                waiting.or_else(|| state.link.cancel(|caller| caller.future.is(future) && !caller.is_bound()))
            };
            // Not while the link is locked: it lets go of Python's objects.
            drop(caller);
        }
        Ok(())
    }

    /// Leaves the loop, then hangs up. Called by the loop.
    fn _retire(slf: &Bound<'_, Self>) -> PyResult<()> {
        let _inside = enter(slf.py());
        let (nothing, wake_fd) = {
            let mut state = slf.get().lock(slf.py());
            (state.link.leave(), state.link.wake_fd())
        };
        LoopDriver::watch(slf, nothing)?;
        resolve(slf.py(), slf.get().hang_up(slf.py()));
        slf.get().tell(intern!(slf.py(), "remove_reader"), &PyInt::new(slf.py(), wake_fd))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.event_loop)?;
        visit.call(&self.create_future)?;
        visit.call(&self.context)?;
        match self.state.try_lock() {
            Ok(state) => visit.call(state.timer.as_ref().map(|(_, timer)| timer)),
            Err(_) => Ok(()),
        }
    }
}

impl LoopDriver {
    /// Makes a driver and has the loop listen for it.
    pub fn attach(event_loop: &Bound<'_, PyAny>, password: Option<Password>) -> PyResult<Py<LoopDriver>> {
        let py = event_loop.py();
        let link = LoopLink::new(Caller::is_wanted).map_err(|error| raised(py, &error))?;
        let context = call(&py.import("contextvars")?.getattr("Context")?, [])?;
        let (wake_fd, bell) = (link.wake_fd(), link.sink());
        password.iter().for_each(|password| password.ring_for(&bell));
        let driver = LoopDriver {
            password,
            bell: Ours::new(bell),
            is_dismissed: AtomicBool::new(false),
            event_loop: event_loop.clone().unbind(),
            create_future: event_loop.getattr(intern!(py, "create_future"))?.unbind(),
            context: context.clone().unbind(),
            state: Ours::new(Mutex::new(State { link, flush_due: false, quiet: true, timer: None })),
        };
        let driver = Bound::new(py, driver)?;
        let bell = Bound::new(py, Doorbell { driver: driver.clone().unbind() })?;
        listen(event_loop, &context, wake_fd, &bell)?;
        Ok(driver.unbind())
    }

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
            let mut state = this.lock(py);
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
            this.lock(py).flush_due = false;
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
            let mut state = this.lock(py);
            (state.link.expect(Caller::new(future.clone().unbind(), AnswersTo::Caller)), state.link.sink())
        };
        ask(number, &sink);
        let done = Done::take(py, &mut this.lock(py).link);
        LoopDriver::tell_all(slf, done)?;
        Ok(future.unbind())
    }

    /// Whether this driver serves the calls that are made on `event_loop` in this process.
    pub fn drives(&self, event_loop: &Bound<'_, PyAny>) -> bool {
        self.event_loop.is(event_loop) && self.is_ours()
    }

    /// Whether it was made in this process, not in the parent of a fork.
    pub fn is_ours(&self) -> bool {
        self.state.is_ours()
    }

    /// Whether its loop may run again.
    pub fn has_open_loop(&self, py: Python<'_>) -> bool {
        let closed = call_method(self.event_loop.bind(py), intern!(py, "is_closed"), []);
        !closed.is_ok_and(|closed| closed.is_truthy().unwrap_or(true))
    }

    /// Has the future's cancellation take its call back.
    fn mind(slf: &Bound<'_, Self>, future: &Bound<'_, PyAny>) -> PyResult<()> {
        let settled = slf.getattr(intern!(slf.py(), "_settled"))?;
        call_method(future, intern!(slf.py(), "add_done_callback"), [&settled]).map(drop)
    }

    /// Resolves what was answered, and minds who has to wait for more.
    fn tell_all(slf: &Bound<'_, Self>, done: Done) -> PyResult<()> {
        resolve(slf.py(), done.answered);
        done.waiting.iter().try_for_each(|future| LoopDriver::mind(slf, future.bind(slf.py())))
    }

    /// Takes what the link rings for: a connection that was made, an answer of another thread, or a dismissal.
    fn wake(slf: &Bound<'_, Self>) -> PyResult<()> {
        if slf.get().is_dismissed.load(Ordering::Relaxed) {
            return LoopDriver::_retire(slf);
        }
        slf.get().password.as_ref().map_or(Ok(()), |password| password.answer_on_loop(slf.py()))?;
        LoopDriver::work(slf, LoopLink::wake)
    }

    /// Lets the link do something, resolves what was answered, and has the loop watch what is to be watched now.
    fn work(slf: &Bound<'_, Self>, how: fn(&mut LoopLink<Caller>) -> Interest) -> PyResult<()> {
        let py = slf.py();
        let (interest, done) = {
            let mut state = slf.get().lock(py);
            let interest = how(&mut state.link);
            let done = Done::take(py, &mut state.link);
            if done.count() > 0 {
                state.quiet = done.count() == 1;
            }
            (interest, done)
        };
        LoopDriver::tell_all(slf, done)?;
        LoopDriver::watch(slf, interest)
    }

    /// Has the loop do what `interest` says.
    fn watch(slf: &Bound<'_, Self>, interest: Interest) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        for change in interest.changes {
            tell(this.event_loop.bind(py), change, &turn(slf)?)?;
        }
        let Some(wait) = interest.next_turn else { return Ok(()) };
        let now = Instant::now();
        let replaced = {
            let mut state = this.lock(py);
            // One timer, which may ring early: a turn for nothing now and then costs less than a timer for each call.
            if state.timer.as_ref().is_some_and(|(then, _)| *then <= now + wait) {
                return Ok(());
            }
            state.timer.take()
        };
        if let Some((_, timer)) = replaced {
            call_method(timer.bind(py), intern!(py, "cancel"), [])?;
        }
        let call_later = this.event_loop.bind(py).getattr(intern!(py, "call_later"))?;
        let ring = [&call_later, &PyFloat::new(py, wait.as_secs_f64()), &slf.getattr(intern!(py, "_ring"))?];
        let timer = call_method(this.context.bind(py), intern!(py, "run"), ring)?;
        this.lock(py).timer = Some((now + wait, timer.unbind()));
        Ok(())
    }

    pub fn tell<'py>(&self, what: &Bound<'py, PyString>, with: &Bound<'py, PyAny>) -> PyResult<()> {
        call_method(self.event_loop.bind(what.py()), what, [with]).map(drop)
    }

    /// Locks the state. Waits detached: who has it locked may be waiting for all threads to pause, or for the GIL.
    pub fn lock(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

/// The callback for the loop.
fn turn<'py>(driver: &Bound<'py, LoopDriver>) -> PyResult<Bound<'py, PyAny>> {
    driver.getattr(intern!(driver.py(), "_turn"))
}

/// What the loop calls when the link rings. It belongs to the loop alone: when it goes, nobody awaits anything there any
/// more.
#[pyclass(frozen, module = "quotalock._native")]
struct Doorbell {
    driver: Py<LoopDriver>,
}

#[pymethods]
impl Doorbell {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let _inside = enter(py);
        LoopDriver::wake(self.driver.bind(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.driver)
    }
}

impl Drop for Doorbell {
    fn drop(&mut self) {
        let driver = self.driver.get();
        // A child of a fork that closes its parent's loop leaves the parent's connection alone.
        if driver.is_ours() {
            // Only Python drops it, so this thread is attached.
            Python::attach(|py| drop(driver.let_go(py)));
        }
    }
}
