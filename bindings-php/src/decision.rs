//! `Quotalock\Decision`, `Quotalock\CombinedDecision` and `Quotalock\RuleDecision`: plain PHP objects that can be
//! cloned, serialized and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::error::Result;
use ext_php_rs::ffi::IS_INTERNED_STRING_EX;
use ext_php_rs::types::{ZendStr, Zval};
use quotalock::{CombinedDecision, Decision, RuleDecision, Source};

use crate::property::{self, Type, bool, int, maybe, milliseconds};
use crate::record::{Record, Recorded, list};

static DECISION: Record<Decision> = Record::new(
    &[
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
}

static RULE_DECISION: Record<RuleDecision> = Record::new(
    &[
        ("allowed", Type::Bool, |d| bool(d.allowed)),
        ("limit", Type::Int, |d| int(d.limit)),
        ("remaining", Type::Int, |d| int(d.remaining)),
        ("retryAfterMs", Type::MaybeInt, |d| maybe(d.retry_after, milliseconds)),
        ("resetAfterMs", Type::Int, |d| milliseconds(d.reset_after)),
    ],
    |class, arguments| RULE_DECISION.keep(class, arguments),
);

impl Recorded for RuleDecision {
    const NAME: &'static str = "Quotalock\\RuleDecision";

    fn record() -> &'static Record<RuleDecision> {
        &RULE_DECISION
    }
}

/// The text of `redis`, which nearly every decision carries.
static REDIS: AtomicPtr<ZendStr> = AtomicPtr::new(std::ptr::null_mut());

/// Registers the classes.
pub fn register() -> Result<()> {
    RULE_DECISION.register()?;
    DECISION.register()?;
    COMBINED_DECISION.register()?;
    REDIS.store(ZendStr::new_interned(Source::Redis.as_str(), true).into_raw(), Ordering::Release);
    Ok(())
}

fn source(source: Source) -> Zval {
    let redis = REDIS.load(Ordering::Acquire);
    if source != Source::Redis || redis.is_null() {
        return property::text(source.as_str());
    }
    let mut zval = Zval::new();
    // An interned string is shared without counting.
    zval.value.str_ = redis;
    zval.u1.type_info = IS_INTERNED_STRING_EX;
    zval
}
