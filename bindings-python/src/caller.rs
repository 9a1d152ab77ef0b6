//! Who awaits a call on a loop, and what follows from its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use quotalock::driver::{self, LoopLink, Sink};
use quotalock::{Answer, Getting, GettingMany, Lock, Part, Result};

use crate::call::call_inside;

/// Who awaits a call.
pub struct Caller {
    pub future: Py<PyAny>,
    /// What the call is about, if that is more than its answer.
    about: About,
}

enum About {
    Nothing,
    /// The handle that it acquires.
    Acquires(Lock),
    /// The first question of a `get`.
    Asks(Getting),
    /// The question of a `get_many`.
    Looks(GettingMany),
    /// Another loads what it wants: its number at the process' thread.
    Waits(Arc<AtomicU64>),
}

/// What a caller gets.
pub enum Outcome {
    Answer(Result<Answer>),
    Parts(Result<Vec<Part>>),
}

/// What follows from an answer.
pub enum Next {
    /// The caller has its own.
    Tell(Answered),
    /// It waits for another who loads.
    Wait(Py<PyAny>, Box<Getting>),
}

/// A future with what it is resolved with.
pub type Answered = (Py<PyAny>, Outcome);

impl Caller {
    /// One who gets the answer as it is.
    pub fn new(future: Py<PyAny>) -> Caller {
        Caller { future, about: About::Nothing }
    }

    /// One for a handle that ends when nobody can await it any more.
    pub fn acquiring(future: Py<PyAny>, lock: Option<Lock>) -> Caller {
        Caller { future, about: lock.map_or(About::Nothing, About::Acquires) }
    }

    /// One whose question is the first of a `get`.
    pub fn asking(future: Py<PyAny>, getting: Getting) -> Caller {
        Caller { future, about: About::Asks(getting) }
    }

    /// One whose question is that of a `get_many`.
    pub fn looking(future: Py<PyAny>, looking: GettingMany) -> Caller {
        Caller { future, about: About::Looks(looking) }
    }

    /// Whether its future was not cancelled.
    pub fn is_wanted(&self) -> bool {
        !is_cancelled(&self.future)
    }

    /// Whether its call may bring a lease.
    pub fn is_looking(&self) -> bool {
        matches!(self.about, About::Asks(_) | About::Looks(_))
    }

    /// Takes back what the process' thread does for it.
    pub fn leave(&self, sink: &Arc<dyn Sink>) {
        match &self.about {
            About::Acquires(lock) => lock.abandon(),
            About::Waits(number) => driver::cancel(number.load(Ordering::Relaxed), sink),
            _ => {}
        }
    }

    /// As [`leave`](Caller::leave), for one whose future was cancelled: a lock is its caller's to abandon.
    pub fn cancelled(&self, sink: &Arc<dyn Sink>) {
        if let About::Waits(_) = self.about {
            self.leave(sink);
        }
    }

    /// What follows from the answer of its call.
    pub fn next(self, answer: Result<Answer>) -> Next {
        let outcome = match self.about {
            About::Asks(getting) => match getting.after(answer) {
                Ok(got) => Outcome::Answer(got.map(Answer::new)),
                Err(getting) => return Next::Wait(self.future, getting),
            },
            About::Looks(looking) => Outcome::Parts(looking.after(answer)),
            _ => Outcome::Answer(answer),
        };
        Next::Tell((self.future, outcome))
    }
}

/// Hands a `get` to the process' thread, which waits for another who loads.
pub fn wait(link: &mut LoopLink<Caller>, future: Py<PyAny>, getting: Getting) {
    let number = Arc::new(AtomicU64::new(0));
    let expected = link.expect(Caller { future, about: About::Waits(number.clone()) });
    number.store(expected, Ordering::Relaxed);
    getting.submit(expected, &link.sink());
}

/// What became of calls.
#[derive(Default)]
pub struct Done {
    pub answered: Vec<Answered>,
    /// The futures of those who wait for another who loads.
    pub waiting: Vec<Py<PyAny>>,
}

impl Done {
    /// Takes the answers that have come to a link, and has those wait who must.
    pub fn take(py: Python<'_>, link: &mut LoopLink<Caller>) -> Done {
        let mut done = Done::default();
        for (caller, answer) in link.take_done() {
            match caller.next(answer) {
                Next::Tell(answered) => done.answered.push(answered),
                Next::Wait(future, _) if is_cancelled(&future) => {}
                Next::Wait(future, getting) => {
                    done.waiting.push(future.clone_ref(py));
                    wait(link, future, *getting);
                }
            }
        }
        done
    }

    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.answered.is_empty() && self.waiting.is_empty()
    }
}

fn is_cancelled(future: &Py<PyAny>) -> bool {
    // A lock is held.
    let cancelled =
        |py: Python<'_>| call_inside(future.getattr(py, intern!(py, "cancelled"))?.bind(py), [])?.is_truthy();
    // The GIL is held: the link works only when the loop lets it.
    Python::try_attach(|py| cancelled(py).unwrap_or(false)).unwrap_or(false)
}
