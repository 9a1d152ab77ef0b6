//! `quotalock.testing`: a time of one's own, and raw values under the limiter's keys.

use pyo3::prelude::*;
use quotalock::testing::{self, TestValueKind};

use crate::argument::{Key, Word, whole};
use crate::client::Client;
use crate::error::raised;

/// Sets the time, in microseconds since the epoch, at which every later call of this client is decided; None goes back
/// to the server's clock.
#[pyfunction]
pub fn set_time(client: &Client, micros: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<()> {
    let micros = micros.map(|given| whole("time", given.as_borrowed())).transpose()?;
    testing::set_time(client.core(), micros).map_err(|error| raised(py, &error))
}

/// Replaces what stands at a raw Redis key: `string` puts the value without a TTL, `list` a list of another program,
/// `persist` takes away the TTL of what is there.
#[pyfunction]
pub fn put(py: Python<'_>, client: &Client, redis_key: Key<'_>, kind: Word<'_>, value: Key<'_>) -> PyResult<Py<PyAny>> {
    let kind = TestValueKind::parse(&kind.0).map_err(|error| raised(py, &error))?;
    client.carrier().make(py, Ok(testing::put(client.core(), &redis_key.0, kind, &value.0)))
}

/// Reads what stands at a raw Redis key: `(value, ttl_ms)`, the second None without a TTL; None if there is no key.
#[pyfunction]
pub fn get(py: Python<'_>, client: &Client, redis_key: Key<'_>) -> PyResult<Py<PyAny>> {
    client.carrier().make(py, Ok(testing::get(client.core(), &redis_key.0)))
}
