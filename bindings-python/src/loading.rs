//! Getting values on this thread: what is there, or what the caller's function makes. What is next the core says.

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping};
use quotalock::driver::{LoadStep, Loading, Value};
use quotalock::{Got, Op, Part};

use crate::argument::{kind, octets, shown};
use crate::error::raised;
use crate::interruption::interruptibly;
use crate::seen::bytes;

/// What a function made: the bytes of a value; none is that there is none.
pub type Loaded = Option<Vec<u8>>;

/// The bytes of a `str`, as UTF-8, or of `bytes`; none for None.
pub fn value(what: &str, given: &Bound<'_, PyAny>) -> PyResult<Loaded> {
    if given.is_none() { Ok(None) } else { Ok(Some(octets(what, given.as_borrowed())?.to_vec())) }
}

/// Gets a value, or has `load` make it.
pub fn get(
    py: Python<'_>,
    getting: Op<Got>,
    load: impl Fn() -> PyResult<Loaded>,
) -> PyResult<Option<Bound<'_, PyBytes>>> {
    let values = run(py, getting.into(), |_| Ok(vec![load()?]))?;
    Ok(bytes(py, values.first().and_then(Option::as_ref)))
}

/// Gets several values, has `load` make a mapping of those that are missing, and returns a dict of all.
pub fn get_many<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyList>,
    looking: Op<Vec<Part>>,
    load: impl Fn(Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let values = run(py, looking.into(), |missing| {
        let missing = PyList::new(py, missing.iter().map(|at| keys.get_item(*at)).collect::<PyResult<Vec<_>>>()?)?;
        pick(&missing, &load(missing.clone())?)
    })?;
    let all = PyDict::new(py);
    for (key, value) in keys.iter().zip(&values) {
        all.set_item(key, bytes(py, value.as_ref()))?;
    }
    Ok(all)
}

/// Goes through a load: `make` makes values for those of the keys that are this caller's to load.
fn run(py: Python<'_>, mut loading: Loading, make: impl Fn(&[usize]) -> PyResult<Vec<Loaded>>) -> PyResult<Vec<Value>> {
    loop {
        let (calls, may_wait, failed) = match loading.next().map_err(|error| raised(py, &error))? {
            LoadStep::Done(values) => return Ok(values),
            LoadStep::Ask(calls) => (calls, true, None),
            LoadStep::Load(missing) => match make(&missing) {
                Ok(made) => (loading.loaded(made), false, None),
                Err(error) => (loading.failed(reason(py, &error).as_deref()), false, Some(error)),
            },
        };
        let done = interruptibly(py, may_wait, move |interrupted| {
            loading.run_among_threads(calls, interrupted);
            loading
        });
        // What went wrong in the function says more than what interrupted the telling of it.
        loading = failed.map_or(done, Err)?;
    }
}

/// What others get to know of why there is no value. What ends a program is nobody else's error.
fn reason(py: Python<'_>, error: &PyErr) -> Option<String> {
    let value = error.value(py);
    error.is_instance_of::<PyException>(py).then(|| {
        let text = value.str().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
        let class = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        format!("{class}: {text}")
    })
}

/// Takes the values of these keys out of what a loader returned; one that is not there has none.
fn pick(keys: &Bound<'_, PyList>, loaded: &Bound<'_, PyAny>) -> PyResult<Vec<Loaded>> {
    let refused = |_| {
        let advice = "return a dict of keys and values";
        PyTypeError::new_err(format!("the loaded value {} is {}: {advice}", shown(loaded), kind(loaded)))
    };
    let loaded = loaded.cast::<PyMapping>().map_err(refused)?;
    let one = |key: Bound<'_, PyAny>| {
        if loaded.contains(&key)? { value("the loaded value", &loaded.get_item(key)?) } else { Ok(None) }
    };
    keys.iter().map(one).collect()
}
