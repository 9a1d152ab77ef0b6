//! Waiting on a thread that runs several greenlets, as gevent and eventlet have it: a thread of ours waits for the answer,
//! and the other greenlets run meanwhile.
//!
//! A greenlet that is switched out has no stack: what is on it is copied away, and others use its place. So all that the
//! other thread touches is on the heap.

use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use quotalock::generation;

use crate::call::{call, call_inside, outside};
use crate::exception::internal;
use crate::password::{answer_first, is_asked};

/// A call under way on another thread.
struct Job<T> {
    is_cancelled: AtomicBool,
    answer: Mutex<Option<T>>,
}

impl<T> Job<T> {
    fn answer(&self) -> std::sync::MutexGuard<'_, Option<T>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The function of Python that waits until a descriptor can be read, while other greenlets run; none where there are none.
pub fn waiter(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    static WAITER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // The end waits for it: free-threaded Python, ending, may wait for ever for a dict that this thread has locked.
    let waiter = call_inside(WAITER.import(py, "quotalock._greenlets", "waiter")?, [])?;
    Ok((!waiter.is_none()).then_some(waiter))
}

/// Makes a call on a thread of its own, and has `wait` wait for its answer. What `wait` raises (a timeout, the end of the
/// greenlet) ends the call, and is raised once it has ended.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    wait: &Bound<'_, PyAny>,
    work: impl FnOnce(&mut dyn FnMut() -> bool) -> T + Send + 'static,
) -> PyResult<T> {
    let failed =
        |what: &str, error: std::io::Error| internal(py, format!("cannot wait among greenlets: {what}: {error}"));
    let (mut ours, theirs) = UnixStream::pair().map_err(|error| failed("no pair of sockets", error))?;
    let job = Arc::new(Job { is_cancelled: AtomicBool::new(false), answer: Mutex::new(None) });
    let done = job.clone();
    let make = move || {
        // Closed last, which wakes the greenlet.
        let _end = theirs;
        let answer = work(&mut || done.is_cancelled.load(Ordering::Relaxed) || answer_questions());
        *done.answer() = Some(answer);
    };
    thread::Builder::new().name("quotalock-wait".into()).spawn(make).map_err(|error| failed("no thread", error))?;
    let of = generation();
    let fd = ours.as_raw_fd().into_pyobject(py)?.into_any();
    let mut ended: Option<PyErr> = None;
    loop {
        if let Some(answer) = job.answer().take() {
            return ended.map_or(Ok(answer), Err);
        }
        if generation() != of {
            // The thread stayed with the parent.
            return Err(internal(py, "the process was forked while this call waited: make it again".into()));
        }
        if Arc::strong_count(&job) == 1 && job.answer().is_none() {
            return Err(internal(py, "the thread that waited has failed".into()));
        }
        let Err(error) = outside(py, || call(wait, [&fd]).map(drop)) else { continue };
        job.is_cancelled.store(true, Ordering::Relaxed);
        if ended.replace(error).is_some() {
            // Raised at once again: the call ends within a moment, which this thread waits for.
            outside(py, || py.detach(|| ours.read(&mut [0]))).map(drop).map_err(|error| failed("no end", error))?;
        }
    }
}

/// Has this thread answer questions for passwords; it never ends the call.
fn answer_questions() -> bool {
    if is_asked() {
        Python::try_attach(|py| answer_first(py).err());
    }
    false
}
