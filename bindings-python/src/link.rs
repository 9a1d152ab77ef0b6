//! One connection on one asyncio loop. The loop watches its descriptors; no thread touches Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};
use quotalock::driver::{Interest, LoopLink, Sink};
use quotalock::{Answer, Getting, GettingMany, Lock, Op};

use crate::call::{call, call_method};
use crate::caller::{Answered, Caller, Done, Next, wait};
use crate::doorbell::Doorbell;
use crate::ending::enter;
use crate::error::raised;
use crate::future::resolve;
use crate::ours::Ours;
use crate::watch::{Watched, listen};

/// Carries the calls of one client on one loop: those of a tick go out as one write, and what one read brings resolves
/// its futures in one turn.
#[pyclass(frozen, module = "quotalock._native")]
pub struct LoopDriver {
    event_loop: Py<PyAny>,
    create_future: Py<PyAny>,
    /// What the loop shall run us in: it would keep that of whoever happened to call first.
    context: Py<PyAny>,
    /// Touched only under the GIL; while it is locked nothing of Python runs but a future's `cancelled`.
    state: Ours<Mutex<State>>,
    /// Rings for the loop without a word of Python.
    bell: Ours<Arc<dyn Sink>>,
    /// Whether the last who could make calls has gone.
    is_dismissed: AtomicBool,
}

struct State {
    link: LoopLink<Caller>,
    /// Whether a flush was asked of the loop already.
    flush_due: bool,
    /// Whether the last turn had one answer at most: then one call is likely to come again.
    quiet: bool,
    watched: Watched,
    timer: Option<(Instant, Py<PyAny>)>,
}

#[pymethods]
impl LoopDriver {
    /// Reads, writes and expires what is due. Called by the loop when the socket is ready, and when it is time.
    fn _turn(slf: &Bound<'_, Self>) -> PyResult<()> {
        let _inside = enter(slf.py());
        LoopDriver::work(slf, LoopLink::turn)
    }

    /// Sends the calls of a tick. Called by the loop after that tick.
    fn _flush(slf: &Bound<'_, Self>) -> PyResult<()> {
        let _inside = enter(slf.py());
        slf.get().lock().flush_due = false;
        LoopDriver::work(slf, LoopLink::flush)
    }

    /// Takes a call back if its caller cancelled it. Called by the loop when the call's future is done. A look that was sent
    /// may bring a lease, which only its answer tells: it is awaited, and what it brings is given back.
    fn _settled(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        let _inside = enter(future.py());
        if call_method(future, intern!(future.py(), "cancelled"), [])?.is_truthy()? {
            let (caller, sink) = {
                let mut state = self.lock();
                (state.link.cancel(|caller| caller.future.is(future) && !caller.is_looking()), state.link.sink())
            };
            if let Some(caller) = caller {
                caller.cancelled(&sink);
            }
        }
        Ok(())
    }

    /// Leaves the loop, then hangs up. Called by the loop.
    fn _retire(slf: &Bound<'_, Self>) -> PyResult<()> {
        let _inside = enter(slf.py());
        LoopDriver::watch(slf, Interest { socket: None, writable: false, next_turn: None })?;
        let wake_fd = slf.get().lock().link.wake_fd();
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
    pub fn attach(event_loop: &Bound<'_, PyAny>) -> PyResult<Py<LoopDriver>> {
        let py = event_loop.py();
        let link = LoopLink::new(Caller::is_wanted).map_err(|error| raised(py, &error))?;
        let context = call(&py.import("contextvars")?.getattr("Context")?, [])?;
        let (wake_fd, bell) = (link.wake_fd(), link.sink());
        let driver = LoopDriver {
            bell: Ours::new(bell),
            is_dismissed: AtomicBool::new(false),
            event_loop: event_loop.clone().unbind(),
            create_future: event_loop.getattr(intern!(py, "create_future"))?.unbind(),
            context: context.clone().unbind(),
            state: Ours::new(Mutex::new(State {
                link,
                flush_due: false,
                quiet: true,
                watched: Watched::default(),
                timer: None,
            })),
        };
        let driver = Bound::new(py, driver)?;
        let bell = Bound::new(py, Doorbell::new(driver.clone().unbind()))?;
        listen(event_loop, &context, wake_fd, &bell)?;
        Ok(driver.unbind())
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

    /// Submits a call and returns its future, which is done already if the call was answered without I/O. `naps` says
    /// that the call may be long under way without being sent.
    pub fn submit(slf: &Bound<'_, Self>, op: Op<Answer>, naps: bool) -> PyResult<Py<PyAny>> {
        LoopDriver::ask(slf, op, naps, Caller::new)
    }

    /// As [`submit`](LoopDriver::submit), of a `get`, which waits if another loads.
    pub fn get(slf: &Bound<'_, Self>, mut getting: Getting) -> PyResult<Py<PyAny>> {
        LoopDriver::ask(slf, getting.ask(), false, |future| Caller::asking(future, getting))
    }

    /// As [`submit`](LoopDriver::submit), of a `get_many`.
    pub fn get_many(slf: &Bound<'_, Self>, mut looking: GettingMany) -> PyResult<Py<PyAny>> {
        LoopDriver::ask(slf, looking.ask(), false, |future| Caller::looking(future, looking))
    }

    /// Has a `get` wait for another who loads.
    pub fn wait_for(slf: &Bound<'_, Self>, getting: Getting) -> PyResult<Py<PyAny>> {
        let future = call(slf.get().create_future.bind(slf.py()), [])?;
        wait(&mut slf.get().lock().link, future.clone().unbind(), getting);
        LoopDriver::mind(slf, &future)?;
        Ok(future.unbind())
    }

    fn ask(
        slf: &Bound<'_, Self>,
        op: Op<Answer>,
        naps: bool,
        caller: impl FnOnce(Py<PyAny>) -> Caller,
    ) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        let future = call(this.create_future.bind(py), [])?;
        let caller = caller(future.clone().unbind());
        let (done, naps, at_once, later) = {
            let mut state = this.lock();
            // Calls of one tick share a write; one that is likely to stay alone does not wait for the end of its tick.
            let at_once = state.quiet && !state.flush_due && !state.link.is_busy();
            state.link.submit(op, caller);
            let done = Done::take(py, &mut state.link);
            let later = done.is_empty() && !at_once && !std::mem::replace(&mut state.flush_due, true);
            (done, naps || !state.watched.has_socket(), at_once, later)
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
            let number = state.link.expect(Caller::acquiring(future.clone().unbind(), acquires));
            (number, state.link.sink())
        };
        ask(number, &sink);
        let done = Done::take(py, &mut this.lock().link);
        LoopDriver::tell_all(slf, done)?;
        Ok(future.unbind())
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
    pub fn wake(slf: &Bound<'_, Self>) -> PyResult<()> {
        if slf.get().is_dismissed.load(Ordering::Relaxed) {
            return LoopDriver::_retire(slf);
        }
        LoopDriver::work(slf, LoopLink::wake)
    }

    /// Lets the link do something, resolves what was answered, and has the loop watch what is to be watched now.
    fn work(slf: &Bound<'_, Self>, how: fn(&mut LoopLink<Caller>) -> Interest) -> PyResult<()> {
        let py = slf.py();
        let (interest, done) = {
            let mut state = slf.get().lock();
            let interest = how(&mut state.link);
            let done = Done::take(py, &mut state.link);
            if !done.is_empty() {
                state.quiet = done.answered.len() + done.waiting.len() == 1;
            }
            (interest, done)
        };
        LoopDriver::tell_all(slf, done)?;
        LoopDriver::watch(slf, interest)
    }

    /// Has the loop retire this driver, from whichever thread. With a closed loop it only hangs up.
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

    /// Has the loop retire this driver when it runs next; one that is closed instead lets go of it. For destructors: they
    /// run wherever the last reference goes, also while an exception is on its way, and then nothing of Python may be
    /// called. Takes no lock that is held while an object may go.
    pub fn dismiss(&self) {
        self.is_dismissed.store(true, Ordering::Relaxed);
        self.bell.complete(Vec::new());
    }

    /// Hangs up and returns the calls under way, ended with `closed`. On a closed loop nobody waits for them any more.
    pub fn hang_up(&self, py: Python<'_>) -> Vec<Answered> {
        let done = self.let_go();
        let timer = self.lock().timer.take();
        if let Some((_, timer)) = timer
            && let Err(error) = call_method(timer.bind(py), intern!(py, "cancel"), [])
        {
            error.write_unraisable(py, Some(timer.bind(py)));
        }
        done
    }

    /// As [`hang_up`](LoopDriver::hang_up), without a word to the loop. Nothing of Python runs in it.
    pub fn let_go(&self) -> Vec<Answered> {
        let (done, sink) = {
            let mut state = self.lock();
            state.link.close();
            (state.link.take_done(), state.link.sink())
        };
        // What was not told by now will not be: such a grant has no holder, such a lease no loader.
        done.iter().for_each(|(caller, _)| caller.leave(&sink));
        let told = |next| if let Next::Tell(answered) = next { Some(answered) } else { None };
        done.into_iter().filter_map(|(caller, answer)| told(caller.next(answer))).collect()
    }

    /// Has the loop watch what `interest` says, in place of what it watches now.
    fn watch(slf: &Bound<'_, Self>, interest: Interest) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        let changes = this.lock().watched.update(interest);
        for change in changes {
            change.tell(this.event_loop.bind(py), &turn(slf)?)?;
        }
        let Some(wait) = interest.next_turn else { return Ok(()) };
        let now = Instant::now();
        let replaced = {
            let mut state = this.lock();
            // One timer, which may ring early: a turn for nothing now and then costs less than a timer for each call.
            if state.timer.as_ref().is_some_and(|(then, _)| *then > now && *then <= now + wait) {
                return Ok(());
            }
            state.timer.take()
        };
        if let Some((_, timer)) = replaced {
            call_method(timer.bind(py), intern!(py, "cancel"), [])?;
        }
        let call_later = this.event_loop.bind(py).getattr(intern!(py, "call_later"))?;
        let ring = [&call_later, &PyFloat::new(py, wait.as_secs_f64()), &turn(slf)?];
        let timer = call_method(this.context.bind(py), intern!(py, "run"), ring)?;
        this.lock().timer = Some((now + wait, timer.unbind()));
        Ok(())
    }

    fn tell<'py>(&self, what: &Bound<'py, PyString>, with: &Bound<'py, PyAny>) -> PyResult<()> {
        call_method(self.event_loop.bind(what.py()), what, [with]).map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The callback for the loop.
fn turn<'py>(driver: &Bound<'py, LoopDriver>) -> PyResult<Bound<'py, PyAny>> {
    driver.getattr(intern!(driver.py(), "_turn"))
}
