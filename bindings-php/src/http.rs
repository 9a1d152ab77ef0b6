//! `headers()` and `problem()` of decisions: these are plain PHP objects, so each is read back from its properties.

use ext_php_rs::args::Arg;
use ext_php_rs::builders::FunctionBuilder;
use ext_php_rs::exception::PhpException;
use ext_php_rs::flags::{DataType, MethodFlags};
use ext_php_rs::types::{ZendHashTable, ZendObject, Zval};
use ext_php_rs::zend::ExecuteData;
use quotalock::{
    Algorithm, Code, CombinedDecision, Decision, Error, HeaderOptions, HeaderSyntax, Problem, RuleDecision, Source,
    convert,
};

use crate::argument::{Flag, Text};
use crate::exception::Outcome;
use crate::property;
use crate::record::{Method, list};

/// What has these methods.
pub trait Told: Sized {
    /// What an object of its class says; none if somebody made it without what it needs.
    fn read(object: &ZendObject) -> Option<Self>;

    fn fields(&self, options: &HeaderOptions) -> Vec<(&'static str, String)>;

    fn body(&self) -> quotalock::Result<Problem>;
}

impl Told for Decision {
    fn read(object: &ZendObject) -> Option<Decision> {
        let slots = Slots(object);
        Some(Decision {
            name: slots.text(0)?.into(),
            allowed: slots.bool(1)?,
            would_deny: slots.bool(2)?,
            limit: slots.number(3)?,
            remaining: slots.number(4)?,
            retry_after: slots.wait(5)?,
            reset_after: slots.micros(6)?,
            cost: slots.number(7)?,
            source: Source::by_name(&slots.text(8)?)?,
            healed: slots.bool(9)?,
            rules: slots.list(10, rule)?,
        })
    }

    fn fields(&self, options: &HeaderOptions) -> Vec<(&'static str, String)> {
        self.headers(options)
    }

    fn body(&self) -> quotalock::Result<Problem> {
        self.problem()
    }
}

impl Told for CombinedDecision {
    fn read(object: &ZendObject) -> Option<CombinedDecision> {
        let slots = Slots(object);
        Some(CombinedDecision {
            allowed: slots.bool(0)?,
            would_deny: slots.bool(1)?,
            binding: usize::try_from(slots.number(2)?).ok()?,
            retry_after: slots.wait(3)?,
            source: Source::by_name(&slots.text(4)?)?,
            decisions: slots.list(5, Decision::read)?,
        })
    }

    fn fields(&self, options: &HeaderOptions) -> Vec<(&'static str, String)> {
        self.headers(options)
    }

    fn body(&self) -> quotalock::Result<Problem> {
        self.problem()
    }
}

fn rule(object: &ZendObject) -> Option<RuleDecision> {
    let slots = Slots(object);
    Some(RuleDecision {
        allowed: slots.bool(0)?,
        limit: slots.number(1)?,
        remaining: slots.number(2)?,
        retry_after: slots.wait(3)?,
        reset_after: slots.micros(4)?,
        algorithm: Algorithm::by_name(&slots.text(5)?)?.name(),
        quota: slots.number(6)?,
        period: slots.micros(7)?,
        capacity: slots.number(8)?,
    })
}

/// The properties of an object, by their places.
struct Slots<'a>(&'a ZendObject);

impl Slots<'_> {
    fn bool(&self, at: usize) -> Option<bool> {
        property::read(self.0, at)?.bool()
    }

    fn number(&self, at: usize) -> Option<u64> {
        u64::try_from(property::read(self.0, at)?.long()?).ok()
    }

    fn micros(&self, at: usize) -> Option<u64> {
        convert::micros_from_ms("time", property::read(self.0, at)?.long()?).ok()
    }

    fn wait(&self, at: usize) -> Option<Option<u64>> {
        if property::read(self.0, at)?.is_null() { Some(None) } else { self.micros(at).map(Some) }
    }

    fn text(&self, at: usize) -> Option<String> {
        property::read(self.0, at)?.string()
    }

    fn list<T, L: FromIterator<T>>(&self, at: usize, read: impl Fn(&ZendObject) -> Option<T>) -> Option<L> {
        property::read(self.0, at)?.array()?.values().map(|each| read(each.object()?)).collect()
    }
}

/// The methods of a class of decisions.
pub fn methods<T: Told>() -> Vec<Method> {
    let headers = FunctionBuilder::new("headers", headers::<T>)
        .not_required()
        .arg(Arg::new("syntax", DataType::String).default("'draft-11'"))
        .arg(Arg::new("legacy", DataType::Bool).default("false"))
        .returns(DataType::Array, false, false);
    let problem = FunctionBuilder::new("problem", problem::<T>).returns(DataType::Array, false, false);
    vec![(headers, MethodFlags::Public), (problem, MethodFlags::Public)]
}

extern "C" fn headers<T: Told>(frame: &mut ExecuteData, answer: &mut Zval) {
    let (mut syntax, mut legacy) = (Arg::new("syntax", DataType::String), Arg::new("legacy", DataType::Bool));
    let (parser, this) = frame.parser_object();
    if parser.not_required().arg(&mut syntax).arg(&mut legacy).parse().is_err() {
        return;
    }
    settle(answer, || {
        let syntax = syntax.zval().map_or(Text::Default("draft-11"), |given| Text::Given(given));
        let legacy = legacy.zval().map_or(Flag::Default(false), |given| Flag::Given(given)).get(2)?;
        let options = HeaderOptions { syntax: HeaderSyntax::parse(&syntax.utf8(1, "syntax")?)?, legacy };
        let mut table = ZendHashTable::new();
        for (name, value) in told::<T>(this)?.fields(&options) {
            // Cannot fail: the table is ours.
            let _ = table.insert(name, property::text(value));
        }
        Ok(table)
    });
}

extern "C" fn problem<T: Told>(frame: &mut ExecuteData, answer: &mut Zval) {
    let (parser, this) = frame.parser_object();
    if parser.parse().is_err() {
        return;
    }
    settle(answer, || {
        let problem = told::<T>(this)?.body()?;
        let mut table = ZendHashTable::new();
        let members = [
            ("type", property::text(problem.kind)),
            ("title", property::text(problem.title)),
            ("status", property::int(u64::from(problem.status))),
            ("detail", property::text(problem.detail)),
            ("violated-policies", list(&problem.violated_policies, |name| property::text(name))),
        ];
        for (name, value) in members {
            // Cannot fail: the table is ours.
            let _ = table.insert(name, value);
        }
        Ok(table)
    });
}

fn told<T: Told>(this: Option<&mut ZendObject>) -> quotalock::Result<T> {
    let incomplete =
        "this decision was not made by a call of Quotalock: it lacks a property, or has one of another version";
    this.and_then(|object| T::read(object)).ok_or_else(|| Error::new(Code::InvalidArgument, incomplete))
}

/// Gives the array, or throws.
fn settle(answer: &mut Zval, make: impl FnOnce() -> Outcome<ext_php_rs::boxed::ZBox<ZendHashTable>>) {
    match make() {
        Ok(table) => answer.set_hashtable(table),
        Err(crate::exception::Problem::Thrown) => {}
        Err(problem) => {
            PhpException::from(problem).throw();
        }
    }
}
