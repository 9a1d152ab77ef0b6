//! How a described call is carried out: on this thread, without the GIL, or on the running loop.

use pyo3::prelude::*;
use quotalock::{AnswerValue, Op};

use crate::advice;
use crate::answer::object;
use crate::decision::Decision;
use crate::ending::enter;
use crate::error::raised;
use crate::exception::internal;
use crate::interruption::interruptibly;
use crate::loops::Loops;

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
