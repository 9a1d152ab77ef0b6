//! `Quotalock\Decision`, `Quotalock\CombinedDecision` and `Quotalock\RuleDecision`: plain PHP objects that can be
//! cloned, serialized and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::error::Result;
use ext_php_rs::ffi::IS_INTERNED_STRING_EX;
use ext_php_rs::types::{ZendStr, Zval};
use quotalock::{ALGORITHMS, CombinedDecision, Decision, RuleDecision, Source};

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

/// A text that many decisions carry, made once at start-up.
type Made = AtomicPtr<ZendStr>;

/// The texts of sources and algorithms, in the order of [`Source::ALL`] and [`ALGORITHMS`].
static SOURCES: [Made; Source::ALL.len()] = [const { Made::new(std::ptr::null_mut()) }; Source::ALL.len()];
static NAMES: [Made; ALGORITHMS.len()] = [const { Made::new(std::ptr::null_mut()) }; ALGORITHMS.len()];

/// Registers the classes.
pub fn register() -> Result<()> {
    RULE_DECISION.register()?;
    DECISION.register()?;
    COMBINED_DECISION.register()?;
    let make = |made: &Made, text| made.store(ZendStr::new_interned(text, true).into_raw(), Ordering::Release);
    SOURCES.iter().zip(Source::ALL).for_each(|(made, source)| make(made, source.as_str()));
    NAMES.iter().zip(ALGORITHMS).for_each(|(made, algorithm)| make(made, algorithm.name()));
    Ok(())
}

fn source(source: Source) -> Zval {
    shared(source.as_str(), SOURCES.iter().zip(Source::ALL).find(|(_, other)| *other == source))
}

fn algorithm(name: &'static str) -> Zval {
    shared(name, NAMES.iter().zip(ALGORITHMS).find(|(_, other)| other.name() == name))
}

/// The text, as it was made if it was.
fn shared<T>(text: &str, made: Option<(&Made, T)>) -> Zval {
    let made = made.map_or(std::ptr::null_mut(), |(made, _)| made.load(Ordering::Acquire));
    if made.is_null() {
        return property::text(text);
    }
    let mut zval = Zval::new();
    // An interned string is shared without counting.
    zval.value.str_ = made;
    zval.u1.type_info = IS_INTERNED_STRING_EX;
    zval
}
