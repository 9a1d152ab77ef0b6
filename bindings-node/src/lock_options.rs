//! How a lock of any kind is made.

use napi::bindgen_prelude::{BufferSlice, ClassInstance};
use napi_derive::napi;
use quotalock::LockOptions;

use crate::client::Client;
use crate::error::{Result, thrown};
use crate::given::{micros, unsigned};
use crate::lock::Lock;

/// Makes a handle for mutexes (`lock`, one name or several), for a `semaphore`, for one side of a read-write lock (`read`,
/// `write`), or for a mutex over several servers (`quorum`), one for each client. The others have one client. All but a semaphore
/// have one permit; a holder takes `weight` of them. What is missing is as the core has it.
#[allow(clippy::too_many_arguments, reason = "an object's fields take ten times as long to read")]
#[napi(catch_unwind)]
pub fn make_lock(
    kind: String,
    clients: Vec<ClassInstance<Client>>,
    names: Vec<BufferSlice>,
    permits: f64,
    ttl_ms: Option<f64>,
    fair: Option<bool>,
    renew: Option<bool>,
    max_hold_ms: Option<f64>,
    token_above: Option<f64>,
    label: Option<String>,
    replicas_ack: Option<f64>,
    ack_timeout_ms: Option<f64>,
    weight: Option<f64>,
) -> Result<Lock> {
    let clients: Vec<_> = clients.iter().map(|client| quotalock::Client::clone(&client.inner)).collect();
    let names: Vec<&[u8]> = names.iter().map(AsRef::as_ref).collect();
    let first = names.first().copied().unwrap_or_default();
    let make = || {
        let (permits, weight) = (unsigned("permits", permits)?, count("weight", weight, 1)?);
        let base = LockOptions::default();
        let options = LockOptions {
            ttl: time("ttl", ttl_ms, base.ttl)?,
            fair: fair.unwrap_or(base.fair),
            renew: renew.unwrap_or(base.renew),
            max_hold: time("max_hold", max_hold_ms, base.max_hold)?,
            token_above: count("token_above", token_above, base.token_above)?,
            label: label.unwrap_or(base.label),
            replicas_ack: count("replicas_ack", replicas_ack, base.replicas_ack)?,
            ack_timeout: time("ack_timeout", ack_timeout_ms, base.ack_timeout)?,
        };
        match (kind.as_str(), clients.as_slice()) {
            ("semaphore", [client]) => client.semaphore(first, permits, weight, options),
            ("read", [client]) => client.read_lock(first, options),
            ("write", [client]) => client.write_lock(first, options),
            ("lock", [client]) => client.lock_all(&names, options),
            _ => quotalock::Lock::quorum(&clients, first, options),
        }
    };
    make().map(|inner| Lock { inner }).map_err(thrown)
}

fn time(what: &str, given: Option<f64>, default: u64) -> quotalock::Result<u64> {
    given.map_or(Ok(default), |ms| micros(what, ms))
}

fn count(what: &str, given: Option<f64>, default: u64) -> quotalock::Result<u64> {
    given.map_or(Ok(default), |count| unsigned(what, count))
}
