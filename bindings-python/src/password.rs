//! A password that a function of Python code tells: called where Python waits for an answer, never by a thread of ours.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use quotalock::driver::{PasswordQuestion, PasswordQuestions, Sink};
use quotalock::{Cause, ForkCell, PasswordProvider};

use crate::argument::{function, kind};
use crate::call::{call, enter};
use crate::exception::invalid;

/// The password of one client.
#[derive(Clone)]
pub struct Password {
    teller: Arc<PasswordFunction>,
    questions: PasswordQuestions,
}

/// A function that tells passwords, for as long as its client lives.
struct PasswordFunction {
    function: Py<PyAny>,
    /// Whether loops call it, which may await what it returns.
    is_on_loops: AtomicBool,
    /// Those of the loops. Rung without the GIL.
    bells: ForkCell<Mutex<Vec<Weak<dyn Sink>>>>,
}

/// All of them. Touched only by threads that are attached, and no Python runs while it is locked: so it is never found
/// locked after a fork.
static ALL: Mutex<Vec<(Weak<PasswordFunction>, PasswordQuestions)>> = Mutex::new(Vec::new());

/// Whether somebody asked for the password of a client that blocks, and perhaps nobody answers.
static IS_RUNG: AtomicBool = AtomicBool::new(false);

impl Password {
    /// For a function of Python code.
    pub fn told_by(given: &Bound<'_, PyAny>) -> PyResult<(PasswordProvider, Password)> {
        if given.is_instance_of::<PyString>() {
            // It is not shown.
            return Err(PyTypeError::new_err(
                "password is a str: give a function that returns it, or put it into the url",
            ));
        }
        function("password", given)?;
        let (is_on_loops, bells) = (AtomicBool::new(false), ForkCell::new());
        let teller = Arc::new(PasswordFunction { function: given.clone().unbind(), is_on_loops, bells });
        let ringing = teller.clone();
        let (provider, questions) = PasswordProvider::elsewhere(move || ringing.ring());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(teller, _)| teller.strong_count() > 0);
        all.push((Arc::downgrade(&teller), questions.clone()));
        drop(all);
        Ok((provider, Password { teller, questions }))
    }

    /// From now on loops call the function.
    pub fn on_loops(&self) {
        self.teller.is_on_loops.store(true, Ordering::Relaxed);
    }

    /// Rings this bell, too, when there is a question.
    pub fn ring_for(&self, bell: &Arc<dyn Sink>) {
        let bells = self.teller.bells.get_or_init(Mutex::default);
        let mut bells = bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.retain(|bell| bell.strong_count() > 0);
        bells.push(Arc::downgrade(bell));
    }

    /// Has the running loop answer the question, if there is one.
    pub fn answer_on_loop(&self, py: Python<'_>) -> PyResult<()> {
        static ASK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let Some(question) = self.questions.take_question() else { return Ok(()) };
        let question = Bound::new(py, Question { open: Mutex::new(Some(question)) })?;
        call(ASK.import(py, "quotalock.aio._password", "ask")?, [self.teller.function.bind(py), &question]).map(drop)
    }
}

impl PasswordFunction {
    fn ring(&self) {
        if !self.is_on_loops.load(Ordering::Relaxed) {
            IS_RUNG.store(true, Ordering::Relaxed);
        }
        let Some(bells) = self.bells.get() else { return };
        let bells: Vec<_> =
            bells.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect();
        bells.iter().for_each(|bell| bell.complete(Vec::new()));
    }
}

/// Whether there is a question that nobody answers yet.
pub fn is_asked() -> bool {
    IS_RUNG.load(Ordering::Relaxed)
}

/// Before a call: answers what work in the background asked meanwhile.
pub fn answer_first(py: Python<'_>) -> PyResult<()> {
    let is_rung = IS_RUNG.load(Ordering::Relaxed) && IS_RUNG.swap(false, Ordering::Relaxed);
    if is_rung { answer_here(py).map_or(Ok(()), Err) } else { Ok(()) }
}

/// Answers the questions of clients that block, on this thread, which waits for an answer of Redis. What ends its call is
/// returned; what a function raised otherwise, all get who wait for it.
pub fn answer_here(py: Python<'_>) -> Option<PyErr> {
    // Not while it is locked: the last to have a teller lets go of an object of Python.
    let all: Vec<_> = {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(|(teller, questions)| Some((teller.upgrade()?, questions.clone()))).collect()
    };
    let mine = all.into_iter().filter(|(teller, _)| !teller.is_on_loops.load(Ordering::Relaxed));
    let open: Vec<_> = mine.filter_map(|(teller, questions)| Some((questions.take_question()?, teller))).collect();
    let mut ends = None;
    for (question, teller) in open {
        let _inside = enter(py);
        let error = answer(call(teller.function.bind(py), []), question).err();
        ends = ends.or(error);
    }
    ends
}

/// Answers a question by what a function returned or raised. What is no `Exception` is not its to raise elsewhere.
fn answer(told: PyResult<Bound<'_, PyAny>>, question: PasswordQuestion) -> PyResult<()> {
    let text = told.and_then(|told| {
        let text = told.cast::<PyString>().map_err(|_| {
            PyTypeError::new_err(format!("the password function returned {}: return a str", kind(&told)))
        })?;
        text.to_str()
            .map(str::to_owned)
            .map_err(|_| invalid(told.py(), "the password has no UTF-8 form: change it".into()))
    });
    match text {
        Ok(text) => question.answer(text),
        Err(error) => Python::attach(|py| fail(py, error, question))?,
    }
    Ok(())
}

fn fail(py: Python<'_>, error: PyErr, question: PasswordQuestion) -> PyResult<()> {
    // Its own words may be about the password.
    let why = format!("it raised {}", kind(error.value(py).as_any()));
    if error.is_instance_of::<PyException>(py) {
        question.fail(why, Some(Cause::new(error)));
        return Ok(());
    }
    question.fail(why, None);
    Err(error)
}

/// The question for a password, on a loop. Whatever becomes of it, those who wait are told.
#[pyclass(frozen, module = "quotalock._native", name = "PasswordQuestion")]
pub struct Question {
    open: Mutex<Option<PasswordQuestion>>,
}

#[pymethods]
impl Question {
    /// Answers it by what the function returned.
    fn _answer(&self, told: Bound<'_, PyAny>) -> PyResult<()> {
        let question = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        question.map_or(Ok(()), |question| answer(Ok(told), question))
    }

    /// Answers it by what the function raised.
    fn _fail(&self, raised: Bound<'_, PyAny>) -> PyResult<()> {
        let question = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        question.map_or(Ok(()), |question| answer(Err(PyErr::from_value(raised)), question))
    }
}
