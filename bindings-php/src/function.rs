//! `Quotalock\limit()`: one line, with the client that the settings describe.

use ext_php_rs::builders::FunctionBuilder;
use ext_php_rs::prelude::*;

use crate::argument::{Int, Key, Text};
use crate::call;
use crate::exception::Outcome;
use crate::policy::PolicyArgument;
use crate::registry;
use crate::settings::{Arguments, Settings};

/// Whether `key` is admitted, charged if so.
#[php_function]
#[php(name = "Quotalock\\limit", defaults(cost = 1))]
pub fn limit(name: Text, key: Key, policy: PolicyArgument, cost: Int) -> Outcome<bool> {
    let op = {
        let (name, key) = (name.utf8(1, "name")?, key.bytes(2)?);
        let cost = cost.unsigned(4, "cost")?;
        let shared = registry::client(&Settings::of(Arguments::default()))?;
        shared.limiters.limiter(&name, &policy.text(3)?)?.consume(&key, cost)?
    };
    call::run(op).map(|decision| decision.allowed)
}

/// What the module registers.
pub fn entry() -> FunctionBuilder<'static> {
    wrap_function!(limit)
}
