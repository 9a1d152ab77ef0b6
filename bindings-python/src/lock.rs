//! The handle of a lock: one method per verb, each a call of the core.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use quotalock::{LockOptions, LockState, Op, convert};

use crate::argument::{self, Maybe, octets, seconds, shown, whole};
use crate::call::enter;
use crate::carrier::Carrier;
use crate::client::Client;
use crate::error::raised;
use crate::hook::Hook;
use crate::interruption::interruptibly;
use crate::lock_options::LockArguments;
use crate::loss::Loss;
use crate::unkept::warn;

/// A handle for a lock; made by `Client.lock` and its neighbours.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Lock {
    core: quotalock::Lock,
    carrier: Arc<Carrier>,
    /// The names as they were given: str or bytes.
    names: Py<PyTuple>,
    /// How long an acquisition waits that does not say.
    wait: Duration,
    /// What tells the loss of the grant with this token. No Python runs while it is locked.
    loss: Mutex<Option<(u64, Py<Loss>)>>,
    on_lost: Hook,
}

impl Lock {
    /// Makes a handle of what was given: `make` makes the core's, and if it does, it is one of `client`.
    pub fn new<'c>(
        client: impl FnOnce() -> &'c Client,
        names: Bound<'_, PyTuple>,
        LockArguments { options, wait, weight }: LockArguments,
        make: impl FnOnce(&[&[u8]], LockOptions, u64) -> quotalock::Result<quotalock::Lock>,
    ) -> PyResult<Lock> {
        let items: Vec<_> = names.iter().collect();
        let bytes = items.iter().map(|name| octets("name", name.as_borrowed())).collect::<PyResult<Vec<_>>>()?;
        let core = make(&bytes, options, weight).map_err(|error| raised(names.py(), &error))?;
        let client = client();
        let (carrier, on_lost) = (client.carrier().clone(), client.on_lost().clone_ref(names.py()));
        let wait = convert::duration(wait);
        Ok(Lock { core, carrier, names: names.unbind(), wait, loss: Mutex::default(), on_lost })
    }

    /// The handle of what was adopted. Names are str where they are UTF-8.
    pub fn adopted(py: Python<'_>, core: quotalock::Lock, client: &Client) -> PyResult<Lock> {
        let name = |name: &Vec<u8>| match std::str::from_utf8(name) {
            Ok(text) => PyString::new(py, text).into_any(),
            Err(_) => PyBytes::new(py, name).into_any(),
        };
        let names = PyTuple::new(py, core.names().iter().map(name))?.unbind();
        let (carrier, on_lost) = (client.carrier().clone(), client.on_lost().clone_ref(py));
        Ok(Lock { core, carrier, names, wait: Duration::ZERO, loss: Mutex::default(), on_lost })
    }

    /// Acquires on this thread. Whatever ends the call takes the grant with it.
    fn acquire_here(&self, py: Python<'_>, acquiring: Op<bool>, waits: bool) -> PyResult<bool> {
        let _inside = enter(py);
        let acquired = interruptibly(py, waits, move |interrupted| acquiring.run_among_threads(interrupted));
        // A signal that came with the grant would be told to the caller before it can know that it holds something.
        let acquired = acquired.and_then(|acquired| py.check_signals().map(|()| acquired));
        match acquired {
            Ok(acquired) => acquired.map_err(|error| raised(py, &error)),
            Err(error) => {
                self.core.abandon();
                Err(error)
            }
        }
    }

    /// Releases on this thread. What finds the lock gone is told as a loss.
    fn release_here(slf: &Bound<'_, Self>) -> PyResult<quotalock::Result<bool>> {
        let (py, this) = (slf.py(), slf.get());
        let asked = this.on_lost.is_set();
        let (was_lost, was_held) = (asked && this.core.take_loss(), asked && this.core.is_held());
        let releasing = this.core.release();
        let released = interruptibly(py, false, move |interrupted| releasing.run_among_threads(interrupted))?;
        if was_lost || (was_held && matches!(released, Ok(false))) {
            this.on_lost.lost(slf)?;
        }
        Ok(released)
    }

    /// What a look at the handle finds. It may notice a loss, which is told then.
    fn look<T>(slf: &Bound<'_, Self>, at: impl FnOnce(&quotalock::Lock) -> T) -> PyResult<T> {
        let this = slf.get();
        let found = at(&this.core);
        if this.on_lost.is_set() && this.core.take_loss() {
            this.on_lost.lost(slf)?;
        }
        Ok(found)
    }

    /// An attempt to acquire it, as a caller of `acquire` described it, and whether it waits.
    fn acquiring(&self, py: Python<'_>, given: Maybe<'_, '_>) -> PyResult<(Op<bool>, bool)> {
        let wait = argument::wait(given)?.unwrap_or(self.wait);
        Ok((self.core.acquire(wait).map_err(|error| raised(py, &error))?, !wait.is_zero()))
    }
}

#[pymethods]
impl Lock {
    /// The names as they were given.
    #[getter]
    fn names(&self, py: Python<'_>) -> Py<PyTuple> {
        self.names.clone_ref(py)
    }

    /// The Redis keys, one for each name.
    #[getter]
    fn redis_keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.redis_keys().iter().map(|key| PyBytes::new(py, key)))
    }

    /// The ttl in seconds.
    #[getter]
    fn ttl(&self) -> f64 {
        convert::seconds(self.core.ttl())
    }

    /// The fencing token of the grant; None if it was never acquired, or is released.
    #[getter]
    fn token(&self) -> Option<u64> {
        self.core.token()
    }

    /// What the handle knows: `released`, `held`, `uncertain` or `lost`.
    #[getter]
    fn state(slf: &Bound<'_, Self>) -> PyResult<&'static str> {
        Lock::look(slf, |lock| lock.state().as_str())
    }

    /// Whether it is held for certain now.
    #[getter]
    fn held(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Lock::look(slf, quotalock::Lock::is_held)
    }

    /// For how many seconds it is held for certain; 0 if it is not.
    #[getter]
    fn remaining(slf: &Bound<'_, Self>) -> PyResult<f64> {
        Lock::look(slf, |lock| convert::seconds(lock.remaining()))
    }

    /// Tells the loss of the present grant.
    #[getter]
    fn lost(slf: &Bound<'_, Self>) -> PyResult<Py<Loss>> {
        let (py, this) = (slf.py(), slf.get());
        let loss = || {
            // Looking at the handle notices a deadline that has passed; a loss alone shall not keep it.
            let lock = PyWeakrefReference::new(slf.as_any())?.unbind();
            let look = move |py: Python<'_>| {
                let lock = lock.bind(py).upgrade_as::<Lock>()?;
                lock.map_or(Ok(()), |lock| Lock::look(&lock, |_| ()))
            };
            Py::new(py, Loss::new(&this.core, Box::new(look), this.carrier.clone()))
        };
        let Some(token) = this.core.token() else { return loss() };
        let kept = |told: &Option<(u64, Py<Loss>)>| {
            told.as_ref().filter(|(of, _)| *of == token).map(|(_, loss)| loss.clone_ref(py))
        };
        if let Some(kept) = kept(&this.loss.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(kept);
        }
        let loss = loss()?;
        let told = Some((token, loss.clone_ref(py)));
        let before = std::mem::replace(&mut *this.loss.lock().unwrap_or_else(PoisonError::into_inner), told);
        drop(before);
        Ok(loss)
    }

    /// Acquires it, waiting for at most `wait` seconds: True if it is held now.
    #[pyo3(signature = (wait = None))]
    fn acquire(slf: &Bound<'_, Self>, wait: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        Lock::look(slf, |_| ())?;
        let (acquiring, waits) = this.acquiring(py, wait)?;
        if let Some(loops) = this.carrier.loops() {
            let _inside = enter(py);
            return loops.submit(py, acquiring.erased(), true);
        }
        Ok(this.acquire_here(py, acquiring, waits)?.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    /// Releases it: True if it was held until now.
    fn release(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let (py, this) = (slf.py(), slf.get());
        if let Some(loops) = this.carrier.loops() {
            let _inside = enter(py);
            return loops.submit(py, this.core.release().erased(), true);
        }
        let released = Lock::release_here(slf)?.map_err(|error| raised(py, &error))?;
        Ok(released.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    /// Extends the lease to at least `ttl` seconds (None: the lock's own) from now: False if it was lost.
    #[pyo3(signature = (ttl = None))]
    fn extend(slf: &Bound<'_, Self>, ttl: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        let this = slf.get();
        let ttl = ttl.map(|ttl| seconds("ttl", ttl.as_borrowed())).transpose()?;
        // May sleep in any case: other servers may be asked than the client's.
        let extended = this.carrier.make_napping(slf.py(), this.core.extend(ttl));
        Lock::look(slf, |_| extended)?
    }

    /// Writes the lease down as a text, by which another process adopts it, and ends this handle.
    fn handover(slf: &Bound<'_, Self>) -> PyResult<String> {
        Lock::look(slf, quotalock::Lock::handover)?.map_err(|error| raised(slf.py(), &error))
    }

    /// Raises `Lost` unless it is held for certain now.
    fn assert_held(slf: &Bound<'_, Self>) -> PyResult<()> {
        Lock::look(slf, quotalock::Lock::assert_held)?.map_err(|error| raised(slf.py(), &error))
    }

    /// Has every later token be larger than `floor`.
    fn raise_floor(&self, py: Python<'_>, floor: &Bound<'_, PyAny>) -> PyResult<()> {
        let floor = whole("floor", floor.as_borrowed())?;
        self.core.raise_floor(floor).map_err(|error| raised(py, &error))
    }

    /// Who holds it (of several names, the first), and how many wait for it.
    fn inspect(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, Ok(self.core.inspect()))
    }

    /// Takes the lock away from its holders, and answers how many there were.
    fn force_release(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make_napping(py, Ok(self.core.force_release()))
    }

    /// Ends an acquisition whose caller has gone, and gives back what it got.
    fn _abandon(&self) {
        self.core.abandon();
    }

    /// The exception for an acquisition that was not granted.
    fn _not_acquired<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        raised(py, &self.core.not_acquired()).into_value(py).into_bound(py).into_any()
    }

    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let (py, this) = (slf.py(), slf.get());
        Lock::look(&slf, |_| ())?;
        let (acquiring, waits) = this.acquiring(py, None)?;
        if this.acquire_here(py, acquiring, waits)? {
            return Ok(slf);
        }
        Err(raised(py, &this.core.not_acquired()))
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (py, core) = (slf.py(), &slf.get().core);
        let was_acquired = core.state() != LockState::Released;
        let known = core.assert_held();
        let released = Lock::release_here(slf)?;
        // What the body raised says more than what became of the lock.
        if !was_acquired || !kind.is_none() {
            return Ok(());
        }
        let kept = known.and_then(|()| if released? { Ok(()) } else { core.assert_held() });
        kept.map_err(|error| raised(py, &error))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.on_lost.traverse(&visit)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let names = self.names.bind(py).iter().map(|name| shown(&name)).collect::<Vec<_>>().join(", ");
        Ok(format!("<quotalock.Lock {names} {}>", self.core.state().as_str()))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(message) = self.core.let_go() {
            // Only Python drops it, so this thread is attached.
            Python::attach(|py| warn::<PyRuntimeWarning>(py, &message));
        }
    }
}
