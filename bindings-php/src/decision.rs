//! `Quotalock\Decision`, `Quotalock\CombinedDecision` and `Quotalock\RuleDecision`: plain PHP objects that can be
//! cloned, serialized and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::error::Result;
use ext_php_rs::ffi::IS_INTERNED_STRING_EX;
use ext_php_rs::types::{ZendStr, Zval};
use quotalock::{Algorithm, CombinedDecision, Decision, RuleDecision, Source};

use crate::http;
use crate::property::{self, Type, bool, int, maybe, milliseconds};
use crate::record::{Method, Record, Recorded, list};

static DECISION: Record<Decision> = Record::new(
    &[
        ("name", Type::Text, |d| property::text(&*d.name)),
        ("allowed", Type::Bool, |d| bool(d.allowed)),
        ("wouldDeny", Type::Bool, |d| bool(d.would_deny)),
        ("limit", Type::Int, |d| int(d.limit)),
        ("remaining", Type::Int, |d| int(d.remaining)),
        ("retryAfterMs", Type::MaybeInt, |d| maybe(d.retry_after, milliseconds)),
        ("resetAfterMs", Type::Int, |d| milliseconds(d.reset_after)),
        ("cost", Type::Int, |d| int(d.cost)),
        ("source", Type::Text, |d| source(d.source)),
        ("healed", Type::Bool, |d| bool(d.healed)),
        ("rules", Type::Array, |d| list(&d.rules, Recorded::shown)),
    ],
    |class, arguments| DECISION.keep(class, arguments),
);

impl Recorded for Decision {
    const NAME: &'static str = "Quotalock\\Decision";

    fn record() -> &'static Record<Decision> {
        &DECISION
    }

    fn methods() -> Vec<Method> {
        http::methods::<Decision>()
    }
}

static COMBINED_DECISION: Record<CombinedDecision> = Record::new(
    &[
        ("allowed", Type::Bool, |d| bool(d.allowed)),
        ("wouldDeny", Type::Bool, |d| bool(d.would_deny)),
        ("binding", Type::Int, |d| int(d.binding as u64)),
        ("retryAfterMs", Type::MaybeInt, |d| maybe(d.retry_after, milliseconds)),
        ("source", Type::Text, |d| source(d.source)),
        ("decisions", Type::Array, |d| list(&d.decisions, Recorded::shown)),
    ],
    |class, arguments| COMBINED_DECISION.keep(class, arguments),
);

impl Recorded for CombinedDecision {
    const NAME: &'static str = "Quotalock\\CombinedDecision";

    fn record() -> &'static Record<CombinedDecision> {
        &COMBINED_DECISION
    }

    fn methods() -> Vec<Method> {
        http::methods::<CombinedDecision>()
    }
}

static RULE_DECISION: Record<RuleDecision> = Record::new(
    &[
        ("allowed", Type::Bool, |d| bool(d.allowed)),
        ("limit", Type::Int, |d| int(d.limit)),
        ("remaining", Type::Int, |d| int(d.remaining)),
        ("retryAfterMs", Type::MaybeInt, |d| maybe(d.retry_after, milliseconds)),
        ("resetAfterMs", Type::Int, |d| milliseconds(d.reset_after)),
        ("algorithm", Type::Text, |d| algorithm(d.algorithm)),
        ("quota", Type::Int, |d| int(d.quota)),
        ("periodMs", Type::Int, |d| milliseconds(d.period)),
        ("capacity", Type::Int, |d| int(d.capacity)),
    ],
    |class, arguments| RULE_DECISION.keep(class, arguments),
);

impl Recorded for RuleDecision {
    const NAME: &'static str = "Quotalock\\RuleDecision";

    fn record() -> &'static Record<RuleDecision> {
        &RULE_DECISION
    }
}

/// Texts that nearly every decision carries, and so are made once: `redis`, and the name of the default algorithm.
static REDIS: AtomicPtr<ZendStr> = AtomicPtr::new(std::ptr::null_mut());
static FIXED_WINDOW: AtomicPtr<ZendStr> = AtomicPtr::new(std::ptr::null_mut());

/// Registers the classes.
pub fn register() -> Result<()> {
    RULE_DECISION.register()?;
    DECISION.register()?;
    COMBINED_DECISION.register()?;
    REDIS.store(ZendStr::new_interned(Source::Redis.as_str(), true).into_raw(), Ordering::Release);
    FIXED_WINDOW.store(ZendStr::new_interned(Algorithm::FIXED_WINDOW.name(), true).into_raw(), Ordering::Release);
    Ok(())
}

fn source(source: Source) -> Zval {
    shared(source.as_str(), Source::Redis.as_str(), &REDIS)
}

fn algorithm(name: &'static str) -> Zval {
    shared(name, Algorithm::FIXED_WINDOW.name(), &FIXED_WINDOW)
}

/// The text, which is `made` if it is the usual one.
fn shared(text: &str, usual: &str, made: &AtomicPtr<ZendStr>) -> Zval {
    let made = made.load(Ordering::Acquire);
    if text != usual || made.is_null() {
        return property::text(text);
    }
    let mut zval = Zval::new();
    // An interned string is shared without counting.
    zval.value.str_ = made;
    zval.u1.type_info = IS_INTERNED_STRING_EX;
    zval
}
