//! The loss of one grant of a lock, as an event.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use quotalock::driver::Sink;
use quotalock::{Answer, convert, generation};

use crate::argument::{Maybe, seconds};
use crate::carrier::Carrier;

/// Signal handlers run this late at most.
const SLICE: Duration = Duration::from_millis(50);

/// Tells the loss of the grant that the lock had when this was asked for; see `Lock.lost`. As a bool, whether it is lost.
#[pyclass(frozen, module = "quotalock")]
pub struct Loss {
    told: Arc<Told>,
    look: Look,
    carrier: Arc<Carrier>,
    generation: u64,
}

/// Tells the handle of a deadline that has passed, if the handle is still there.
pub type Look = Box<dyn Fn(Python<'_>) -> PyResult<()> + Send + Sync>;

/// How the grant ended. Told by any thread, which never touches Python.
#[derive(Default)]
struct Told {
    end: Mutex<End>,
    came: Condvar,
}

#[derive(Default)]
struct End {
    /// Whether it was lost; none until it has ended.
    lost: Option<bool>,
    /// The loops that await it.
    loops: Vec<(u64, Arc<dyn Sink>)>,
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, lost: bool) {
        let mut end = self.lock();
        if end.lost.is_some() {
            return;
        }
        end.lost = Some(lost);
        let loops = std::mem::take(&mut end.loops);
        drop(end);
        self.came.notify_all();
        loops.into_iter().for_each(|(id, sink)| sink.complete(vec![(id, Ok(Answer::new(lost)))]));
    }

    /// How it ended, if it has by this time.
    fn wait(&self, until: Instant) -> Option<bool> {
        let mut end = self.lock();
        while end.lost.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            end = self.came.wait_timeout(end, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        end.lost
    }
}

/// What a grant has for the time of its life. It goes when the grant ends, lost or not.
struct LossNotifier(Arc<Told>);

impl Drop for LossNotifier {
    fn drop(&mut self) {
        self.0.tell(false);
    }
}

impl Loss {
    /// Listens to the present grant of a handle.
    pub fn new(lock: &quotalock::Lock, look: Look, carrier: Arc<Carrier>) -> Loss {
        let told = Arc::new(Told::default());
        let teller = LossNotifier(told.clone());
        lock.on_loss(Box::new(move || teller.0.tell(true)));
        Loss { told, look, carrier, generation: generation() }
    }

    /// Whether a fork lies between: the child does not hold what its parent holds, and must not touch what was made there.
    fn is_foreign(&self) -> bool {
        self.generation != generation()
    }
}

#[pymethods]
impl Loss {
    /// Whether it is lost.
    fn is_set(&self, py: Python<'_>) -> PyResult<bool> {
        if self.is_foreign() {
            return Ok(true);
        }
        (self.look)(py)?;
        Ok(self.told.lock().lost == Some(true))
    }

    /// Waits for at most `timeout` seconds (None: for ever) until it is lost: True if it is; False if the time is over, or
    /// the lock was released.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Maybe<'_, '_>) -> PyResult<bool> {
        let timeout = timeout.map(|timeout| seconds("timeout", timeout.as_borrowed())).transpose()?;
        let until = timeout.map(|timeout| Instant::now() + convert::duration(timeout));
        loop {
            if self.is_set(py)? {
                return Ok(true);
            }
            let slice = Instant::now() + SLICE;
            let slice = until.map_or(slice, |until| until.min(slice));
            if let Some(lost) = py.detach(|| self.told.wait(slice)) {
                return Ok(lost);
            }
            py.check_signals()?;
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(false);
            }
        }
    }

    /// A future of the running loop for how the grant ends: True if it was lost.
    fn _future(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let tell = |id, sink: &Arc<dyn Sink>| {
            let mut end = self.told.lock();
            match end.lost {
                Some(lost) => sink.complete(vec![(id, Ok(Answer::new(lost)))]),
                None => end.loops.push((id, sink.clone())),
            }
        };
        self.carrier.loops().map(|loops| loops.expect(py, tell)).transpose()
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.is_set(py)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<quotalock.Loss {}>", if self.is_set(py)? { "set" } else { "unset" }))
    }
}
