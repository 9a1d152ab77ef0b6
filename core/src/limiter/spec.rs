//! What every call of one limiter has in common, and the decisions that it reads from replies.

use std::sync::{Arc, Weak};

use super::known::rule_name;
use super::names::Named;
use super::prefetch::Prefetch;
use super::script::Scripts;
use super::usage::{CountedUsage, KnownUsage, RuleUsage};
use crate::limiter::decision::{Decision, RuleDecision, RuleDecisions};
use crate::limiter::denials::Shelf;
use crate::limiter::policy::{Policy, Rule};
use crate::reports::Reporter;
use wire::base::error::{Cause, Code, Error, Result, shown, span};
use wire::base::source::Source;
use wire::call::command::{odd_reply, unsigned};
use wire::call::resp::Reply;
use wire::call::space::Lesson;
use wire::metrics::DecisionCounters;
use wire::session::Session;

/// What every call of one limiter has in common.
pub(super) struct LimiterSpec {
    pub name: Arc<str>,
    /// Its name among those of this process; none if there are too many.
    pub named: Option<Named>,
    /// That of its client, which may be gone.
    pub session: Weak<Session>,
    /// Where its decisions are counted.
    pub counters: DecisionCounters,
    /// What reports them to Redis, if anything does.
    pub reporter: Option<Arc<Reporter>>,
    /// Who is asked.
    pub asks: Source,
    pub policy: Policy,
    pub scripts: Arc<Scripts>,
    pub scope: Option<Vec<u8>>,
    pub enforce: bool,
    /// How many permits are taken at once.
    pub prefetch: Prefetch,
    /// What the Redis keys start with, up to the user's key.
    pub stem: Vec<u8>,
    /// As `stem`, for what is remembered of requests.
    pub request_stem: Vec<u8>,
    /// The policy as script arguments, encoded once.
    pub policy_args: Vec<u8>,
    pub policy_arg_count: usize,
    /// Where its denials are remembered; none of what needs no server, or if there is no such place.
    pub shelf: Option<Shelf>,
    /// What its states begin with.
    pub heading: Vec<u8>,
    /// Whether they can be charged where they lie.
    pub in_place: bool,
}

impl LimiterSpec {
    /// How many fields of a reply one decision takes.
    pub fn field_count(&self) -> usize {
        2 + 3 * self.policy.rules().len()
    }

    /// What the fields of one decision say to the process' own counting; none if they are not understood. `stride` is how many
    /// there are for each rule: the last three are its wait, what is left, and when it is as new.
    pub fn tells(
        &self,
        fields: &[Reply],
        stride: usize,
        replayed: bool,
        mut learn: impl FnMut(Lesson<'_>),
    ) -> Option<()> {
        let (block_left, rules) = (unsigned(fields, 1).ok()?, self.policy.rules());
        let all = fields.get(2..2 + stride * rules.len())?.chunks(stride);
        let mut told = all.zip(rules).filter_map(|(fields, rule)| {
            let (remaining, reset_after) = (unsigned(fields, stride - 2).ok()?, unsigned(fields, stride - 1).ok()?);
            Some(RuleUsage {
                rule: rule_name(rule),
                used: rule.capacity().saturating_sub(remaining),
                reset_after,
                fades_over: (rule.algorithm().definition().fades_over)(rule, reset_after),
            })
        });
        learn(Lesson::Counted(&mut |known, now| {
            KnownUsage::learn_in(known, CountedUsage { block_left, rules: &mut told, replayed }, now);
        }));
        Some(())
    }

    /// As [`tells`](LimiterSpec::tells), of what may be the remembered answer to an earlier request, by the policy of then. Returns the
    /// fields behind it.
    pub fn tells_described<'f>(&self, fields: &'f [Reply], learn: impl FnMut(Lesson<'_>)) -> Option<&'f [Reply]> {
        let rules = self.policy.rules();
        let count = unsigned(fields, 0).ok()? as usize;
        let end = count.checked_mul(4)?.checked_add(4)?;
        let (own, others) = (fields.get(2..end)?, fields.get(end..)?);
        let is_of = |(rule, fields): (&Rule, &[Reply])| unsigned(fields, 0).is_ok_and(|limit| limit == rule.capacity());
        if count == rules.len() && rules.iter().zip(own[2..].chunks(4)).all(is_of) {
            self.tells(own, 4, true, learn);
        }
        Some(others)
    }

    pub fn decision(&self, fields: &[Reply], cost: u64, source: Source) -> Result<Decision> {
        let rules = self.policy.rules().iter().zip(fields[2..].chunks(3));
        let decided =
            rules.map(|(rule, fields)| of_rule(rule, rule.capacity(), fields)).collect::<Result<RuleDecisions>>()?;
        let (healed, block_left) = (unsigned(fields, 0)? == 1, unsigned(fields, 1)?);
        Ok(Decision::combine(&self.name, decided, block_left, cost, healed, source).enforced(self.enforce))
    }

    /// The decision of `on_error`, which no store made.
    pub fn fallback(&self, cost: u64, source: Source, retry_after: u64) -> Decision {
        let allowed = source == Source::Open;
        let rule = |rule: &Rule| RuleDecision {
            allowed,
            limit: rule.capacity(),
            remaining: if allowed { rule.capacity() } else { 0 },
            retry_after: Some(if allowed { 0 } else { retry_after }),
            reset_after: 0,
            algorithm: rule.algorithm().name(),
            quota: rule.limit(),
            period: rule.period(),
            capacity: rule.capacity(),
        };
        let rules: RuleDecisions = self.policy.rules().iter().map(rule).collect();
        Decision::combine(&self.name, rules, 0, cost, false, source).enforced(self.enforce)
    }

    /// The error that a denial is to a caller who requires.
    pub fn limited(&self, redis_key: &[u8], decision: &Decision) -> Error {
        let when = match decision.retry_after {
            Some(micros) => format!("try again in {}", span(micros.next_multiple_of(1_000))),
            None => format!(
                "it can never be admitted, because cost {} is above the limit of {}",
                decision.cost, decision.limit
            ),
        };
        let (key, name) = (self.shown_key(redis_key), &self.name);
        let message = match decision.source {
            Source::Closed => format!(
                "\"{key}\" was not decided by \"{name}\": Redis could not be asked, and on_error=closed denies \
                 meanwhile; {when}"
            ),
            _ => format!("\"{key}\" is over the limit of \"{name}\": {when}"),
        };
        Error::new(Code::Limited, message).caused_by(Some(Cause::new(decision.clone())))
    }

    /// The user's part of a Redis key, for messages.
    pub fn shown_key(&self, redis_key: &[u8]) -> String {
        shown(&redis_key[self.stem.len()..redis_key.len() - 1])
    }
}

/// What one rule says: its wait, what is left, and when it is as new.
fn of_rule(rule: &Rule, limit: u64, fields: &[Reply]) -> Result<RuleDecision> {
    let retry_after = if fields.first() == Some(&Reply::Int(-1)) { None } else { Some(unsigned(fields, 0)?) };
    Ok(rule_decision(rule, limit, retry_after, unsigned(fields, 1)?, unsigned(fields, 2)?))
}

/// A rule's answer.
pub(super) fn rule_decision(
    rule: &Rule,
    limit: u64,
    retry_after: Option<u64>,
    remaining: u64,
    reset_after: u64,
) -> RuleDecision {
    RuleDecision {
        allowed: retry_after == Some(0),
        limit,
        remaining,
        retry_after,
        reset_after,
        algorithm: rule.algorithm().name(),
        quota: rule.limit(),
        period: rule.period(),
        capacity: rule.capacity(),
    }
}

/// The decisions of a reply to a request with an id, which may be older than the policies of now.
pub(super) fn described(mut fields: &[Reply], of: &[&LimiterSpec], source: Source) -> Result<Vec<Decision>> {
    let mut decisions = Vec::with_capacity(of.len());
    while !fields.is_empty() {
        let (count, cost) = (unsigned(fields, 0)? as usize, unsigned(fields, 1)?);
        let (healed, block_left) = (unsigned(fields, 2)? == 1, unsigned(fields, 3)?);
        let odd = || odd_reply(format!("{} fields for {count} rules", fields.len()));
        let size = count.checked_mul(4).filter(|_| count > 0).ok_or_else(odd)?;
        let rules = fields.get(4..4 + size).ok_or_else(odd)?;
        let Some(spec) = of.get(decisions.len()) else {
            return Err(Error::invalid(
                "request_id was already used for more charges: use another id for another request",
            ));
        };
        // The rules of now, as far as there are any: those of then were not written down.
        let known = |at: usize| spec.policy.rules().get(at).or(spec.policy.rules().last()).ok_or_else(odd);
        let rule = |(at, rule): (usize, &[Reply])| of_rule(known(at)?, unsigned(rule, 0)?, &rule[1..]);
        let rules = rules.chunks(4).enumerate().map(rule).collect::<Result<RuleDecisions>>()?;
        let enforce = spec.enforce;
        decisions.push(Decision::combine(&spec.name, rules, block_left, cost, healed, source).enforced(enforce));
        fields = &fields[4 + size..];
    }
    if decisions.len() < of.len() {
        return Err(Error::invalid(
            "request_id was already used for fewer charges: use another id for another request",
        ));
    }
    Ok(decisions)
}
