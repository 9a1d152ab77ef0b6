//! What decisions tell over HTTP. JavaScript writes a decision as it read it, and says whose limiter's it is.

use std::ptr::null_mut;
use std::sync::Arc;

use napi::bindgen_prelude::{Float64Array, FromNapiValue, Unknown};
use napi::{Either, Env, sys};
use napi_derive::napi;
use quotalock::{
    ALGORITHMS, Code, CombinedDecision, Decision, Error, HeaderOptions, HeaderSyntax, RuleDecision, Source,
};

use super::WIDTH;
use crate::error::{Result, failed, thrown};
use crate::function::function;

/// What is asked for, added up.
const PROBLEM: u32 = 1;
const FIELDS: u32 = 2;
const LEGACY: u32 = 4;
const NO_SYNTAX: u32 = 8;

/// The number by which such header fields are asked for.
#[napi(catch_unwind)]
pub fn header_fields(syntax: String, legacy: bool) -> Result<u32> {
    let syntax = match HeaderSyntax::parse(&syntax).map_err(thrown)? {
        HeaderSyntax::None => NO_SYNTAX,
        _ => 0,
    };
    Ok(FIELDS | syntax | if legacy { LEGACY } else { 0 })
}

/// A function that tells what a decision says over HTTP, or a combined one if it is given several names. JavaScript writes into
/// the array what is asked for, where the decision ends, and the decision as it read it.
///
/// Header fields are names and values by turns; of a problem there are its status and its JSON behind them. Each is a line of
/// one text, which crosses faster than several.
#[napi(catch_unwind, ts_return_type = "(names: string | string[]) => string")]
pub fn teller(env: Env, outbox: Float64Array) -> Result<Unknown<'static>> {
    let teller = Teller { outbox };
    function(env, move |env, names| teller.called(env, names))
}

struct Teller {
    outbox: Float64Array,
}

impl Teller {
    fn called(&self, env: Env, names: sys::napi_value) -> Result<sys::napi_value> {
        // SAFETY: it is the argument of the call that is made of us.
        let names = unsafe { Either::<String, Vec<String>>::from_napi_value(env.raw(), names) }.map_err(failed)?;
        let text = self.tell(&names).map_err(thrown)?;
        let (begin, length, mut made) = (text.as_ptr().cast(), text.len() as isize, null_mut());
        // What is ASCII need not be decoded, and nearly all is.
        let create = if text.is_ascii() { sys::napi_create_string_latin1 } else { sys::napi_create_string_utf8 };
        // SAFETY: this is called in the environment; the text lives until it is copied.
        match unsafe { create(env.raw(), begin, length, &mut made) } {
            sys::Status::napi_ok => Ok(made),
            _ => Err(thrown(Error::new(Code::Internal, "no text could be made"))),
        }
    }

    fn tell(&self, names: &Either<String, Vec<String>>) -> quotalock::Result<String> {
        let (&[asked, end], _) = self.outbox.split_first_chunk().ok_or_else(odd)?;
        let (asked, numbers) = (asked as u32, self.outbox.get(2..end as usize).ok_or_else(odd)?);
        let syntax = if asked & NO_SYNTAX == 0 { HeaderSyntax::Draft11 } else { HeaderSyntax::None };
        let options = HeaderOptions { syntax, legacy: asked & LEGACY != 0 };
        let (has_fields, has_problem) = (asked & FIELDS != 0, asked & PROBLEM != 0);
        let (fields, problem) = match Told::read(names, numbers)? {
            Told::One(told) => (has_fields.then(|| told.headers(&options)), has_problem.then(|| told.problem())),
            Told::Several(told) => (has_fields.then(|| told.headers(&options)), has_problem.then(|| told.problem())),
        };
        let mut lines = String::with_capacity(512);
        for (name, value) in fields.unwrap_or_default() {
            [name, "\n", &value, "\n"].into_iter().for_each(|text| lines.push_str(text));
        }
        if let Some(problem) = problem {
            let problem = problem?;
            [&problem.status.to_string(), "\n", &problem.to_json(), "\n"]
                .into_iter()
                .for_each(|text| lines.push_str(text));
        }
        lines.pop();
        Ok(lines)
    }
}

/// A decision as JavaScript wrote it.
enum Told {
    One(Decision),
    Several(CombinedDecision),
}

impl Told {
    fn read(names: &Either<String, Vec<String>>, numbers: &[f64]) -> quotalock::Result<Told> {
        if numbers.iter().any(|number| number.is_nan()) {
            return Err(odd());
        }
        Ok(match names {
            Either::A(name) => Told::One(read(name, numbers)?),
            Either::B(names) => Told::Several(read_combined(names, numbers)?),
        })
    }
}

/// Reads what [`Answers`](super::Answers) wrote.
fn read(name: &str, numbers: &[f64]) -> quotalock::Result<Decision> {
    let (whole, rules) = numbers.split_at_checked(WIDTH).ok_or_else(odd)?;
    Ok(Decision {
        name: Arc::from(name),
        allowed: whole[0] == 1.0,
        limit: whole[1] as u64,
        remaining: whole[2] as u64,
        retry_after: wait(whole[3]),
        reset_after: micros(whole[4]),
        cost: whole[5] as u64,
        healed: whole[6] == 1.0,
        source: source(whole[7])?,
        would_deny: whole[8] == 1.0,
        rules: rules.chunks_exact(WIDTH).map(read_rule).collect::<quotalock::Result<_>>()?,
    })
}

fn read_rule(numbers: &[f64]) -> quotalock::Result<RuleDecision> {
    Ok(RuleDecision {
        allowed: numbers[0] == 1.0,
        limit: numbers[1] as u64,
        remaining: numbers[2] as u64,
        retry_after: wait(numbers[3]),
        reset_after: micros(numbers[4]),
        algorithm: ALGORITHMS.get(numbers[5] as usize).ok_or_else(odd)?.name(),
        quota: numbers[6] as u64,
        period: micros(numbers[7]),
        capacity: numbers[8] as u64,
    })
}

fn read_combined(names: &[String], numbers: &[f64]) -> quotalock::Result<CombinedDecision> {
    let (whole, mut rest) = numbers.split_at_checked(5).ok_or_else(odd)?;
    let mut decisions = Vec::with_capacity(names.len());
    while let Some((size, behind)) = rest.split_first() {
        let (decision, others) = behind.split_at_checked(*size as usize).ok_or_else(odd)?;
        decisions.push(read(names.get(decisions.len()).ok_or_else(odd)?, decision)?);
        rest = others;
    }
    Ok(CombinedDecision {
        allowed: whole[0] == 1.0,
        would_deny: whole[1] == 1.0,
        binding: whole[2] as usize,
        retry_after: wait(whole[3]),
        source: source(whole[4])?,
        decisions,
    })
}

fn wait(ms: f64) -> Option<u64> {
    (ms >= 0.0).then(|| micros(ms))
}

fn micros(ms: f64) -> u64 {
    (ms as u64).saturating_mul(1_000)
}

fn source(number: f64) -> quotalock::Result<Source> {
    Source::ALL.get(number as usize).copied().ok_or_else(odd)
}

/// A decision that somebody changed, or put together by hand.
fn odd() -> Error {
    Error::new(Code::InvalidArgument, "this decision was not made by a call of Quotalock, or was changed since")
}
