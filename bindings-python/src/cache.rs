//! A cache: one method per verb, each a call of the core.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use quotalock::{CacheOptions, Got, Op, Part, WhenAway};

use crate::argument::{self, Key, Maybe, Name, Word, durations, function, kind, list, octets, seconds, shown};
use crate::call::{call, enter};
use crate::carrier::Carrier;
use crate::client::Client;
use crate::error::raised;
use crate::exception::invalid;
use crate::loading::{self, value};
use crate::loop_loading::Loading;

/// The options as they were given.
struct CacheArguments<'a, 'py> {
    fresh: Maybe<'a, 'py>,
    stale: Maybe<'a, 'py>,
    lease: Maybe<'a, 'py>,
    negative: Maybe<'a, 'py>,
    error_ttl: Maybe<'a, 'py>,
    beta: Maybe<'a, 'py>,
    when_away: &'a str,
}

impl CacheArguments<'_, '_> {
    fn read(self, py: Python<'_>) -> PyResult<CacheOptions> {
        let mut options = CacheOptions::default();
        durations([
            ("fresh", self.fresh, &mut options.fresh),
            ("stale", self.stale, &mut options.stale),
            ("lease", self.lease, &mut options.lease),
            ("error_ttl", self.error_ttl, &mut options.error_ttl),
        ])?;
        options.negative = self.negative.map(|given| seconds("negative", given.as_borrowed())).transpose()?;
        if let Some(given) = self.beta {
            if !given.is_instance_of::<PyFloat>() && !given.is_exact_instance_of::<PyInt>() {
                return Err(invalid(py, format!("beta {} is {}: give a float", shown(given), kind(given))));
            }
            options.beta = given.extract().unwrap_or(f64::INFINITY);
        }
        options.when_away = WhenAway::parse(self.when_away).map_err(|error| raised(py, &error))?;
        Ok(options)
    }
}

/// A cache that never stampedes; made by `Client.cache`.
#[pyclass(frozen, weakref, module = "quotalock")]
pub struct Cache {
    core: quotalock::Cache,
    carrier: Arc<Carrier>,
    name: String,
}

impl Cache {
    fn getting(&self, py: Python<'_>, key: &Key<'_>, wait: Maybe<'_, '_>) -> PyResult<Op<Got>> {
        self.core.get(&key.0, argument::wait(wait)?).map_err(|error| raised(py, &error))
    }

    fn looking(&self, keys: &Bound<'_, PyList>, wait: Maybe<'_, '_>) -> PyResult<Op<Vec<Part>>> {
        let items: Vec<_> = keys.iter().map(argument::key).collect();
        let octets = items.iter().map(|key| octets("key", key.as_borrowed())).collect::<PyResult<Vec<_>>>()?;
        self.core.get_many(&octets, argument::wait(wait)?).map_err(|error| raised(keys.py(), &error))
    }
}

#[pymethods]
impl Client {
    /// Makes a cache.
    #[pyo3(signature = (name, fresh = None, stale = None, lease = None, negative = None, error_ttl = None, beta = None,
                        when_away = Word("raise".into())),
           text_signature = "($self, name, fresh=60.0, stale=0.0, lease=10.0, negative=None, error_ttl=1.0, beta=1.0, when_away='raise')")]
    #[expect(clippy::too_many_arguments)]
    fn cache(
        &self,
        py: Python<'_>,
        name: Name<'_>,
        fresh: Maybe<'_, '_>,
        stale: Maybe<'_, '_>,
        lease: Maybe<'_, '_>,
        negative: Maybe<'_, '_>,
        error_ttl: Maybe<'_, '_>,
        beta: Maybe<'_, '_>,
        when_away: Word<'_>,
    ) -> PyResult<Cache> {
        let given = CacheArguments { fresh, stale, lease, negative, error_ttl, beta, when_away: &when_away.0 };
        let core = self.core().cache(name.0, given.read(py)?).map_err(|error| raised(py, &error))?;
        Ok(Cache { core, carrier: self.carrier().clone(), name: name.0.to_owned() })
    }
}

#[pymethods]
impl Cache {
    /// The name given.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The value of a key, or what `load()` makes of it.
    #[pyo3(signature = (key, load, wait = None), text_signature = "($self, key, load, wait=None)")]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Key<'_>,
        load: &Bound<'_, PyAny>,
        wait: Maybe<'_, '_>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let _inside = enter(py);
        function("load", load)?;
        loading::get(py, self.getting(py, &key, wait)?, || value("the loaded value", &call(load, [])?))
    }

    /// The values of several keys; `load(missing)` makes a mapping of those that are not there.
    #[pyo3(signature = (keys, load, wait = None), text_signature = "($self, keys, load, wait=None)")]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        load: &Bound<'py, PyAny>,
        wait: Maybe<'_, 'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let _inside = enter(py);
        function("load", load)?;
        let keys = PyList::new(py, list("keys", keys)?)?;
        let looking = self.looking(&keys, wait)?;
        loading::get_many(py, &keys, looking, |missing| call(load, [missing.as_any()]))
    }

    /// As `get`, of a value that is stored as JSON.
    #[pyo3(signature = (key, load, wait = None), text_signature = "($self, key, load, wait=None)")]
    fn get_json(
        &self,
        py: Python<'_>,
        key: Key<'_>,
        load: &Bound<'_, PyAny>,
        wait: Maybe<'_, '_>,
    ) -> PyResult<Py<PyAny>> {
        static ENCODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static DECODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let _inside = enter(py);
        function("load", load)?;
        let getting = self.getting(py, &key, wait)?;
        let encoded = || call(ENCODE.import(py, "quotalock._json", "encode")?, [&call(load, [])?]);
        let found = loading::get(py, getting, || value("the loaded value", &encoded()?))?.into_pyobject(py)?;
        Ok(call(DECODE.import(py, "quotalock._json", "decode")?, [&found])?.unbind())
    }

    /// What is there, fresh or stale, without loading or waiting; None if there is nothing.
    fn peek(&self, py: Python<'_>, key: Key<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.peek(&key.0))
    }

    /// Stores a value; None is that there is none.
    fn put(&self, py: Python<'_>, key: Key<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let value = loading::value("value", value)?;
        self.carrier.make(py, self.core.put(&key.0, value))
    }

    /// Forgets a key: True if there was anything.
    fn invalidate(&self, py: Python<'_>, key: Key<'_>) -> PyResult<Py<PyAny>> {
        self.carrier.make(py, self.core.invalidate(&key.0))
    }

    /// The Redis key of a key.
    fn redis_key<'py>(&self, py: Python<'py>, key: Key<'_>) -> PyResult<Bound<'py, PyBytes>> {
        let redis_key = self.core.redis_key(&key.0).map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &redis_key))
    }

    /// A load of the value, for a loop.
    fn _get(&self, py: Python<'_>, key: Key<'_>, wait: Maybe<'_, '_>) -> PyResult<Loading> {
        self.getting(py, &key, wait).map(Loading::new)
    }

    /// The keys, and a load of their values, for a loop.
    fn _get_many<'py>(
        &self,
        keys: &Bound<'py, PyAny>,
        wait: Maybe<'_, 'py>,
    ) -> PyResult<(Bound<'py, PyList>, Loading)> {
        let keys = PyList::new(keys.py(), list("keys", keys)?)?;
        let looking = self.looking(&keys, wait)?;
        Ok((keys, Loading::new(looking)))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<quotalock.Cache {}>", shown(PyString::new(py, &self.name).as_any()))
    }
}
