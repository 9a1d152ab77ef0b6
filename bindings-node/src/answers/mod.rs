//! Answers as JavaScript reads them: decisions and flags as numbers in one array, whatever else as values beside it.
//!
//! An answer is `size, number of the call, kind, ...`, `size` being how many numbers it has. By kind:
//!
//! | kind | then |
//! |---|---|
//! | [`Kind::Decision`] | a decision |
//! | [`Kind::Combined`] | `allowed, would_deny, binding, retry_after`, the index of the source, and of each decision its size and itself |
//! | [`Kind::Flag`] | 0 or 1. A flag is also the word that a lock was lost, under the number by which it was watched |
//! | [`Kind::Failure`] | the place of a `{ code, message, thrown }` among the values, and a decision if it has one |
//! | [`Kind::Value`] | the place of a value (values.rs) |
//!
//! A decision is `allowed, limit, remaining, retry_after, reset_after` (milliseconds, -1 for never) of the whole, then
//! its cost, whether it healed, the index of its source in [`Source::ALL`], whether it would deny, and of each rule the same
//! five, the index of its algorithm in [`ALGORITHMS`], its quota, its period and its capacity. JavaScript knows whose
//! limiter's it is.

mod http;
mod mailbox;
mod values;

use napi_derive::napi;
use quotalock::{ALGORITHMS, Answer, Code, CombinedDecision, Decision, Error, Result, RuleDecision, Source, convert};

pub use mailbox::{Lookout, Mailbox};
pub use values::Value;

/// How many numbers the whole of a decision has, and how many each of its rules.
pub const WIDTH: usize = 9;

/// The kinds of answers.
#[napi]
pub enum Kind {
    /// A decision.
    Decision,
    /// One decision about several keys.
    Combined,
    /// Yes or no.
    Flag,
    /// An error.
    Failure,
    /// Anything else.
    Value,
}

/// The sources of decisions, in the order of their numbers.
#[napi(catch_unwind)]
pub fn sources() -> Vec<&'static str> {
    Source::ALL.iter().map(|source| source.as_str()).collect()
}

/// The names of algorithms, in the order of their numbers.
#[napi(catch_unwind)]
pub fn algorithms() -> Vec<&'static str> {
    ALGORITHMS.iter().map(|algorithm| algorithm.name()).collect()
}

/// Answers that were written down and not yet collected.
#[derive(Default)]
pub struct Answers {
    /// One answer after another.
    pub numbers: Vec<f64>,
    /// What answers refer to; none once it was taken.
    pub values: Vec<Option<Value>>,
    /// Answers to looks, each with its call, that are still to be understood.
    pub looked: Vec<(u64, Result<Answer>)>,
    /// How many answers of calls there are, those of looks not counted.
    pub count: usize,
}

impl Answers {
    /// Writes an answer down.
    pub fn push(&mut self, id: u64, answer: Result<Answer>) {
        self.write(id, |answers| answers.answer(answer));
    }

    /// Writes down that a lock was lost that is watched under this number.
    pub fn lost(&mut self, id: u64) {
        self.numbers.extend([4.0, id as f64, number(Kind::Flag), 1.0]);
    }

    /// Whether nothing lies here.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.looked.is_empty()
    }

    /// Forgets everything, but keeps the room.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.values.clear();
        self.looked.clear();
        self.count = 0;
    }

    /// Writes down what `write` writes, or why it could not.
    fn write(&mut self, id: u64, write: impl FnOnce(&mut Answers) -> Result<()>) {
        let start = self.numbers.len();
        self.numbers.extend([0.0, id as f64]);
        if let Err(error) = write(self) {
            self.numbers.truncate(start + 2);
            self.value(Kind::Failure, Value::Failure(error));
        }
        self.numbers[start] = (self.numbers.len() - start) as f64;
        self.count += 1;
    }

    /// Writes the kind of an answer and what follows it.
    fn answer(&mut self, answer: Result<Answer>) -> Result<()> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let decision = error.cause::<Decision>().cloned();
                self.value(Kind::Failure, Value::Failure(error));
                return decision.map_or(Ok(()), |decision| self.decision(&decision));
            }
        };
        if let Some(decision) = answer.get() {
            self.numbers.push(number(Kind::Decision));
            self.decision(decision)
        } else if let Some(yes) = answer.get() {
            self.numbers.extend([number(Kind::Flag), flag(*yes)]);
            Ok(())
        } else if let Some(combined) = answer.get() {
            self.numbers.push(number(Kind::Combined));
            self.combined(combined)
        } else {
            self.value(Kind::Value, Value::Answer(answer));
            Ok(())
        }
    }

    /// Writes the kind of an answer, and lays its value beside.
    fn value(&mut self, kind: Kind, value: Value) {
        self.numbers.extend([number(kind), self.values.len() as f64]);
        self.values.push(Some(value));
    }

    fn combined(&mut self, c: &CombinedDecision) -> Result<()> {
        let source = source_number(c.source)?;
        self.numbers.extend([flag(c.allowed), flag(c.would_deny), c.binding as f64, wait(c.retry_after), source]);
        for decision in &c.decisions {
            let start = self.numbers.len();
            self.numbers.push(0.0);
            self.decision(decision)?;
            self.numbers[start] = (self.numbers.len() - start - 1) as f64;
        }
        Ok(())
    }

    fn decision(&mut self, decision: &Decision) -> Result<()> {
        self.numbers.extend(of_whole(decision)?);
        for rule in &decision.rules {
            self.numbers.extend(of_rule(rule)?);
        }
        Ok(())
    }
}

/// The numbers of the whole of a decision.
pub fn of_whole(d: &Decision) -> Result<[f64; WIDTH]> {
    let source = source_number(d.source)?;
    let [allowed, limit, remaining, retry_after, reset_after] =
        five(d.allowed, d.limit, d.remaining, d.retry_after, d.reset_after);
    let (healed, would_deny) = (flag(d.healed), flag(d.would_deny));
    Ok([allowed, limit, remaining, retry_after, reset_after, d.cost as f64, healed, source, would_deny])
}

/// The numbers of one of its rules.
pub fn of_rule(r: &RuleDecision) -> Result<[f64; WIDTH]> {
    let algorithm = ALGORITHMS.iter().position(|algorithm| algorithm.name() == r.algorithm);
    let algorithm = algorithm.ok_or_else(|| Error::new(Code::Internal, "no number for an algorithm"))? as f64;
    let [allowed, limit, remaining, retry_after, reset_after] =
        five(r.allowed, r.limit, r.remaining, r.retry_after, r.reset_after);
    let (quota, period, capacity) = (r.quota as f64, convert::ms(r.period) as f64, r.capacity as f64);
    Ok([allowed, limit, remaining, retry_after, reset_after, algorithm, quota, period, capacity])
}

fn five(allowed: bool, limit: u64, remaining: u64, retry_after: Option<u64>, reset_after: u64) -> [f64; 5] {
    [flag(allowed), limit as f64, remaining as f64, wait(retry_after), convert::ms(reset_after) as f64]
}

fn number(kind: Kind) -> f64 {
    f64::from(kind as i32)
}

fn flag(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}

fn wait(micros: Option<u64>) -> f64 {
    micros.map_or(-1.0, |micros| convert::ms(micros) as f64)
}

fn source_number(source: Source) -> Result<f64> {
    let unknown = || Error::new(Code::Internal, format!("no number for the source {source}"));
    Source::ALL.iter().position(|other| *other == source).map(|at| at as f64).ok_or_else(unknown)
}
