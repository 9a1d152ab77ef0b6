//! `Quotalock\Decision`, `Quotalock\CombinedDecision` and `Quotalock\RuleDecision`: plain PHP objects that can be
//! cloned, serialized and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::ffi::IS_INTERNED_STRING_EX;
use ext_php_rs::flags::DataType;
use ext_php_rs::types::{ZendStr, Zval};
use quotalock::{CombinedDecision, Decision, RuleDecision, Source};

use crate::property::{self, Type, bool, int};
use crate::record::{Record, list};

static DECISION: Record = Record::new(
    "Quotalock\\Decision",
    &[
        ("allowed", Type::Bool),
        ("wouldDeny", Type::Bool),
        ("limit", Type::Int),
        ("remaining", Type::Int),
        ("retryAfterMs", Type::MaybeInt),
        ("resetAfterMs", Type::Int),
        ("cost", Type::Int),
        ("source", Type::Text),
        ("healed", Type::Bool),
        ("rules", Type::Array),
    ],
    |class, arguments| DECISION.keep(class, arguments),
);

static COMBINED_DECISION: Record = Record::new(
    "Quotalock\\CombinedDecision",
    &[
        ("allowed", Type::Bool),
        ("wouldDeny", Type::Bool),
        ("binding", Type::Int),
        ("retryAfterMs", Type::MaybeInt),
        ("source", Type::Text),
        ("decisions", Type::Array),
    ],
    |class, arguments| COMBINED_DECISION.keep(class, arguments),
);

static RULE_DECISION: Record = Record::new(
    "Quotalock\\RuleDecision",
    &[
        ("allowed", Type::Bool),
        ("limit", Type::Int),
        ("remaining", Type::Int),
        ("retryAfterMs", Type::MaybeInt),
        ("resetAfterMs", Type::Int),
    ],
    |class, arguments| RULE_DECISION.keep(class, arguments),
);

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

fn retry(micros: Option<u64>) -> Zval {
    micros.map_or_else(Zval::null, property::milliseconds)
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

fn rule(rule: &RuleDecision) -> Zval {
    RULE_DECISION.value([
        bool(rule.allowed),
        int(rule.limit),
        int(rule.remaining),
        retry(rule.retry_after),
        property::milliseconds(rule.reset_after),
    ])
}

/// The PHP object of a decision.
pub fn value(decision: &Decision) -> Zval {
    DECISION.value([
        bool(decision.allowed),
        bool(decision.would_deny),
        int(decision.limit),
        int(decision.remaining),
        retry(decision.retry_after),
        property::milliseconds(decision.reset_after),
        int(decision.cost),
        source(decision.source),
        bool(decision.healed),
        list(&decision.rules, rule),
    ])
}

/// What a method that decides returns.
pub struct Decided(pub Decision);

impl IntoZval for Decided {
    const TYPE: DataType = DataType::object("Quotalock\\Decision");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = value(&self.0);
        Ok(())
    }
}

/// What a method that decides about several keys returns.
pub struct DecidedTogether(pub CombinedDecision);

impl IntoZval for DecidedTogether {
    const TYPE: DataType = DataType::object("Quotalock\\CombinedDecision");
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        let combined = self.0;
        *zval = COMBINED_DECISION.value([
            bool(combined.allowed),
            bool(combined.would_deny),
            int(combined.binding as u64),
            retry(combined.retry_after),
            source(combined.source),
            list(&combined.decisions, value),
        ]);
        Ok(())
    }
}
