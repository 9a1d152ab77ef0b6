//! Who awaits a call on a loop, and what follows from its answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::intern;
use pyo3::prelude::*;
use quotalock::driver::{self, LoopLink, Sink};
use quotalock::{Answer, Error, Getting, GettingMany, Lock, Result};

use crate::call::call_inside;
use crate::loop_loading::{Shared, lock};

/// Who awaits a call.
pub struct Caller {
    pub future: Py<PyAny>,
    about: About,
}

/// What a call is about, if that is more than its answer.
pub enum About {
    Nothing,
    /// The handle that it acquires.
    Acquires(Lock),
    /// A load of one key looks for it.
    Gets(Getting, Shared),
    /// A load of several keys looks for them.
    Looks(GettingMany, Shared),
    /// Another loads what a load wants: its number at the process' thread.
    Waits(Arc<AtomicU64>, Shared),
    /// A load ends by several calls: the place of this one among them.
    Ends(Arc<Ends>, usize),
}

/// The calls that end a load.
pub struct Ends {
    loading: Shared,
    /// How many are not answered, and what the first of the others that failed failed with.
    left: Mutex<(usize, Option<(usize, Error)>)>,
}

impl Ends {
    /// Of so many calls.
    pub fn new(count: usize, loading: Shared) -> Ends {
        Ends { loading, left: Mutex::new((count, None)) }
    }

    /// Takes an answer; true if it was the last.
    fn take(&self, at: usize, answer: Result<Answer>) -> bool {
        let mut left = lock(&self.left);
        left.0 -= 1;
        if let Err(error) = answer
            && left.1.as_ref().is_none_or(|(first, _)| at < *first)
        {
            left.1 = Some((at, error));
        }
        if left.0 == 0 {
            lock(&self.loading).on_ended(left.1.take().map(|(_, error)| error));
        }
        left.0 == 0
    }
}

/// What a caller gets.
pub enum Outcome {
    Answer(Result<Answer>),
    /// Its load knows more now.
    Carried,
}

/// What follows from an answer.
pub enum Next {
    /// The caller has its own.
    Tell(Answered),
    /// It waits for another who loads.
    Wait(Py<PyAny>, Box<Getting>, Shared),
    /// Others are to come.
    Nothing,
}

/// A future with what it is resolved with.
pub type Answered = (Py<PyAny>, Outcome);

impl Caller {
    /// Makes one.
    pub fn new(future: Py<PyAny>, about: About) -> Caller {
        Caller { future, about }
    }

    /// Whether its future was not cancelled.
    pub fn is_wanted(&self) -> bool {
        !is_cancelled(&self.future)
    }

    /// Whether its call is awaited though nobody wants the answer: it may bring a lease, or ends one.
    pub fn is_bound(&self) -> bool {
        matches!(self.about, About::Gets(..) | About::Looks(..) | About::Ends(..))
    }

    /// Takes back what the process' thread does for it.
    pub fn leave(&self, sink: &Arc<dyn Sink>) {
        match &self.about {
            About::Acquires(lock) => lock.abandon(),
            About::Waits(number, _) => driver::cancel(number.load(Ordering::Relaxed), sink),
            _ => {}
        }
    }

    /// As [`leave`](Caller::leave), for one whose future was cancelled: a lock is its caller's to abandon.
    pub fn cancelled(&self, sink: &Arc<dyn Sink>) {
        if let About::Waits(..) = self.about {
            self.leave(sink);
        }
    }

    /// What follows from the answer of its call.
    pub fn next(self, answer: Result<Answer>) -> Next {
        match self.about {
            About::Nothing | About::Acquires(_) => return Next::Tell((self.future, Outcome::Answer(answer))),
            About::Gets(getting, loading) => match getting.after(answer) {
                Ok(got) => lock(&loading).on_got(got),
                Err(getting) => return Next::Wait(self.future, getting, loading),
            },
            About::Looks(looking, loading) => lock(&loading).on_looked(looking.after(answer)),
            About::Waits(_, loading) => lock(&loading).on_got(answer.and_then(Answer::take)),
            About::Ends(ends, at) => {
                if !ends.take(at, answer) {
                    return Next::Nothing;
                }
            }
        }
        Next::Tell((self.future, Outcome::Carried))
    }
}

/// Hands a `get` to the process' thread, which waits for another who loads.
fn wait(link: &mut LoopLink<Caller>, future: Py<PyAny>, getting: Getting, loading: Shared) {
    let number = Arc::new(AtomicU64::new(0));
    let expected = link.expect(Caller { future, about: About::Waits(number.clone(), loading) });
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
                Next::Wait(future, ..) if is_cancelled(&future) => {}
                Next::Wait(future, getting, loading) => {
                    done.waiting.push(future.clone_ref(py));
                    wait(link, future, *getting, loading);
                }
                Next::Nothing => {}
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
