//! What decisions tell over HTTP. JavaScript writes a decision as it read it, and says whose limiter's it is.

use std::sync::Arc;

use napi_derive::napi;
use quotalock::{
    ALGORITHMS, Code, CombinedDecision, Decision, Error, HeaderOptions, HeaderSyntax, RuleDecision, Source,
};

use crate::error::{Result, thrown};

/// How many numbers the whole of a decision has, and how many each of its rules.
const WHOLE: usize = 9;
const RULE: usize = 9;

/// Header fields of a decision, or of a combined one if there are several names: names and values by turns.
#[napi(catch_unwind)]
pub fn headers(
    names: Vec<String>,
    numbers: Vec<f64>,
    combined: bool,
    syntax: String,
    legacy: bool,
) -> Result<Vec<String>> {
    let fields = || {
        let options = HeaderOptions { syntax: HeaderSyntax::parse(&syntax)?, legacy };
        Ok(match combined {
            true => read_combined(&names, &numbers)?.headers(&options),
            false => read(names.first(), &numbers)?.headers(&options),
        })
    };
    let fields = fields().map_err(thrown)?;
    Ok(fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect())
}

/// The body of a refusal: its type, title, status and detail, and then the policies that are violated.
#[napi(catch_unwind)]
pub fn problem(names: Vec<String>, numbers: Vec<f64>, combined: bool) -> Result<Vec<String>> {
    let problem = match combined {
        true => read_combined(&names, &numbers).and_then(|decision| decision.problem()),
        false => read(names.first(), &numbers).and_then(|decision| decision.problem()),
    };
    let quotalock::Problem { kind, title, status, detail, violated_policies } = problem.map_err(thrown)?;
    let members = [kind.to_owned(), title.to_owned(), status.to_string(), detail];
    Ok(members.into_iter().chain(violated_policies).collect())
}

/// Reads what [`Answers`](super::Answers) wrote.
fn read(name: Option<&String>, numbers: &[f64]) -> quotalock::Result<Decision> {
    let (whole, rules) = numbers.split_at_checked(WHOLE).ok_or_else(odd)?;
    Ok(Decision {
        name: Arc::from(name.ok_or_else(odd)?.as_str()),
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
        decisions.push(read(names.get(decisions.len()), decision)?);
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
