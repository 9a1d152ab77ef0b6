//! What decisions tell over HTTP. JavaScript writes a decision as it read it, and says whose limiter's it is.

use std::sync::Arc;

use napi::Either;
use napi_derive::napi;
use quotalock::{
    ALGORITHMS, Code, CombinedDecision, Decision, Error, HeaderOptions, HeaderSyntax, RuleDecision, Source,
};

use crate::error::{Result, thrown};

/// How many numbers the whole of a decision has, and how many each of its rules.
const WHOLE: usize = 9;
const RULE: usize = 9;

/// Header fields of a decision, or of a combined one if there are several names: names and values by turns, a line each, since
/// one text crosses faster than several. The numbers are the first of an array that is used again.
#[napi(catch_unwind)]
pub fn headers(
    names: Either<String, Vec<String>>,
    numbers: &[f64],
    length: u32,
    syntax: String,
    legacy: bool,
) -> Result<String> {
    let fields = HeaderSyntax::parse(&syntax).and_then(|syntax| {
        let options = HeaderOptions { syntax, legacy };
        Ok(match Told::read(&names, numbers, length)? {
            Told::One(decision) => decision.headers(&options),
            Told::Several(decision) => decision.headers(&options),
        })
    });
    let mut lines = String::with_capacity(160);
    for (name, value) in fields.map_err(thrown)? {
        for text in [name, &value] {
            lines.push_str(if lines.is_empty() { "" } else { "\n" });
            lines.push_str(text);
        }
    }
    Ok(lines)
}

/// The body of a refusal: its type, title, status and detail, and then the policies that are violated.
#[napi(catch_unwind)]
pub fn problem(names: Either<String, Vec<String>>, numbers: &[f64], length: u32) -> Result<Vec<String>> {
    let problem = Told::read(&names, numbers, length).and_then(|told| match told {
        Told::One(decision) => decision.problem(),
        Told::Several(decision) => decision.problem(),
    });
    let quotalock::Problem { kind, title, status, detail, violated_policies } = problem.map_err(thrown)?;
    let members = [kind.to_owned(), title.to_owned(), status.to_string(), detail];
    Ok(members.into_iter().chain(violated_policies).collect())
}

/// A decision as JavaScript wrote it.
enum Told {
    One(Decision),
    Several(CombinedDecision),
}

impl Told {
    fn read(names: &Either<String, Vec<String>>, numbers: &[f64], length: u32) -> quotalock::Result<Told> {
        let numbers = numbers.get(..length as usize).ok_or_else(odd)?;
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
    let (whole, rules) = numbers.split_at_checked(WHOLE).ok_or_else(odd)?;
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
        rules: rules.chunks_exact(RULE).map(read_rule).collect::<quotalock::Result<_>>()?,
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
