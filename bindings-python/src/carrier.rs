//! How a described call is carried out: on this thread, without the GIL, or on the running loop, which has a driver of its own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use quotalock::driver::Sink;
use quotalock::{Answer, AnswerValue, Op};

use crate::advice;
use crate::answer::object;
use crate::call::{call, enter};
use crate::decision::Decision;
use crate::error::raised;
use crate::exception::internal;
use crate::interruption::interruptibly;
use crate::link::LoopDriver;
use crate::loop_loading::Shared;
use crate::password::Password;

/// What a caller gets for a decision that was made at once, also on a loop.
#[inline]
pub fn decided(py: Python<'_>, decision: quotalock::Result<quotalock::Decision>) -> PyResult<Py<PyAny>> {
    let _inside = enter(py);
    let decision = decision.map_err(|error| raised(py, &error))?;
    advice::warn(py)?;
    Ok(Py::new(py, Decision::new(decision))?.into_any())
}

/// Carries out the calls of one client, and of what it made.
pub struct Carrier {
    /// Whether calls are answered without I/O.
    in_memory: bool,
    /// Where calls are awaited; none for a client that blocks.
    loops: Option<Loops>,
}

impl Carrier {
    /// For the calls of this client, which are awaited if there are `loops`.
    pub fn new(core: &quotalock::Client, loops: Option<Loops>) -> Carrier {
        Carrier { in_memory: core.is_in_memory(), loops }
    }

    /// Where calls are awaited; none for a client that blocks.
    pub fn loops(&self) -> Option<&Loops> {
        self.loops.as_ref()
    }

    /// The loops of a client that awaits its calls.
    pub fn looped(&self, py: Python<'_>) -> PyResult<&Loops> {
        self.loops().ok_or_else(|| internal(py, "a future was asked of a client that blocks".to_owned()))
    }

    /// Makes a described call: returns its answer, or on a loop the future of it.
    pub fn make<T: AnswerValue>(&self, py: Python<'_>, op: quotalock::Result<Op<T>>) -> PyResult<Py<PyAny>> {
        self.carry_out(py, op, false)
    }

    /// As [`make`](Carrier::make), for a call that may sleep whoever answers it.
    pub fn make_napping<T: AnswerValue>(&self, py: Python<'_>, op: quotalock::Result<Op<T>>) -> PyResult<Py<PyAny>> {
        self.carry_out(py, op, true)
    }

    fn carry_out<T: AnswerValue>(
        &self,
        py: Python<'_>,
        op: quotalock::Result<Op<T>>,
        naps: bool,
    ) -> PyResult<Py<PyAny>> {
        let _inside = enter(py);
        let op = op.map_err(|error| raised(py, &error))?.erased();
        if let Some(loops) = &self.loops {
            return loops.submit(py, op, naps);
        }
        let run = move |interrupted: &mut dyn FnMut() -> bool| op.run_interruptibly(interrupted);
        let answer = if self.in_memory && !naps { run(&mut || false) } else { interruptibly(py, naps, run)? };
        let answer = answer.map_err(|error| raised(py, &error))?;
        advice::warn(py)?;
        object(py, answer)
    }

    /// Leaves all loops; calls under way there end with `closed`.
    pub fn close(&self, py: Python<'_>) {
        if let Some(loops) = &self.loops {
            loops.close(py);
        }
    }
}

/// The drivers of a client's loops. Touched only by threads that are attached, and no Python runs while it is locked: so
/// it is never found locked after a fork.
pub struct Loops {
    drivers: Mutex<Vec<Py<LoopDriver>>>,
    /// That of the client, if a function tells it.
    password: Option<Password>,
}

impl Loops {
    /// For a client with this password.
    pub fn new(password: Option<Password>) -> Loops {
        password.iter().for_each(Password::on_loops);
        Loops { drivers: Mutex::default(), password }
    }

    /// Submits a call on the running loop and returns its future; see [`LoopDriver::submit`].
    pub fn submit(&self, py: Python<'_>, op: Op<Answer>, naps: bool) -> PyResult<Py<PyAny>> {
        LoopDriver::submit(self.driver(py)?.bind(py), op, naps)
    }

    /// Makes the calls of a load's step; see [`LoopDriver::carry`].
    pub fn carry(&self, py: Python<'_>, calls: Vec<Op<Answer>>, loading: Shared) -> PyResult<Py<PyAny>> {
        let _inside = enter(py);
        LoopDriver::carry(self.driver(py)?.bind(py), calls, loading)
    }

    /// Returns a future of the running loop for what another thread answers; see [`LoopDriver::expect`].
    pub fn expect(&self, py: Python<'_>, ask: impl FnOnce(u64, &Arc<dyn Sink>)) -> PyResult<Py<PyAny>> {
        let _inside = enter(py);
        LoopDriver::expect(self.driver(py)?.bind(py), ask)
    }

    /// The driver of the running loop.
    fn driver(&self, py: Python<'_>) -> PyResult<Py<LoopDriver>> {
        static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let event_loop = call(RUNNING.import(py, "asyncio", "get_running_loop")?, [])?;
        let found = self.lock().iter().find(|driver| driver.get().drives(&event_loop)).map(|d| d.clone_ref(py));
        found.map_or_else(|| self.add(&event_loop), Ok)
    }

    /// Hangs up everywhere; calls under way end with `closed`.
    pub fn close(&self, py: Python<'_>) {
        self.take_ours().iter().for_each(|driver| LoopDriver::retire(driver.bind(py)));
    }

    /// Makes a driver for a loop. Those of closed loops hang up; those of the parent of a fork are forgotten, for
    /// even the end of their loop would reach into the parent's epoll.
    fn add(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<Py<LoopDriver>> {
        let py = event_loop.py();
        let made = LoopDriver::attach(event_loop, self.password.clone())?;
        // They stay where other threads find them while Python says whether their loops are closed.
        let known: Vec<_> = self.lock().iter().map(|driver| driver.clone_ref(py)).collect();
        let is_over = |driver: &Py<LoopDriver>| driver.get().is_ours() && !driver.get().has_open_loop(py);
        let over: Vec<_> = known.into_iter().filter(is_over).collect();
        let taken: Vec<_> = {
            let mut drivers = self.lock();
            drivers.push(made.clone_ref(py));
            let is_gone = |driver: &Py<LoopDriver>| !driver.get().is_ours() || over.iter().any(|over| over.is(driver));
            drivers.extract_if(.., |driver| is_gone(driver)).collect()
        };
        let (over, foreign): (Vec<_>, Vec<_>) = taken.into_iter().partition(|driver| driver.get().is_ours());
        foreign.into_iter().for_each(std::mem::forget);
        over.iter().for_each(|driver| drop(driver.get().hang_up(py)));
        Ok(made)
    }

    /// Takes the drivers out. Those of the parent of a fork are forgotten.
    fn take_ours(&self) -> Vec<Py<LoopDriver>> {
        let drivers = std::mem::take(&mut *self.lock());
        let (ours, foreign): (Vec<_>, Vec<_>) = drivers.into_iter().partition(|driver| driver.get().is_ours());
        foreign.into_iter().for_each(std::mem::forget);
        ours
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Py<LoopDriver>>> {
        self.drivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.take_ours().iter().for_each(|driver| driver.get().dismiss());
    }
}
