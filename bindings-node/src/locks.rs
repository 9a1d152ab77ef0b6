//! The locks of all kinds, and how their options are read: [`crate::lock_makers`] has the options.

use napi::bindgen_prelude::{BufferSlice, ClassInstance};
use quotalock::{LockOptions, Result, convert};

use crate::client::Client;
use crate::lock::Lock;

/// Makes a handle for a lock of this kind, with `weight` of its `permits`.
pub fn made(
    kind: &str,
    clients: &[ClassInstance<Client>],
    names: &[BufferSlice],
    (permits, weight): (f64, Option<f64>),
    options: LockOptions,
) -> Result<Lock> {
    let clients: Vec<_> = clients.iter().map(|client| quotalock::Client::clone(&client.inner)).collect();
    let names: Vec<&[u8]> = names.iter().map(AsRef::as_ref).collect();
    let first = names.first().copied().unwrap_or_default();
    let inner = match (kind, clients.as_slice()) {
        ("semaphore", [client]) => {
            let (permits, weight) = (
                convert::unsigned_float("permits", permits)?,
                convert::unsigned_float("weight", weight.unwrap_or(1.0))?,
            );
            client.semaphore(first, permits, weight, options)
        }
        ("read", [client]) => client.read_lock(first, options),
        ("write", [client]) => client.write_lock(first, options),
        ("lock", [client]) => client.lock_all(&names, options),
        _ => quotalock::Lock::quorum(&clients, first, options),
    };
    Ok(Lock { inner: inner? })
}

/// Reads a duration into an option, which keeps its default if none is given.
pub fn time(what: &str, given: Option<f64>, option: &mut u64) -> Result<()> {
    set(given.map(|ms| convert::micros_from_float_ms(what, ms)), option)
}

/// Reads a whole number.
pub fn count(what: &str, given: Option<f64>, option: &mut u64) -> Result<()> {
    set(given.map(|count| convert::unsigned_float(what, count)), option)
}

/// Takes over a bool or a text, which JavaScript has checked.
pub fn as_is<T>(_what: &str, given: Option<T>, option: &mut T) -> Result<()> {
    set(given.map(Ok), option)
}

fn set<T>(given: Option<Result<T>>, option: &mut T) -> Result<()> {
    if let Some(given) = given {
        *option = given?;
    }
    Ok(())
}
