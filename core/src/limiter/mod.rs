//! A limiter: a named policy, asked about keys.

mod call;
mod scripts;
mod state;

use std::sync::Arc;
use std::time::Duration;

use crate::client::Client;
use crate::decision::Decision;
use crate::error::{Error, Result, shown};
use crate::key;
use crate::op::Op;
use crate::policy::{MAX_LIMIT, MAX_PERIOD, Policy};
use crate::resp;
use call::{Call, Verb};
use scripts::Scripts;
pub use scripts::scripts;

/// The largest cost of a call, 2^52.
pub const MAX_COST: u64 = MAX_LIMIT;
/// The shortest block in microseconds: 1 ms.
pub const MIN_BLOCK: u64 = 1_000;

/// What every call of one limiter has in common.
struct Definition {
    name: String,
    policy: Policy,
    scripts: Arc<Scripts>,
    /// `<prefix>:limit:<name>:{`
    stem: Vec<u8>,
    /// The policy as script arguments, encoded once.
    policy_args: Vec<u8>,
    policy_arg_count: usize,
}

/// Decides for keys by one policy. Cheap to clone; made by [`Client::limiter`].
///
/// Every method describes a call: `.run()` it on this thread or `.await` it. All of them can fail with `unavailable`,
/// `timeout`, `not_permitted`, `wrong_type` and `closed`, and with `invalid_argument` for a bad key or amount, before
/// anything is sent.
#[derive(Clone)]
pub struct Limiter {
    client: Client,
    definition: Arc<Definition>,
}

impl Limiter {
    pub(crate) fn new(client: &Client, name: &str, policy: Policy) -> Result<Limiter> {
        key::check_name(name)?;
        let mut policy_args = Vec::new();
        let mut policy_arg_count = 0;
        for rule in policy.rules() {
            let (limit, period) = rule.reduced();
            let told = rule.algorithm().definition().arguments().len();
            for number in &[limit, period, rule.capacity()][..told] {
                resp::number_part(&mut policy_args, *number);
            }
            policy_arg_count += told;
        }
        let definition = Definition {
            name: name.to_owned(),
            scripts: Scripts::for_policy(&policy),
            stem: key::stem(&client.shared.prefix, "limit", name),
            policy_args,
            policy_arg_count,
            policy,
        };
        Ok(Limiter { client: client.clone(), definition: Arc::new(definition) })
    }

    /// The name given.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The policy given.
    pub fn policy(&self) -> &Policy {
        &self.definition.policy
    }

    /// The Redis key that holds the state of `key`.
    ///
    /// # Errors
    /// `invalid_argument` for an empty key or one over 1,024 bytes.
    pub fn redis_key(&self, key: &[u8]) -> Result<Vec<u8>> {
        key::check_key(key)?;
        Ok(key::complete(&self.definition.stem, key))
    }

    /// Charges `cost` (0 to [`MAX_COST`]) to every rule if all admit it, else to none. A cost of 0 only looks; one above
    /// a limit is denied for ever.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key or cost; see also the type.
    pub fn consume(&self, key: &[u8], cost: u64) -> Result<Op<Decision>> {
        check_cost(cost)?;
        let verb = if cost == 0 { Verb::Look } else { Verb::Consume };
        self.call(verb, key, cost, None)
    }

    /// Tells what [`consume`](Limiter::consume) of `cost` would answer, and never writes.
    ///
    /// # Errors
    /// As [`consume`](Limiter::consume).
    pub fn peek(&self, key: &[u8], cost: u64) -> Result<Op<Decision>> {
        check_cost(cost)?;
        self.call(Verb::Look, key, cost, None)
    }

    /// As [`consume`](Limiter::consume), but a denial is the error `limited`, which carries the decision.
    ///
    /// # Errors
    /// `limited`; else as [`consume`](Limiter::consume).
    pub fn require(&self, key: &[u8], cost: u64) -> Result<Op<Decision>> {
        check_cost(cost)?;
        self.call(Verb::Require, key, cost, None)
    }

    /// As [`consume`](Limiter::consume), and after a denial sleeps as `retry_after` says and tries again. Ends with a
    /// denial at once when the next chance lies behind `timeout`.
    ///
    /// # Errors
    /// As [`consume`](Limiter::consume).
    pub fn wait(&self, key: &[u8], cost: u64, timeout: Duration) -> Result<Op<Decision>> {
        check_cost(cost)?;
        let verb = if cost == 0 { Verb::Look } else { Verb::Consume };
        self.call(verb, key, cost, Some(timeout))
    }

    /// Gives back `amount` (1 to [`MAX_COST`]) of what was consumed; no rule falls below zero, what is over stays so.
    /// Answers what a peek of cost 1 right after it would.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key or amount.
    pub fn refund(&self, key: &[u8], amount: u64) -> Result<Op<Decision>> {
        if amount == 0 || amount > MAX_COST {
            return Err(Error::invalid(format!("amount {amount} cannot be refunded: give 1 to {MAX_COST}")));
        }
        self.call(Verb::Refund, key, amount, None)
    }

    /// Denies everything for `duration` microseconds ([`MIN_BLOCK`] to 36,500 days), in place of an earlier block.
    /// Answers what a peek of cost 1 right after it would. Fails whatever `on_error` says: a block that was not stored
    /// must not look like one.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key or duration.
    pub fn block(&self, key: &[u8], duration: u64) -> Result<Op<Decision>> {
        if !(MIN_BLOCK..=MAX_PERIOD).contains(&duration) {
            let given = shown(duration.to_string().as_bytes());
            return Err(Error::invalid(format!(
                "duration of {given} µs is not between 1 ms and 36500 days: change it"
            )));
        }
        self.call(Verb::Block, key, duration, None)
    }

    /// Forgets everything about `key`, a block included; true if there was anything. Fails whatever `on_error` says.
    ///
    /// # Errors
    /// `invalid_argument` for a bad key.
    pub fn reset(&self, key: &[u8]) -> Result<Op<bool>> {
        self.call(Verb::Reset, key, 0, None)
    }

    fn call<T: crate::op::FromAnswer>(
        &self,
        verb: Verb,
        key: &[u8],
        amount: u64,
        wait: Option<Duration>,
    ) -> Result<Op<T>> {
        let key = self.redis_key(key)?;
        let call = Call { definition: self.definition.clone(), verb, key, amount };
        Ok(Op::new(&self.client, Box::new(call), wait))
    }
}

fn check_cost(cost: u64) -> Result<()> {
    if cost > MAX_COST {
        return Err(Error::invalid(format!("cost {cost} is more than {MAX_COST} (2^52): give less")));
    }
    Ok(())
}
