//! The functions that make handles of locks. Written from api/surface.toml by `python3 tools/api`.

use napi::bindgen_prelude::{BufferSlice, ClassInstance};
use napi_derive::napi;
use quotalock::{LockOptions, convert};

use crate::client::Client;
use crate::error::{Result, thrown};
use crate::lock::Lock;
use crate::locks::{as_is, count, made, time};

/// Makes a handle for mutexes (`lock`, one name or several), for a `semaphore`, for one side of a read-write lock (`read`,
/// `write`), or for a mutex over several servers (`quorum`), one for each client. The others have one client. All but a semaphore
/// have one permit; a holder takes `weight` of them, and a call waits for at most `wait_ms` (default: not at all). Each
/// missing option has the default of the core.
#[allow(clippy::too_many_arguments, reason = "an object's fields take ten times as long to read")]
#[napi(catch_unwind)]
pub fn make_lock(
    kind: String,
    clients: Vec<ClassInstance<Client>>,
    names: Vec<BufferSlice>,
    permits: f64,
    wait_ms: f64,
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
    let make = || {
        // Each acquisition is given it; a wrong one is refused here, as the other options are.
        convert::micros_from_float_ms("wait", wait_ms)?;
        let mut options = LockOptions::default();
        time("ttl", ttl_ms, &mut options.ttl)?;
        as_is("fair", fair, &mut options.fair)?;
        as_is("renew", renew, &mut options.renew)?;
        time("max_hold", max_hold_ms, &mut options.max_hold)?;
        count("token_above", token_above, &mut options.token_above)?;
        as_is("label", label, &mut options.label)?;
        count("replicas_ack", replicas_ack, &mut options.replicas_ack)?;
        time("ack_timeout", ack_timeout_ms, &mut options.ack_timeout)?;
        made(&kind, &clients, &names, (permits, weight), options)
    };
    make().map_err(thrown)
}
