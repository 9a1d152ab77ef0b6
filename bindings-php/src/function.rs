//! The functions: `Quotalock\limit()`, one line, with the client that the settings describe, and `Quotalock\quorum_lock()`.

use std::rc::Rc;

use ext_php_rs::boxed::ZBox;
use ext_php_rs::builders::FunctionBuilder;
use ext_php_rs::prelude::*;
use ext_php_rs::types::ZendClassObject;
use quotalock::{LimiterOptions, LockOptions, convert};

use crate::advice;
use crate::argument::{Clients, Int, Key, Text};
use crate::call;
use crate::exception::Outcome;
use crate::lock::Lock;
use crate::lock_options::{NO_LABEL, TTL_MS};
use crate::policy::PolicyArgument;
use crate::registry::{self, Handle};
use crate::settings::{Arguments, Settings};
use crate::unkept;

/// Whether `key` is admitted, charged if so.
#[php_function]
#[php(name = "Quotalock\\limit", defaults(cost = 1))]
pub fn limit(name: Text, key: Key, policy: PolicyArgument, cost: Int) -> Outcome<bool> {
    let (decided, warning) = {
        let (name, key) = (name.utf8(1, "name")?, key.bytes(2)?);
        let cost = cost.unsigned(4, "cost")?;
        let shared = registry::client(&Settings::of(Arguments::default()), false)?;
        let limiter = shared.limiters.limiter_at(&name, &policy.text(3)?, LimiterOptions::default(), advice::place)?;
        let decided = match limiter.consume_at_once(&key, cost) {
            Some(decision) => Ok(decision?.allowed),
            None => Err(limiter.consume(&key, cost)?),
        };
        (decided, shared.limiters.warning())
    };
    let decided = match warning {
        Some(message) => unkept::advise(message, decided)?,
        None => decided,
    };
    advice::after(decided.or_else(|op| call::run(op).map(|decision| decision.allowed)))
}

/// Makes a handle for a mutex over several independent servers, one for each client.
#[php_function]
#[php(name = "Quotalock\\quorum_lock", defaults(ttlMs = TTL_MS, waitMs = 0, tokenAbove = 0, label = NO_LABEL))]
pub fn quorum_lock(
    clients: Clients,
    name: Text,
    ttlMs: Int,
    waitMs: Int,
    tokenAbove: Int,
    label: Text,
) -> Outcome<ZBox<ZendClassObject<Lock>>> {
    // An `exit` in a `__toString` jumps over what is held here: texts come first.
    let (name, label) = (name.bytes(2)?, label.utf8(6, "label")?);
    let handles = clients.get(1)?;
    let options = LockOptions {
        ttl: ttlMs.micros(3, "ttl")?,
        // There is no thread of ours in a process of PHP.
        renew: false,
        token_above: tokenAbove.unsigned(5, "token_above")?,
        label: label.into_owned(),
        ..LockOptions::default()
    };
    let wait = convert::duration(waitMs.micros(4, "wait")?);
    let core = |handle: &Rc<Handle>| Ok(handle.shared()?.core().clone());
    let cores = handles.iter().map(core).collect::<quotalock::Result<Vec<_>>>()?;
    let lock = quotalock::Lock::quorum(&cores, &name, options)?;
    Ok(Lock::object(lock, wait, handles))
}

/// What the module registers.
pub fn entries() -> [FunctionBuilder<'static>; 2] {
    [wrap_function!(limit), wrap_function!(quorum_lock)]
}
