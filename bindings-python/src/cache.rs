//! A cache: one method per verb, each a call of the core.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use quotalock::{CacheOptions, Getting, GettingMany, WhenAway};

use crate::argument::{Key, function, kind, octets, seconds, shown};
use crate::call::call;
use crate::client::Client;
use crate::ending::enter;
use crate::error::{invalid, raised};
use crate::loading::{self, patience, shown_value, value};
use crate::lock_options::Maybe;

/// The options as they were given.
pub struct Given<'a, 'py> {
    pub fresh: Maybe<'a, 'py>,
    pub stale: Maybe<'a, 'py>,
    pub lease: Maybe<'a, 'py>,
    pub negative: Maybe<'a, 'py>,
    pub errors: Maybe<'a, 'py>,
    pub beta: Maybe<'a, 'py>,
    pub when_away: &'a str,
}

impl Given<'_, '_> {
    fn read(self, py: Python<'_>) -> PyResult<CacheOptions> {
        let mut options = CacheOptions::default();
        let durations = [
            ("fresh", self.fresh, &mut options.fresh),
            ("stale", self.stale, &mut options.stale),
            ("lease", self.lease, &mut options.lease),
            ("errors", self.errors, &mut options.errors),
        ];
        for (name, given, option) in durations {
            *option = given.map_or(Ok(*option), |given| seconds(name, given.as_borrowed()))?;
        }
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
    client: Py<Client>,
    name: String,
}

impl Cache {
    /// Makes a cache of what `Client.cache` was given.
    pub fn new(client: &Bound<'_, Client>, name: &str, given: Given<'_, '_>) -> PyResult<Cache> {
        let py = client.py();
        let core = client.get().core().cache(name, given.read(py)?).map_err(|error| raised(py, &error))?;
        Ok(Cache { core, client: client.clone().unbind(), name: name.to_owned() })
    }

    fn getting(&self, py: Python<'_>, key: &Key<'_>, wait: Maybe<'_, '_>) -> PyResult<Getting> {
        self.core.get(key.0, patience(wait)?).map_err(|error| raised(py, &error))
    }

    fn looking(&self, keys: &Bound<'_, PyList>, wait: Maybe<'_, '_>) -> PyResult<GettingMany> {
        let items: Vec<_> = keys.iter().collect();
        let octets = items.iter().map(|key| octets("key", key.as_borrowed())).collect::<PyResult<Vec<_>>>()?;
        self.core.get_many(&octets, patience(wait)?).map_err(|error| raised(keys.py(), &error))
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
    fn get(
        &self,
        py: Python<'_>,
        key: Key<'_>,
        load: &Bound<'_, PyAny>,
        wait: Maybe<'_, '_>,
    ) -> PyResult<Option<Py<PyBytes>>> {
        let _inside = enter(py);
        function("load", load)?;
        let getting = self.getting(py, &key, wait)?;
        let load = || Ok(value("the loaded value", &call(load, [])?)?.map(<[u8]>::to_vec));
        Ok(shown_value(py, &loading::get(py, getting, load)?))
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
        let keys = several(keys)?;
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
        let _inside = enter(py);
        static ENCODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static DECODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let _inside = enter(py);
        function("load", load)?;
        let getting = self.getting(py, &key, wait)?;
        let load = || {
            let encoded = call(ENCODE.import(py, "quotalock._json", "encode")?, [&call(load, [])?])?;
            Ok(value("the loaded value", &encoded)?.map(<[u8]>::to_vec))
        };
        let found = shown_value(py, &loading::get(py, getting, load)?).into_pyobject(py)?;
        Ok(call(DECODE.import(py, "quotalock._json", "decode")?, [&found])?.unbind())
    }

    /// What is there, fresh or stale, without loading or waiting; None if there is nothing.
    fn peek(&self, py: Python<'_>, key: Key<'_>) -> PyResult<Py<PyAny>> {
        self.client.get().carrier().make(py, self.core.peek(key.0))
    }

    /// Stores a value; None is that there is none.
    fn put(&self, py: Python<'_>, key: Key<'_>, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let value = loading::value("value", value)?.map(<[u8]>::to_vec);
        self.client.get().carrier().make(py, self.core.put(key.0, value))
    }

    /// Forgets a key: True if there was anything.
    fn invalidate(&self, py: Python<'_>, key: Key<'_>) -> PyResult<Py<PyAny>> {
        self.client.get().carrier().make(py, self.core.invalidate(key.0))
    }

    /// The Redis key of a key.
    fn redis_key<'py>(&self, py: Python<'py>, key: Key<'_>) -> PyResult<Bound<'py, PyBytes>> {
        let redis_key = self.core.redis_key(key.0).map_err(|error| raised(py, &error))?;
        Ok(PyBytes::new(py, &redis_key))
    }

    /// A future for the value, or a ticket to make it.
    fn _get(&self, py: Python<'_>, key: Key<'_>, wait: Maybe<'_, '_>) -> PyResult<Py<PyAny>> {
        self.client.get().looped(py)?.get(py, self.getting(py, &key, wait)?)
    }

    /// The keys, and a future for what is known of each: a value, None, a ticket, an exception or a wait.
    fn _get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        wait: Maybe<'_, 'py>,
    ) -> PyResult<(Bound<'py, PyList>, Py<PyAny>)> {
        let keys = several(keys)?;
        let future = self.client.get().looped(py)?.get_many(py, self.looking(&keys, wait)?)?;
        Ok((keys, future))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<quotalock.Cache {}>", shown(PyString::new(py, &self.name).as_any()))
    }
}

/// A list of keys, which are no text.
fn several<'py>(keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let refused = || {
        let advice = "give a list of str or bytes";
        PyTypeError::new_err(format!("keys {} is {}: {advice}", shown(keys), kind(keys)))
    };
    if keys.is_instance_of::<PyString>() || keys.is_instance_of::<PyBytes>() {
        return Err(refused());
    }
    PyList::new(keys.py(), keys.try_iter().map_err(|_| refused())?.collect::<PyResult<Vec<_>>>()?)
}
