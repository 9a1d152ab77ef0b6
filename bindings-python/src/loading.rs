//! Getting a value on this thread: what is there, or what the caller's function makes, which is stored.

use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyMapping};
use quotalock::{Getting, GettingMany, Got, Part, Seen, Ticket, convert, generation};

use crate::argument::{kind, octets, seconds, shown};
use crate::carrier::interruptibly;
use crate::error::raised;
use crate::lock_options::Maybe;
use crate::seen::bytes;

/// A value; none is that there is none.
type Value = Option<Arc<Vec<u8>>>;

/// The bytes of a `str`, as UTF-8, or of `bytes`; none for None.
pub fn value<'a>(what: &str, given: &'a Bound<'_, PyAny>) -> PyResult<Option<&'a [u8]>> {
    if given.is_none() { Ok(None) } else { octets(what, given.as_borrowed()).map(Some) }
}

/// How long a caller waits for another who loads; the core knows, if nobody says.
pub fn patience(given: Maybe<'_, '_>) -> PyResult<Option<Duration>> {
    given.map(|given| seconds("wait", given.as_borrowed()).map(convert::duration)).transpose()
}

/// Gets a value, or has `load` make it.
pub fn get(py: Python<'_>, getting: Getting, load: impl FnOnce() -> PyResult<Loaded>) -> PyResult<Value> {
    match interruptibly(py, |interrupted| getting.run_among_threads(interrupted))? {
        Ok(Got::Found(Seen { value, .. })) => Ok(value),
        Ok(Got::Load(ticket)) => make(py, &ticket, load),
        Err(error) => Err(raised(py, &error)),
    }
}

/// What a function made: the bytes of a value.
pub type Loaded = Option<Vec<u8>>;

/// Has `load` make a value, and stores it.
fn make(py: Python<'_>, ticket: &Ticket, load: impl FnOnce() -> PyResult<Loaded>) -> PyResult<Value> {
    let here = generation();
    let loaded = load().inspect_err(|error| fail(py, here, std::slice::from_ref(ticket), error))?;
    store(py, vec![(ticket.clone(), loaded.clone())])?;
    Ok(loaded.map(Arc::new))
}

fn store(py: Python<'_>, loaded: Vec<(Ticket, Loaded)>) -> PyResult<()> {
    interruptibly(py, |interrupted| Ticket::fill_all(loaded, interrupted))?.map_err(|error| raised(py, &error))
}

/// Tells that a load came to nothing, and why. What ends a program is nobody else's error; a child that was forked while
/// it loaded has nothing to tell.
fn fail(py: Python<'_>, here: u64, tickets: &[Ticket], error: &PyErr) {
    if here != generation() {
        return;
    }
    let value = error.value(py);
    let text = error.is_instance_of::<PyException>(py).then(|| {
        let text = value.str().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
        let class = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
        format!("{class}: {text}")
    });
    // What went wrong says more than that nobody could be told of it.
    let _ = interruptibly(py, |interrupted| {
        Ticket::fail_all(tickets, text.as_deref(), interrupted);
        Ok(())
    });
}

/// Gets several values, has `load` make a mapping of those that are missing, and returns a dict of all.
pub fn get_many<'py>(
    py: Python<'py>,
    keys: &Bound<'py, PyList>,
    mut looking: GettingMany,
    load: impl Fn(Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let look = looking.ask();
    let answer = interruptibly(py, |interrupted| look.run_interruptibly(interrupted))?;
    let parts = looking.after(answer).map_err(|error| raised(py, &error))?;
    let mut values: Vec<Value> = vec![None; parts.len()];
    let (mut tickets, mut waits, mut failed) = (Vec::new(), Vec::new(), None);
    for (at, part) in parts.into_iter().enumerate() {
        match part {
            Part::Got(Got::Found(seen)) => values[at] = seen.value,
            Part::Got(Got::Load(ticket)) => tickets.push((at, ticket)),
            Part::Failed(error) => failed = Some(error),
            Part::Waits(getting) => waits.push((at, getting)),
        }
    }
    if !tickets.is_empty() {
        let missing = PyList::new(py, tickets.iter().map(|(at, _)| keys.get_item(*at)).collect::<PyResult<Vec<_>>>()?)?;
        let here = generation();
        let (places, tickets): (Vec<usize>, Vec<Ticket>) = tickets.into_iter().unzip();
        let told = |error: &PyErr| fail(py, here, &tickets, error);
        let loaded = load(missing.clone()).and_then(|loaded| pick(&missing, &loaded)).inspect_err(told)?;
        for (at, loaded) in places.into_iter().zip(&loaded) {
            values[at] = loaded.clone().map(Arc::new);
        }
        store(py, tickets.into_iter().zip(loaded).collect())?;
    }
    if let Some(error) = failed {
        return Err(raised(py, &error));
    }
    // Nobody who holds a lease waits for another here.
    for (at, getting) in waits {
        let missing = PyList::new(py, [keys.get_item(at)?])?;
        let one = || Ok(pick(&missing, &load(missing.clone())?)?.pop().flatten());
        values[at] = get(py, getting, one)?;
    }
    let all = PyDict::new(py);
    for (key, value) in keys.iter().zip(&values) {
        all.set_item(key, bytes(py, value.as_ref()))?;
    }
    Ok(all)
}

/// Takes the values of these keys out of what a loader returned; one that is not there has none.
fn pick(keys: &Bound<'_, PyList>, loaded: &Bound<'_, PyAny>) -> PyResult<Vec<Loaded>> {
    let refused = |_| {
        let advice = "return a dict of keys and values";
        PyTypeError::new_err(format!("the loaded value {} is {}: {advice}", shown(loaded), kind(loaded)))
    };
    let loaded = loaded.cast::<PyMapping>().map_err(refused)?;
    let one = |key: Bound<'_, PyAny>| {
        if !loaded.contains(&key)? {
            return Ok(None);
        }
        Ok(value("the loaded value", &loaded.get_item(key)?)?.map(<[u8]>::to_vec))
    };
    keys.iter().map(one).collect()
}

/// A value for the caller.
pub fn shown_value(py: Python<'_>, value: &Value) -> Option<Py<PyBytes>> {
    bytes(py, value.as_ref()).map(Bound::unbind)
}
