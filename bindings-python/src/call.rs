//! Calls of Python, from which a thread may never come back, and the end of the interpreter, which may come meanwhile.
//!
//! Before 3.14 CPython ends a daemon thread when it asks for the GIL after the interpreter began to end, and any Python
//! code lets go of the GIL and asks for it again. It ends it by `pthread_exit`, which with glibc unwinds the stack; but
//! our frames cannot be unwound through calls declared as `extern "C"`, as PyO3's are, so the process would abort. A
//! thread that is ended in a call from here waits for ever instead, as CPython itself has them do since 3.14, and as
//! PyO3 does where it asks for the GIL: nothing of ours runs in it any more, and the process ends around it.
//!
//! Not called from here is what Python runs by itself whenever it makes, converts or drops an object for us: a collection of
//! garbage, a finalizer. So the end waits for a moment until no thread is [inside](enter), in the middle of such work, and lets
//! none begin: when nothing more of ours can be on a stack, the interpreter may end.

use std::cell::Cell;
use std::mem::forget;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId, park};
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use quotalock::generation;

// PyO3 declares it too, as one that never unwinds, but does not call it. Of a function that PyO3 calls the optimizer
// would see both declarations as one, and could take it that nothing is to run on an unwind.
unsafe extern "C-unwind" {
    fn PyObject_CallFunctionObjArgs(callable: *mut ffi::PyObject, ...) -> *mut ffi::PyObject;
}

/// How many arguments a call takes.
const MOST: usize = 3;

/// Calls `callable` with the arguments given. To be called with no lock held.
pub fn call<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    given: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    outside(callable.py(), || call_inside(callable, given))
}

/// As [`call`], of what is soon done: the interpreter's end waits for it.
pub fn call_inside<'py, const N: usize>(
    callable: &Bound<'py, PyAny>,
    given: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(N <= MOST) }
    let mut arguments = [null_mut(); MOST];
    for (argument, given) in arguments.iter_mut().zip(given) {
        *argument = given.as_ptr();
    }
    let [first, second, third] = arguments;
    let ended = Ended;
    // SAFETY: this thread is attached, all are borrowed for the call, and a null ends them. If it unwinds, `ended` is the first
    // to be dropped, and stays there.
    let returned =
        unsafe { PyObject_CallFunctionObjArgs(callable.as_ptr(), first, second, third, null_mut::<ffi::PyObject>()) };
    forget(ended);
    // SAFETY: it is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(callable.py(), returned) }
}

/// Calls a method of `object` with the arguments given.
pub fn call_method<'py, const N: usize>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    given: [&Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    call(&object.getattr(name)?, given)
}

/// Dropped only in a thread that is being ended: keeps it from being unwound.
struct Ended;

impl Drop for Ended {
    fn drop(&mut self) {
        loop {
            park();
        }
    }
}

/// How long the end waits for those inside. They only have to come to the end of a finalizer, so that all of this passes
/// only when one never ends; on a machine that is short of processors a quarter of a second was too little.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long nobody else may come in once nobody is inside: what the interpreter's own last functions take. One that
/// takes longer, perhaps because it waits for such a thread, is not held up any more.
const CLOSED: Duration = Duration::from_secs(2);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// How many threads are inside: in our code, attached to the interpreter, or waiting for that in what Python does for our
/// code. Free-threaded Python runs many at once, each of which counts in a place that few others use. With a GIL one
/// place is enough, and is changed without the price of an atomic addition.
static INSIDE: [Place; PLACES] = [const { Place(AtomicU64::new(0)) }; PLACES];
const PLACES: usize = if cfg!(Py_GIL_DISABLED) { 32 } else { 1 };
static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Whether it has begun; that is never taken back.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// Which thread ends the interpreter, and until when the others stay outside.
static DOOR: Mutex<Option<(ThreadId, Instant)>> = Mutex::new(None);

thread_local! {
    /// How deep this thread is inside.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// Where this thread counts.
    static PLACE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % INSIDE.len()
    };
}

/// A count of threads, on a cache line of its own: the upper half is the process whose threads they are, the lower half
/// how many. So a forked child, in which only one thread lives on, counts none of its parent's.
#[repr(align(128))]
struct Place(AtomicU64);

impl Place {
    /// Puts what `how` makes of this process' count in its place.
    fn change(&self, how: fn(u32) -> u32) {
        let changed = |word| u64::from(process()) << 32 | u64::from(how(count(word)));
        if cfg!(Py_GIL_DISABLED) {
            let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| Some(changed(word)));
        } else {
            self.0.store(changed(self.0.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
    }
}

fn process() -> u32 {
    (generation() & u64::from(u32::MAX)) as u32
}

fn count(word: u64) -> u32 {
    if word >> 32 == u64::from(process()) { (word & u64::from(u32::MAX)) as u32 } else { 0 }
}

fn change(how: fn(u32) -> u32) {
    let place = if PLACES == 1 { 0 } else { PLACE.with(|place| *place) };
    INSIDE[place].change(how);
}

/// Whether any thread of this process is inside.
fn is_anyone_inside() -> bool {
    INSIDE.iter().any(|place| count(place.0.load(Ordering::SeqCst)) > 0)
}

/// Says that this thread is inside.
pub struct Inside(());

/// Comes inside. With the door closed it waits, detached, for the interpreter's end or for the door to open.
pub fn enter(py: Python<'_>) -> Inside {
    come(py, 1);
    Inside(())
}

impl Drop for Inside {
    fn drop(&mut self) {
        match DEPTH.get() {
            0 => {}
            1 => go(),
            depth => DEPTH.set(depth - 1),
        }
    }
}

/// Whether the interpreter's end has begun.
pub fn is_ending() -> bool {
    HAS_BEGUN.load(Ordering::Relaxed)
}

/// Does what may take as long as it likes and is safe by itself: the end does not wait for it.
pub fn outside<T>(py: Python<'_>, work: impl FnOnce() -> T) -> T {
    let depth = DEPTH.get();
    if depth == 0 {
        return work();
    }
    go();
    let done = work();
    come(py, depth);
    done
}

fn come(py: Python<'_>, depth: usize) {
    if DEPTH.get() > 0 {
        DEPTH.set(DEPTH.get() + depth);
        return;
    }
    loop {
        // Counted before the door is looked at, which is closed before anyone is counted: one of the two sees the other.
        change(|count| count + 1);
        DEPTH.set(depth);
        if !IS_ENDING.load(Ordering::SeqCst) {
            return;
        }
        let Some(left) = closed_for() else { return };
        go();
        py.detach(|| thread::sleep(left));
    }
}

fn go() {
    DEPTH.set(0);
    // One that was inside when it was forked is not counted in the child.
    change(|count| count.saturating_sub(1));
}

/// For how long this thread has to stay outside.
fn closed_for() -> Option<Duration> {
    let (by, until) = (*DOOR.lock().unwrap_or_else(PoisonError::into_inner))?;
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        IS_ENDING.store(false, Ordering::SeqCst);
    }
    (by != thread::current().id() && !left.is_zero()).then_some(left)
}

/// Closes the door, waits until nobody else is inside, and reports what they did. Called at the interpreter's end.
#[pyfunction]
#[pyo3(name = "settle_threads")]
pub fn settle(py: Python<'_>) {
    let now = Instant::now();
    close_until(now + PATIENCE + CLOSED);
    IS_ENDING.store(true, Ordering::SeqCst);
    HAS_BEGUN.store(true, Ordering::Relaxed);
    py.detach(|| {
        while is_anyone_inside() && now.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
        quotalock::reports::flush();
    });
    close_until(Instant::now() + CLOSED);
}

/// Keeps the door closed to all threads but this one.
fn close_until(until: Instant) {
    *DOOR.lock().unwrap_or_else(PoisonError::into_inner) = Some((thread::current().id(), until));
}
