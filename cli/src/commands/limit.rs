//! `peek`, `consume`, `reset`, `block` and `unblock`: what a limiter says about a key, and what an operator may change.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::thread;
use std::time::Duration;

use clap::Args;
use quotalock::stored::StoredLimiter;
use quotalock::{Decision, Limiter, LimiterOptions, MIN_BLOCK, Policy, Rule, RuleDecision};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::output::answer;
use crate::printable::shown;
use crate::shared::SharedArguments;
use crate::words::{bytes, duration, millis, span, text};
use crate::{raw, server};

pub const PEEK_EXAMPLES: &str = "Examples:
  quotalock peek checkout user:42 --policy '10/minute;100/hour'    would a call be allowed?
  quotalock peek tokens key:7 --policy 100000/day --cost 4000      a call that costs 4,000";
pub const CONSUME_EXAMPLES: &str = "Examples:
  quotalock consume mails newsletter --policy 500/day              exits with 10 if denied
  quotalock consume mails newsletter --policy 500/day --cost 20    for 20 mails at once";
pub const RESET_EXAMPLES: &str = "Examples:
  quotalock reset login user:42                      the key starts from zero
  quotalock reset orders cart:7 --scope shop:blue    if the limiter has a scope";
pub const BLOCK_EXAMPLES: &str = "Examples:
  quotalock block login ip:203.0.113.9 --for 1h30m    deny all logins from this address";
pub const UNBLOCK_EXAMPLES: &str = "Examples:
  quotalock unblock login ip:203.0.113.9    allow logins from this address again";

/// A key of a limiter.
#[derive(Args)]
pub struct KeyArguments {
    /// Name of the limiter, such as checkout
    name: String,
    /// Key, such as user:42
    key: OsString,
    /// Scope of the limiter
    #[arg(long)]
    scope: Option<OsString>,
}

/// What `peek` and `consume` are asked.
#[derive(Args)]
pub struct Asking {
    #[command(flatten)]
    of: KeyArguments,
    /// Policy of the application, such as '10/minute;100/hour'
    #[arg(long, short)]
    policy: String,
    /// Cost of the call
    #[arg(long, default_value_t = 1)]
    cost: u64,
}

/// What `block` is asked.
#[derive(Args)]
pub struct Blocking {
    #[command(flatten)]
    of: KeyArguments,
    /// Duration of the block, such as 10m
    #[arg(long = "for", value_parser = duration)]
    length: u64,
}

impl KeyArguments {
    /// A key of a limiter, with its scope.
    pub fn new(name: String, key: Vec<u8>, scope: Option<Vec<u8>>) -> KeyArguments {
        KeyArguments { name, key: OsString::from_vec(key), scope: scope.map(OsString::from_vec) }
    }

    fn limiter(&self, shared: &SharedArguments, policy: Policy) -> Result<Limiter, Failure> {
        let scope = self.scope.as_deref().map(|scope| bytes(scope).to_vec());
        let options = LimiterOptions { scope, ..LimiterOptions::default() };
        Ok(raw::client(shared)?.limiter_with(&self.name, policy, options)?)
    }

    fn bytes(&self) -> &[u8] {
        bytes(&self.key)
    }

    /// What it is called.
    pub fn shown(&self) -> String {
        format!("{} of limiter {}", shown(self.bytes()), shown(self.name.as_bytes()))
    }

    fn json(&self) -> Value {
        json!({ "limiter": self.name, "key": text(self.bytes()) })
    }

    /// The limiter with the policy that is stored, so that its rules stay as they are; what is stored, too.
    fn as_stored(&self, shared: &SharedArguments) -> Result<(Limiter, Option<StoredLimiter>), Failure> {
        // Where nothing is counted any rule will do: it is gone when the block is.
        let any = self.limiter(shared, Policy::parse("1/ms")?)?;
        let key = any.redis_key(self.bytes())?;
        let mut servers = server::find_owners(&shared.url, shared.server_timeout, std::slice::from_ref(&key))?;
        let found = raw::look(&mut servers, &key, None)?;
        let stored = found.and_then(|raw| StoredLimiter::read(&raw.value, raw.now));
        match stored.as_ref().and_then(StoredLimiter::policy) {
            Some(policy) => Ok((self.limiter(shared, policy)?, stored)),
            None => Ok((any, stored)),
        }
    }
}

/// Runs `peek`, or `consume` if it is to be charged.
pub fn ask(asking: &Asking, shared: &SharedArguments, charge: bool) -> Result<Exit, Failure> {
    let limiter = asking.of.limiter(shared, Policy::parse(&asking.policy)?)?;
    let (key, cost) = (asking.of.bytes(), asking.cost);
    let decision = if charge { limiter.consume(key, cost)? } else { limiter.peek(key, cost)? }.run()?;
    let word = match (decision.allowed, charge) {
        (true, true) => "admitted",
        (true, false) => "would be admitted",
        (false, true) => "denied",
        (false, false) => "would be denied",
    };
    let mut said = format!("{word}: {}, cost {cost}", asking.of.shown());
    if !decision.allowed {
        said += &match decision.retry_after {
            Some(micros) => format!("; retry in {}", span(micros)),
            None => "; never admitted, it costs more than the limit".into(),
        };
    }
    said += "\n";
    // Only a block denies what all rules admit.
    let is_blocked = !decision.allowed && decision.rules.iter().all(|rule| rule.allowed);
    if is_blocked {
        said += "  blocked\n";
    }
    if decision.healed {
        said += "  what stood there was not ours and was replaced\n";
    }
    let rules = limiter.policy().rules().iter().zip(&decision.rules);
    let mut json = decided_json(asking.of.json(), &decision);
    json["blocked"] = is_blocked.into();
    json["rules"] = rules.clone().map(|(rule, decided)| rule_in_json(rule, decided)).collect();
    for (rule, decided) in rules {
        said += &format!("  {}\n", rule_in_words(rule, decided));
    }
    answer(shared, &said, &json)?;
    Ok(if decision.allowed { Exit::Fine } else { Exit::Denied })
}

/// What a rule says, after its text.
pub fn rule_in_words(rule: &Rule, decided: &RuleDecision) -> String {
    let RuleDecision { remaining, capacity, reset_after, retry_after, .. } = *decided;
    let state = if reset_after == 0 { "as new".into() } else { format!("as new in {}", span(reset_after)) };
    let next = match retry_after {
        Some(0) => String::new(),
        Some(wait) => format!(", next in {}", span(wait)),
        None => ", never".into(),
    };
    format!("{rule}: {remaining} of {capacity} left, {state}{next}")
}

/// What a rule says, for scripts.
pub fn rule_in_json(rule: &Rule, decided: &RuleDecision) -> Value {
    json!({
        "rule": rule.to_string(), "allowed": decided.allowed, "remaining": decided.remaining, "limit": decided.limit,
        "retry_after_ms": decided.retry_after.map(millis), "reset_after_ms": millis(decided.reset_after),
    })
}

fn decided_json(mut json: Value, decision: &Decision) -> Value {
    json["allowed"] = decision.allowed.into();
    json["cost"] = decision.cost.into();
    json["remaining"] = decision.remaining.into();
    json["limit"] = decision.limit.into();
    json["retry_after_ms"] = decision.retry_after.map(millis).into();
    json["reset_after_ms"] = millis(decision.reset_after);
    json["healed"] = decision.healed.into();
    json
}

/// Runs `reset`.
pub fn reset(of: &KeyArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let was = of.limiter(shared, Policy::parse("1/ms")?)?.reset(of.bytes())?.run()?;
    let word = if was { "forgotten" } else { "nothing was known of" };
    let mut json = of.json();
    json["reset"] = was.into();
    answer(shared, &format!("{word}: {}\n", of.shown()), &json)?;
    Ok(Exit::Fine)
}

/// Runs `block`.
pub fn block(blocking: &Blocking, shared: &SharedArguments) -> Result<Exit, Failure> {
    let Blocking { of, length } = blocking;
    let (limiter, _) = of.as_stored(shared)?;
    limiter.block(of.bytes(), *length)?.run()?;
    let mut json = of.json();
    json["blocked_ms"] = millis(*length);
    answer(shared, &format!("blocked for {}: {}\n", span(*length), of.shown()), &json)?;
    Ok(Exit::Fine)
}

/// Runs `unblock`: what was counted stays.
pub fn unblock(of: &KeyArguments, shared: &SharedArguments) -> Result<Exit, Failure> {
    let left = end_block(of, shared)?;
    let said = match left {
        0 => format!("was not blocked: {}\n", of.shown()),
        left => {
            format!("unblocked: {}, which was blocked for {} more; what was counted stays\n", of.shown(), span(left))
        }
    };
    let mut json = of.json();
    (json["was_blocked"], json["block_left_ms"]) = ((left > 0).into(), millis(left));
    answer(shared, &said, &json)?;
    Ok(Exit::Fine)
}

/// Ends a block: for how many microseconds more it would have lasted; 0 if there was none.
///
/// # Errors
/// If the server does not do it.
pub fn end_block(of: &KeyArguments, shared: &SharedArguments) -> Result<u64, Failure> {
    let (limiter, stored) = of.as_stored(shared)?;
    let left = stored.map_or(0, |stored| stored.block_left);
    if left > 0 {
        // In place of the earlier one; nobody is told that it is over before it is.
        limiter.block(of.bytes(), MIN_BLOCK)?.run()?;
        thread::sleep(Duration::from_micros(MIN_BLOCK));
    }
    Ok(left)
}
