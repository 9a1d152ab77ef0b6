//! The functions: `Quotalock\limit()`, one line, with the client that the settings describe, and `Quotalock\quorum_lock()`.

use ext_php_rs::builders::FunctionBuilder;
use ext_php_rs::prelude::*;
use quotalock::LimiterOptions;

use crate::advice;
use crate::argument::{Int, Key, Text};
use crate::call;
use crate::exception::Outcome;
use crate::lock_makers;
use crate::policy::PolicyArgument;
use crate::registry;
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

/// What the module registers.
pub fn entries() -> [FunctionBuilder<'static>; 2] {
    [wrap_function!(limit), lock_makers::entry()]
}
