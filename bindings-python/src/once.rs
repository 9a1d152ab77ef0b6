//! What is done once for each id: one method per verb, each a call of the core.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use quotalock::{Got, OnceOptions, Op};

use crate::argument::{self, Maybe, Name, durations, octets, shown};
use crate::call::{call, enter};
use crate::carrier::Carrier;
use crate::client::Client;
use crate::error::raised;
use crate::loading::{self, value};
use crate::loop_loading::Loading;

/// What is done once for each id; made by `Client.once`.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Once {
    core: quotalock::Once,
    carrier: Arc<Carrier>,
    name: String,
}

impl Once {
    fn beginning(&self, id: &Bound<'_, PyAny>, wait: Maybe<'_, '_>) -> PyResult<Op<Got>> {
        let py = id.py();
        let id = octets("id", id.as_borrowed())?;
        self.core.begin(id, argument::wait(wait)?).map_err(|error| raised(py, &error))
    }
}

#[pymethods]
impl Client {
    /// Makes what is done once for each id.
    #[pyo3(signature = (name, ttl = None, lease = None, error_ttl = None),
           text_signature = "($self, name, ttl=86400.0, lease=10.0, error_ttl=0.0)")]
    fn once(
        &self,
        py: Python<'_>,
        name: Name<'_>,
        ttl: Maybe<'_, '_>,
        lease: Maybe<'_, '_>,
        error_ttl: Maybe<'_, '_>,
    ) -> PyResult<Once> {
        let mut options = OnceOptions::default();
        durations([
            ("ttl", ttl, &mut options.ttl),
            ("lease", lease, &mut options.lease),
            ("error_ttl", error_ttl, &mut options.error_ttl),
        ])?;
        let core = self.core().once(name.0, options).map_err(|error| raised(py, &error))?;
        Ok(Once { core, carrier: self.carrier().clone(), name: name.0.to_owned() })
    }
}

#[pymethods]
impl Once {
    /// The name given.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Claims an id: whether this caller is the first, and what the first gave.
    #[pyo3(signature = (id, value = None))]
    fn claim(&self, py: Python<'_>, id: &Bound<'_, PyAny>, value: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        let value = value.map(|value| octets("value", value.as_borrowed()).map(<[u8]>::to_vec)).transpose()?;
        self.carrier.make(py, self.core.claim(octets("id", id.as_borrowed())?, value))
    }

    /// Removes an id, even one that another caller claimed: True if it was stored.
    fn release(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.release(octets("id", id.as_borrowed())?))
    }

    /// What `function()` returned for this id, which runs if it did not yet.
    #[pyo3(signature = (id, function, wait = None), text_signature = "($self, id, function, wait=None)")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'_, PyAny>,
        function: &Bound<'_, PyAny>,
        wait: Maybe<'_, '_>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let _inside = enter(py);
        argument::function("function", function)?;
        loading::get(py, self.beginning(id, wait)?, || value("the result", &call(function, [])?))
    }

    /// The Redis key of an id.
    fn redis_key<'py>(&self, py: Python<'py>, id: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let redis_key = self.core.redis_key(octets("id", id.as_borrowed())?).map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &redis_key))
    }

    /// A load of the result, for a loop.
    fn _begin(&self, id: &Bound<'_, PyAny>, wait: Maybe<'_, '_>) -> PyResult<Loading> {
        self.beginning(id, wait).map(Loading::new)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<quotalock.Once {}>", shown(PyString::new(py, &self.name).as_any()))
    }
}
