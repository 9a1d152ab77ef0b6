//! The functions that make handles of locks. Written from api/surface.toml by `python3 tools/api`.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::client::Client;
use crate::lock::Lock;
use crate::lock_options::{LockArguments, Maker, Named, flag, seconds, text, whole};
use crate::locks;

impl LockArguments {
    /// Reads the option of this name.
    pub fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "weight" => whole(name, value, &mut self.weight),
            "ttl" => seconds(name, value, &mut self.options.ttl),
            "wait" => seconds(name, value, &mut self.wait),
            "fair" => flag(name, value, &mut self.options.fair),
            "renew" => flag(name, value, &mut self.options.renew),
            "max_hold" => seconds(name, value, &mut self.options.max_hold),
            "token_above" => whole(name, value, &mut self.options.token_above),
            "label" => text(name, value, &mut self.options.label),
            "replicas_ack" => whole(name, value, &mut self.options.replicas_ack),
            "ack_timeout" => seconds(name, value, &mut self.options.ack_timeout),
            _ => Ok(()),
        }
    }
}

#[pymethods]
impl Client {
    /// Makes a handle for a mutex.
    #[pyo3(signature = (name, *given, **named),
           text_signature = "($self, name, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, token_above=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    fn lock(
        &self, name: &Bound<'_, PyAny>, given: &Bound<'_, PyTuple>, named: Option<Named>
    ) -> PyResult<Lock> {
        let maker = Maker("Client.lock", 1, &[
            "ttl", "wait", "fair", "renew", "max_hold", "token_above", "label", "replicas_ack", "ack_timeout"
        ]);
        locks::lock(self, name, maker.read(given, named)?)
    }

    /// Makes a handle for several mutexes.
    #[pyo3(signature = (names, *given, **named),
           text_signature = "($self, names, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, token_above=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    fn lock_all(
        &self, names: &Bound<'_, PyAny>, given: &Bound<'_, PyTuple>, named: Option<Named>
    ) -> PyResult<Lock> {
        let maker = Maker("Client.lock_all", 1, &[
            "ttl", "wait", "fair", "renew", "max_hold", "token_above", "label", "replicas_ack", "ack_timeout"
        ]);
        locks::lock_all(self, names, maker.read(given, named)?)
    }

    /// Makes a handle for a semaphore that has `permits` permits.
    #[pyo3(signature = (name, permits, *given, **named),
           text_signature = "($self, name, permits, weight=1, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, token_above=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    fn semaphore(
        &self, name: &Bound<'_, PyAny>, permits: &Bound<'_, PyAny>, given: &Bound<'_, PyTuple>,
        named: Option<Named>
    ) -> PyResult<Lock> {
        let maker = Maker("Client.semaphore", 2, &[
            "weight", "ttl", "wait", "fair", "renew", "max_hold", "token_above", "label", "replicas_ack",
            "ack_timeout"
        ]);
        locks::semaphore(self, name, permits, maker.read(given, named)?)
    }

    /// Makes a handle for reading under a read-write lock.
    #[pyo3(signature = (name, *given, **named),
           text_signature = "($self, name, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, token_above=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    fn read_lock(
        &self, name: &Bound<'_, PyAny>, given: &Bound<'_, PyTuple>, named: Option<Named>
    ) -> PyResult<Lock> {
        let maker = Maker("Client.read_lock", 1, &[
            "ttl", "wait", "fair", "renew", "max_hold", "token_above", "label", "replicas_ack", "ack_timeout"
        ]);
        locks::read_lock(self, name, maker.read(given, named)?)
    }

    /// Makes a handle for writing under a read-write lock.
    #[pyo3(signature = (name, *given, **named),
           text_signature = "($self, name, ttl=30.0, wait=0.0, fair=False, renew=True, max_hold=3600.0, token_above=0, label='', replicas_ack=0, ack_timeout=0.1)")]
    fn write_lock(
        &self, name: &Bound<'_, PyAny>, given: &Bound<'_, PyTuple>, named: Option<Named>
    ) -> PyResult<Lock> {
        let maker = Maker("Client.write_lock", 1, &[
            "ttl", "wait", "fair", "renew", "max_hold", "token_above", "label", "replicas_ack", "ack_timeout"
        ]);
        locks::write_lock(self, name, maker.read(given, named)?)
    }
}

/// Makes a handle for a quorum lock.
#[pyfunction]
#[pyo3(signature = (clients, name, *given, **named),
       text_signature = "(clients, name, ttl=30.0, wait=0.0, renew=True, max_hold=3600.0, token_above=0, label='')")]
pub fn quorum_lock(
    clients: &Bound<'_, PyAny>, name: &Bound<'_, PyAny>, given: &Bound<'_, PyTuple>, named: Option<Named>
) -> PyResult<Lock> {
    let maker = Maker("quorum_lock", 2, &["ttl", "wait", "renew", "max_hold", "token_above", "label"]);
    locks::quorum_lock(clients, name, maker.read(given, named)?)
}
