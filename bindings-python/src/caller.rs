//! Who awaits a call on a loop, what follows from its answer, and giving it.

use std::sync::{Arc, Mutex};

use pyo3::intern;
use pyo3::prelude::*;
use quotalock::driver::LoopLink;
use quotalock::{Answer, Result};

use crate::advice;
use crate::answer::object;
use crate::call::{call_inside, call_method};
use crate::error::raised;
use crate::loop_loading::{Shared, lock};

/// Who awaits a call.
pub struct Caller {
    pub future: Py<PyAny>,
    answers: AnswersTo,
}

/// Whose the answer of a call is.
pub enum AnswersTo {
    /// Its caller's.
    Caller,
    /// A load's: the call is a whole step of it.
    Load(Shared),
    /// A load's: the call is one of those of a step, in this place.
    Step(Arc<Step>, usize),
}

/// Calls that are a step of a load.
pub struct Step {
    loading: Shared,
    /// The answers, and how many are missing.
    answers: Mutex<(Vec<Option<Result<Answer>>>, usize)>,
}

impl Step {
    /// Of so many calls.
    pub fn new(count: usize, loading: Shared) -> Step {
        Step { loading, answers: Mutex::new(((0..count).map(|_| None).collect(), count)) }
    }

    /// Takes an answer; true if it was the last.
    fn take(&self, at: usize, answer: Result<Answer>) -> bool {
        let mut answers = lock(&self.answers);
        answers.0[at] = Some(answer);
        answers.1 -= 1;
        if answers.1 > 0 {
            return false;
        }
        let answers = std::mem::take(&mut answers.0);
        lock(&self.loading).on_answers(answers.into_iter().flatten().collect());
        true
    }
}

/// What a caller gets.
pub enum Outcome {
    Answer(Result<Answer>),
    /// Its load knows more now.
    Carried,
}

/// A future with what it is resolved with.
pub type Answered = (Py<PyAny>, Outcome);

impl Caller {
    /// Who awaits a call by this future.
    pub fn new(future: Py<PyAny>, answers: AnswersTo) -> Caller {
        Caller { future, answers }
    }

    /// Whether its future was not cancelled.
    pub fn is_wanted(&self) -> bool {
        !is_cancelled(&self.future)
    }

    /// Whether its call goes on though nobody wants the answer: it may bring a lease, or ends one.
    pub fn is_bound(&self) -> bool {
        !matches!(self.answers, AnswersTo::Caller)
    }

    /// What its future is resolved with after this answer; none if others are to come.
    fn answered(self, answer: Result<Answer>) -> Option<Answered> {
        match self.answers {
            AnswersTo::Caller => return Some((self.future, Outcome::Answer(answer))),
            AnswersTo::Load(loading) => lock(&loading).on_answers(vec![answer]),
            AnswersTo::Step(step, at) => {
                if !step.take(at, answer) {
                    return None;
                }
            }
        }
        Some((self.future, Outcome::Carried))
    }
}

/// Takes the answers that have come to a link.
pub fn answered(link: &mut LoopLink<Caller>) -> Vec<Answered> {
    link.take_done().into_iter().filter_map(|(caller, answer)| caller.answered(answer)).collect()
}

/// What became of calls.
pub struct Done {
    pub answered: Vec<Answered>,
    /// The futures of those who wait for others.
    pub waiting: Vec<Py<PyAny>>,
}

impl Done {
    /// Takes what has come to a link.
    pub fn take(py: Python<'_>, link: &mut LoopLink<Caller>) -> Done {
        let answered = answered(link);
        let waiting = link.take_waiting().map(|caller| caller.future.clone_ref(py)).collect();
        Done { answered, waiting }
    }

    /// How many calls something became of.
    pub fn count(&self) -> usize {
        self.answered.len() + self.waiting.len()
    }
}

fn is_cancelled(future: &Py<PyAny>) -> bool {
    // A lock is held.
    let cancelled =
        |py: Python<'_>| call_inside(future.getattr(py, intern!(py, "cancelled"))?.bind(py), [])?.is_truthy();
    // This thread is attached: the link works only when the loop lets it.
    Python::try_attach(|py| cancelled(py).unwrap_or(false)).unwrap_or(false)
}

/// Resolves futures. A future that was cancelled meanwhile is left alone.
pub fn resolve(py: Python<'_>, done: Vec<Answered>) {
    for (future, outcome) in done {
        let answer = given(py, outcome);
        let future = future.bind(py);
        let told = match answer {
            Ok(answer) => call_method(future, intern!(py, "set_result"), [answer.bind(py)]),
            Err(error) => call_method(future, intern!(py, "set_exception"), [error.into_value(py).bind(py)]),
        };
        let is_over =
            || call_method(future, intern!(py, "done"), []).and_then(|done| done.is_truthy()).unwrap_or(false);
        if let Err(error) = told
            && !is_over()
        {
            error.write_unraisable(py, Some(future));
        }
    }
    advice::warn_nobody(py);
}

fn given(py: Python<'_>, outcome: Outcome) -> PyResult<Py<PyAny>> {
    match outcome {
        Outcome::Answer(answer) => object(py, answer.map_err(|error| raised(py, &error))?),
        Outcome::Carried => Ok(py.None()),
    }
}
