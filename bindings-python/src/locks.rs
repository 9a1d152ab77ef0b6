//! The functions that make handles of locks: [`crate::lock_makers`] has their parameters.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use quotalock::LockOptions;

use crate::argument::{Word, kind, list, octets, shown, whole};
use crate::client::Client;
use crate::error::raised;
use crate::lock::Lock;
use crate::lock_options::LockArguments;

#[pymethods]
impl Client {
    /// Makes a handle of a lock that was handed over, and takes its lease over.
    #[pyo3(signature = (text, renew = true, name = None))]
    fn adopt(&self, py: Python<'_>, text: Word<'_>, renew: bool, name: Option<&Bound<'_, PyAny>>) -> PyResult<Lock> {
        Ok(self._adopt(py, text, renew, name)?.0)
    }

    /// As `adopt`, but the handle is apart from the answer, which on a loop is still a future.
    #[pyo3(signature = (text, renew = true, name = None))]
    fn _adopt(
        &self,
        py: Python<'_>,
        text: Word<'_>,
        renew: bool,
        name: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Lock, Py<PyAny>)> {
        let name = name.map(|name| octets("name", name.as_borrowed())).transpose()?;
        let adopted = self.core().adopt_named(&text.0, name, renew, None);
        let (core, adopting) = adopted.map_err(|error| raised(py, &error))?;
        let lock = Lock::adopted(py, core, self)?;
        let answer = self.carrier().make(py, Ok(adopting))?;
        Ok((lock, answer))
    }
}

/// Makes a handle for a mutex.
pub fn lock(client: &Client, name: &Bound<'_, PyAny>, given: LockArguments) -> PyResult<Lock> {
    made(client, one(name)?, given, |names, options, _| client.core().lock(names[0], options))
}

/// Makes a handle for several mutexes that are granted all or none.
pub fn lock_all(client: &Client, names: &Bound<'_, PyAny>, given: LockArguments) -> PyResult<Lock> {
    made(client, several(names)?, given, |names, options, _| client.core().lock_all(names, options))
}

/// Makes a handle for `weight` of a semaphore's `permits`.
pub fn semaphore(
    client: &Client,
    name: &Bound<'_, PyAny>,
    permits: &Bound<'_, PyAny>,
    given: LockArguments,
) -> PyResult<Lock> {
    let permits = whole("permits", permits.as_borrowed())?;
    made(client, one(name)?, given, |names, options, weight| {
        client.core().semaphore(names[0], permits, weight, options)
    })
}

/// Makes a handle for the reading side of a read-write lock.
pub fn read_lock(client: &Client, name: &Bound<'_, PyAny>, given: LockArguments) -> PyResult<Lock> {
    made(client, one(name)?, given, |names, options, _| client.core().read_lock(names[0], options))
}

/// Makes a handle for the writing side of a read-write lock.
pub fn write_lock(client: &Client, name: &Bound<'_, PyAny>, given: LockArguments) -> PyResult<Lock> {
    made(client, one(name)?, given, |names, options, _| client.core().write_lock(names[0], options))
}

/// Makes a handle for a mutex over several independent servers, one for each client: held if most of them granted it.
pub fn quorum_lock(clients: &Bound<'_, PyAny>, name: &Bound<'_, PyAny>, given: LockArguments) -> PyResult<Lock> {
    let clients = self::clients(clients)?;
    let cores: Vec<_> = clients.iter().map(|client| client.get().core().clone()).collect();
    // The core takes no fewer than three; the handle is one of the first.
    let first = || clients[0].get();
    Lock::new(first, one(name)?, given, |names, options, _| quotalock::Lock::quorum(&cores, names[0], options))
}

/// A handle of what was given; `make` makes the core's.
fn made(
    client: &Client,
    names: Bound<'_, PyTuple>,
    given: LockArguments,
    make: impl FnOnce(&[&[u8]], LockOptions, u64) -> quotalock::Result<quotalock::Lock>,
) -> PyResult<Lock> {
    Lock::new(|| client, names, given, make)
}

fn clients<'py>(clients: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, Client>>> {
    let advice = "give a list of clients, each of a server of its own";
    let refused = || PyTypeError::new_err(format!("clients {} is {}: {advice}", shown(clients), kind(clients)));
    let client = |(at, client): (usize, PyResult<Bound<'py, PyAny>>)| {
        let client = client?;
        let refused =
            |_| PyTypeError::new_err(format!("clients[{at}] {} is {}: {advice}", shown(&client), kind(&client)));
        client.clone().cast_into::<Client>().map_err(refused)
    };
    clients.try_iter().map_err(|_| refused())?.enumerate().map(client).collect()
}

/// The name of one lock.
fn one<'py>(name: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(name.py(), [name])
}

/// The names of several locks.
fn several<'py>(names: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(names.py(), list("names", names)?)
}
