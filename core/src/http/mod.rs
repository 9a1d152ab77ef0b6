//! What web servers need: header fields and the body of a refusal of a decision, and whose request it is.

mod address;
mod headers;
mod problem;

pub use address::{DEFAULT_IPV6_PREFIX, client_address};
pub use headers::{HeaderOptions, HeaderSyntax};
pub use problem::Problem;

use crate::limiter::algorithm::Algorithm;
use crate::limiter::decision::{CombinedDecision, Decision, RuleDecision};
use crate::limiter::policy::Rule;
use wire::base::source::Source;

/// One or several decisions about one request.
#[derive(Clone, Copy)]
struct HttpDecisions<'a> {
    allowed: bool,
    retry_after: Option<u64>,
    source: Source,
    decisions: &'a [Decision],
    /// The one that binds.
    binding: &'a Decision,
}

impl<'a> HttpDecisions<'a> {
    fn one(decision: &'a Decision) -> HttpDecisions<'a> {
        HttpDecisions {
            allowed: decision.allowed,
            retry_after: decision.retry_after,
            source: decision.source,
            decisions: std::slice::from_ref(decision),
            binding: decision,
        }
    }

    /// None if there is no decision in it.
    fn several(combined: &'a CombinedDecision) -> Option<HttpDecisions<'a>> {
        Some(HttpDecisions {
            allowed: combined.allowed,
            retry_after: combined.retry_after,
            source: combined.source,
            decisions: &combined.decisions,
            binding: combined.decisions.get(combined.binding)?,
        })
    }

    /// Whether somebody counted.
    fn is_counted(&self) -> bool {
        !matches!(self.source, Source::Open | Source::Closed)
    }

    /// Every rule, with the decision that it is part of.
    fn rules(&self) -> impl Iterator<Item = (&'a Decision, &'a RuleDecision)> + use<'a> {
        self.decisions.iter().flat_map(|decision| decision.rules.iter().map(move |rule| (decision, rule)))
    }

    /// After how many seconds a denied call may be repeated: at least 1. One that can never be admitted is told the period
    /// of the rules that deny it.
    fn retry_seconds(&self) -> u64 {
        let refused = || self.rules().filter(|(_, rule)| rule.retry_after.is_none());
        let never = || refused().map(|(_, rule)| rule.period).max().unwrap_or(0);
        seconds(self.retry_after.unwrap_or_else(never)).max(1)
    }
}

/// Whether a key is denied by a block alone, of which its rules know nothing.
fn is_blocked(decision: &Decision) -> bool {
    (!decision.allowed || decision.would_deny) && decision.rules.iter().all(|rule| rule.allowed)
}

/// What a rule is called: as its limiter; if that has several, its own text follows.
fn name_of(decision: &Decision, rule: &RuleDecision) -> String {
    if decision.rules.len() == 1 {
        return decision.name.to_string();
    }
    let algorithm = Algorithm::by_name(rule.algorithm);
    let capacity = Some(rule.capacity).filter(|capacity| *capacity != rule.quota);
    let known = algorithm.and_then(|algorithm| Rule::of(algorithm, rule.quota, rule.period, capacity).ok());
    match known {
        Some(known) => format!("{}:{known}", decision.name),
        None => format!("{}:{}", decision.name, rule.quota),
    }
}

/// Whole seconds, rounded up: whoever waits so long is never early.
fn seconds(micros: u64) -> u64 {
    micros.div_ceil(1_000_000)
}
