//! `Quotalock\Decision`, `Quotalock\CombinedDecision` and `Quotalock\RuleDecision`: plain PHP objects that can be
//! cloned, serialized and dumped.

use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::args::ArgInfoTables;
use ext_php_rs::builders::{ClassBuilder, FunctionBuilder};
use ext_php_rs::convert::IntoZval;
use ext_php_rs::error::Result;
use ext_php_rs::exception::PhpException;
use ext_php_rs::ffi::IS_INTERNED_STRING_EX;
use ext_php_rs::flags::{ClassFlags, DataType, MethodFlags};
use ext_php_rs::types::{ZendHashTable, ZendObject, ZendStr, Zval};
use ext_php_rs::zend::{ClassEntry, ExecuteData, ce};
use quotalock::{CombinedDecision, Decision, RuleDecision, Source, convert};

use crate::property::{self, Property, Type, bool, int};

const DECISION: &[Property] = &[
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
];

const COMBINED_DECISION: &[Property] = &[
    ("allowed", Type::Bool),
    ("wouldDeny", Type::Bool),
    ("binding", Type::Int),
    ("retryAfterMs", Type::MaybeInt),
    ("source", Type::Text),
    ("decisions", Type::Array),
];

const RULE_DECISION: &[Property] = &[
    ("allowed", Type::Bool),
    ("limit", Type::Int),
    ("remaining", Type::Int),
    ("retryAfterMs", Type::MaybeInt),
    ("resetAfterMs", Type::Int),
];

static DECISION_CLASS: AtomicPtr<ClassEntry> = AtomicPtr::new(std::ptr::null_mut());
static COMBINED_DECISION_CLASS: AtomicPtr<ClassEntry> = AtomicPtr::new(std::ptr::null_mut());
static RULE_DECISION_CLASS: AtomicPtr<ClassEntry> = AtomicPtr::new(std::ptr::null_mut());
/// The text of `redis`, which nearly every decision carries.
static REDIS: AtomicPtr<ZendStr> = AtomicPtr::new(std::ptr::null_mut());

/// Registers the classes.
pub fn register() -> Result<()> {
    record("Quotalock\\RuleDecision", RULE_DECISION, &RULE_DECISION_CLASS, |class, arguments| {
        keep(&RULE_DECISION_CLASS, class, arguments);
    })?;
    record("Quotalock\\Decision", DECISION, &DECISION_CLASS, |class, arguments| {
        keep(&DECISION_CLASS, class, arguments);
    })?;
    record("Quotalock\\CombinedDecision", COMBINED_DECISION, &COMBINED_DECISION_CLASS, |class, arguments| {
        keep(&COMBINED_DECISION_CLASS, class, arguments);
    })?;
    REDIS.store(ZendStr::new_interned(Source::Redis.as_str(), true).into_raw(), Ordering::Release);
    Ok(())
}

fn keep(cell: &AtomicPtr<ClassEntry>, class: &'static mut ClassEntry, arguments: ArgInfoTables) {
    cell.store(class, Ordering::Release);
    // The engine reads the tables for as long as the process lives.
    std::mem::forget(arguments);
}

fn record(
    name: &str,
    properties: &[Property],
    cell: &AtomicPtr<ClassEntry>,
    keep: fn(&'static mut ClassEntry, ArgInfoTables),
) -> Result<()> {
    ClassBuilder::new(name)
        .flags(ClassFlags::Final | ClassFlags::NoDynamicProperties)
        .method(FunctionBuilder::new("__construct", constructor), MethodFlags::Private)
        .registration(keep)
        .register()?;
    property::declare_public(cell.load(Ordering::Acquire), properties);
    Ok(())
}

/// Private: only a limiter decides.
extern "C" fn constructor(_frame: &mut ExecuteData, _answer: &mut Zval) {
    PhpException::new("decisions are made by limiters".into(), 0, ce::error()).throw();
}

fn new(cell: &AtomicPtr<ClassEntry>) -> ext_php_rs::boxed::ZBox<ZendObject> {
    // SAFETY: stored at start-up and alive for as long as the module; a start-up that failed leaves no PHP to call this.
    ZendObject::new(unsafe { cell.load(Ordering::Acquire).as_ref() }.unwrap_or_else(ce::stdclass))
}

/// Microseconds as PHP shows them: milliseconds, rounded up.
fn milliseconds(micros: u64) -> Zval {
    int(convert::ms(micros))
}

fn retry(micros: Option<u64>) -> Zval {
    micros.map_or_else(Zval::null, milliseconds)
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
    let mut object = new(&RULE_DECISION_CLASS);
    let values = [
        bool(rule.allowed),
        int(rule.limit),
        int(rule.remaining),
        retry(rule.retry_after),
        milliseconds(rule.reset_after),
    ];
    property::fill(&mut object, 0, values);
    property::object(object)
}

fn list<T>(items: &[T], shown: fn(&T) -> Zval) -> Zval {
    let mut table = ZendHashTable::with_capacity(u32::try_from(items.len()).unwrap_or_default());
    for each in items {
        // Cannot fail: the table is ours, and none of so few elements is full.
        let _ = table.push(shown(each));
    }
    let mut list = Zval::new();
    list.set_hashtable(table);
    list
}

/// The PHP object of a decision.
pub fn value(decision: &Decision) -> Zval {
    let mut object = new(&DECISION_CLASS);
    let values = [
        bool(decision.allowed),
        bool(decision.would_deny),
        int(decision.limit),
        int(decision.remaining),
        retry(decision.retry_after),
        milliseconds(decision.reset_after),
        int(decision.cost),
        source(decision.source),
        bool(decision.healed),
        list(&decision.rules, rule),
    ];
    property::fill(&mut object, 0, values);
    property::object(object)
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
        let mut object = new(&COMBINED_DECISION_CLASS);
        let values = [
            bool(combined.allowed),
            bool(combined.would_deny),
            int(combined.binding as u64),
            retry(combined.retry_after),
            source(combined.source),
            list(&combined.decisions, value),
        ];
        property::fill(&mut object, 0, values);
        *zval = property::object(object);
        Ok(())
    }
}
