//! `Quotalock\Decision`, `Quotalock\CombinedDecision` and `Quotalock\RuleDecision`: plain PHP objects that can be
//! cloned, serialized and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::ffi::{IS_INTERNED_STRING_EX, IS_STRING_EX};
use ext_php_rs::flags::DataType;
use ext_php_rs::types::{ZendObject, ZendStr, Zval};
use quotalock::{ALGORITHMS, CombinedDecision, Decision, RuleDecision, Source};

use crate::http;
use crate::property::{self, Type, bool, int, maybe, milliseconds};
use crate::record::{Field, Method, Record, Recorded, Shown, list, table};

const DECISION_FIELDS: [Field<Decision>; 11] = [
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
    ("rules", Type::Array, rules),
];

static DECISION: Record<Decision> = Record::new(&DECISION_FIELDS, |class, arguments| DECISION.keep(class, arguments));

impl Recorded for Decision {
    const NAME: &'static str = "Quotalock\\Decision";

    fn record() -> &'static Record<Decision> {
        &DECISION
    }

    fn shown(&self) -> Zval {
        property::object(decision([], self))
    }

    fn methods() -> Vec<Method> {
        http::methods::<Decision>()
    }
}

#[inline(always)]
fn decision<const GIVEN: usize>(given: [Zval; GIVEN], decision: &Decision) -> ZBox<ZendObject> {
    DECISION.object(given, &DECISION_FIELDS, decision)
}

fn rules(of: &Decision) -> Zval {
    property::array(table(&of.rules, Recorded::shown))
}

/// The PHP object of what a limiter decided, and whether it decided anything.
pub struct Decided(ZBox<ZendObject>, bool);

impl Decided {
    /// The object; its name is the limiter's own string, which all its decisions share.
    #[inline]
    pub fn new(of: &Decision, name: &Zval) -> Decided {
        Decided(decision([property::again(name)], of), of.has_decided())
    }

    /// The same object, if hooks are told of it.
    pub fn told(&mut self) -> Option<Zval> {
        self.1.then(|| {
            let mut same = Zval::new();
            same.set_object(&mut self.0);
            same
        })
    }
}

impl IntoZval for Decided {
    const TYPE: DataType = Shown::<Decision>::TYPE;
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = property::object(self.0);
        Ok(())
    }
}

/// The PHP object of a decision about several keys.
pub struct DecidedAll(pub Zval);

impl IntoZval for DecidedAll {
    const TYPE: DataType = Shown::<CombinedDecision>::TYPE;
    const NULLABLE: bool = false;

    fn set_zval(self, zval: &mut Zval, _persistent: bool) -> Result<()> {
        *zval = self.0;
        Ok(())
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

/// The decisions in the PHP object of several, which has them in its last slot.
pub fn parts(combined: &Zval) -> Vec<Zval> {
    let list = combined.object().and_then(|object| property::read(object, 5)).and_then(Zval::array);
    list.map_or_else(Vec::new, |list| list.values().map(Zval::shallow_clone).collect())
}

const RULE_DECISION_FIELDS: [Field<RuleDecision>; 9] = [
    ("allowed", Type::Bool, |d| bool(d.allowed)),
    ("limit", Type::Int, |d| int(d.limit)),
    ("remaining", Type::Int, |d| int(d.remaining)),
    ("retryAfterMs", Type::MaybeInt, |d| maybe(d.retry_after, milliseconds)),
    ("resetAfterMs", Type::Int, |d| milliseconds(d.reset_after)),
    ("algorithm", Type::Text, |d| algorithm(d.algorithm)),
    ("quota", Type::Int, |d| int(d.quota)),
    ("periodMs", Type::Int, |d| milliseconds(d.period)),
    ("capacity", Type::Int, |d| int(d.capacity)),
];

static RULE_DECISION: Record<RuleDecision> =
    Record::new(&RULE_DECISION_FIELDS, |class, arguments| RULE_DECISION.keep(class, arguments));

impl Recorded for RuleDecision {
    const NAME: &'static str = "Quotalock\\RuleDecision";

    fn record() -> &'static Record<RuleDecision> {
        &RULE_DECISION
    }

    fn shown(&self) -> Zval {
        property::object(RULE_DECISION.object([], &RULE_DECISION_FIELDS, self))
    }
}

/// A text that many decisions carry, made once at start-up.
type SharedText = AtomicPtr<ZendStr>;

/// The texts of sources and algorithms, in the order of [`Source::ALL`] and [`ALGORITHMS`].
static SOURCES: [SharedText; Source::ALL.len()] = [const { SharedText::new(std::ptr::null_mut()) }; Source::ALL.len()];
static NAMES: [SharedText; ALGORITHMS.len()] = [const { SharedText::new(std::ptr::null_mut()) }; ALGORITHMS.len()];

/// Registers the classes.
pub fn register() -> Result<()> {
    RULE_DECISION.register()?;
    DECISION.register()?;
    COMBINED_DECISION.register()?;
    let make = |made: &SharedText, text| made.store(ZendStr::new_interned(text, true).into_raw(), Ordering::Release);
    SOURCES.iter().zip(Source::ALL).for_each(|(made, source)| make(made, source.as_str()));
    NAMES.iter().zip(ALGORITHMS).for_each(|(made, algorithm)| make(made, algorithm.name()));
    Ok(())
}

#[inline(always)]
fn source(source: Source) -> Zval {
    shared(source.as_str(), SOURCES.iter().zip(Source::ALL).find(|(_, other)| *other == source))
}

#[inline(always)]
fn algorithm(name: &'static str) -> Zval {
    shared(name, NAMES.iter().zip(ALGORITHMS).find(|(_, other)| std::ptr::eq(other.name(), name)))
}

/// The text, as it was made if it was.
#[inline(always)]
fn shared<T>(text: &str, made: Option<(&SharedText, T)>) -> Zval {
    let made = made.map_or(std::ptr::null_mut(), |(made, _)| made.load(Ordering::Acquire));
    // An interned string is shared without counting.
    let (text, kind) = match made.is_null() {
        true => (ZendStr::new(text, false).into_raw(), IS_STRING_EX),
        false => (made, IS_INTERNED_STRING_EX),
    };
    let mut zval = Zval::new();
    zval.value.str_ = text;
    zval.u1.type_info = kind;
    zval
}
