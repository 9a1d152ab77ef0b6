//! The transitions of a limiter's key: twins of `scripts/limit/{consume,refund,block,reset}.lua`.

use std::sync::Arc;

use super::Definition;
use super::state::State;
use crate::decision::{Decision, RuleDecision, Source};
use crate::error::{Error, Result, shown};
use crate::operation::{Answer, Operation, odd_reply, unsigned};
use crate::resp::{self, Value};
use crate::script::Script;
use crate::store::memory::Space;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Decide without charging.
    Look,
    Consume,
    /// Consume, and a denial is an error.
    Require,
    Refund,
    Block,
    Reset,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Look => "peek",
            Verb::Consume => "consume",
            Verb::Require => "require",
            Verb::Refund => "refund",
            Verb::Block => "block",
            Verb::Reset => "reset",
        }
    }
}

pub(super) struct Call {
    pub definition: Arc<Definition>,
    pub verb: Verb,
    /// The whole Redis key.
    pub key: Vec<u8>,
    /// Cost, amount or microseconds, as the verb takes it.
    pub amount: u64,
}

impl Call {
    fn charging(&self) -> bool {
        self.verb != Verb::Look
    }

    /// The cost that the decision is about: refund and block answer as a peek of cost 1 would.
    fn cost(&self) -> u64 {
        if matches!(self.verb, Verb::Refund | Verb::Block) { 1 } else { self.amount }
    }

    fn answer(&self, state: &State, healed: bool, waits: Option<&[Option<u64>]>, now: u64) -> Vec<Value> {
        let int = |n: u64| Value::Int(n as i64);
        let mut reply = vec![Value::Int(1), int(now), int(u64::from(healed)), int(state.block_left())];
        for (i, rule) in self.definition.policy.rules().iter().enumerate() {
            let definition = rule.algorithm().definition();
            let words = &state.words[i];
            let wait = waits.map_or_else(|| (definition.wait)(rule, words, now, self.cost()), |waits| waits[i]);
            reply.push(wait.map_or(Value::Int(-1), int));
            reply.push(int((definition.remaining)(rule, words, now)));
            reply.push(int(state.reset_after(i)));
        }
        reply
    }

    fn consume(&self, mut state: State, space: &mut dyn Space, now: u64) -> Vec<Value> {
        let rules = self.definition.policy.rules();
        let wait = |(i, rule)| (Self::definition_of(rule).wait)(rule, &state.words[i], now, self.amount);
        let waits: Vec<Option<u64>> = rules.iter().enumerate().map(wait).collect();
        let admitted = state.block_left() == 0 && waits.iter().all(|wait| *wait == Some(0));
        if self.charging() && admitted {
            for (rule, words) in rules.iter().zip(&mut state.words) {
                (Self::definition_of(rule).charge)(rule, words, now, self.amount);
            }
        }
        if self.charging() && (admitted || state.dirty) {
            state.save(space, &self.key);
        }
        self.answer(&state, self.charging() && state.foreign, Some(&waits), now)
    }

    fn definition_of(rule: &crate::policy::Rule) -> &'static crate::algorithm::Definition {
        rule.algorithm().definition()
    }
}

impl Operation for Call {
    fn script(&self) -> &Script {
        let scripts = &self.definition.scripts;
        match self.verb {
            Verb::Look | Verb::Consume | Verb::Require => &scripts.consume,
            Verb::Refund => &scripts.refund,
            Verb::Block => &scripts.block,
            Verb::Reset => &scripts.reset,
        }
    }

    fn key(&self) -> &[u8] {
        &self.key
    }

    fn arg_count(&self) -> usize {
        if self.verb == Verb::Reset { 0 } else { 1 + self.definition.policy_arg_count }
    }

    fn encode_args(&self, out: &mut Vec<u8>) {
        if self.verb != Verb::Reset {
            // A negative cost only looks.
            if self.charging() {
                resp::number_part(out, self.amount)
            } else {
                resp::negative_part(out, self.amount)
            }
            out.extend_from_slice(&self.definition.policy_args);
        }
    }

    fn mutates(&self) -> bool {
        self.charging()
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Value>> {
        let value = space.get(&self.key)?;
        if self.verb == Verb::Reset {
            let existed = value.is_some();
            space.delete(&self.key);
            return Ok(vec![Value::Int(1), Value::Int(now as i64), Value::Int(i64::from(existed))]);
        }
        let mut state = State::load(&self.definition.policy, value, now);
        match self.verb {
            Verb::Refund => {
                for (rule, words) in self.definition.policy.rules().iter().zip(&mut state.words) {
                    (Self::definition_of(rule).refund)(rule, words, now, self.amount);
                }
                if state.present {
                    state.save(space, &self.key);
                }
            }
            Verb::Block => {
                (state.block_length, state.block_until) = (self.amount, now + self.amount);
                state.save(space, &self.key);
            }
            _ => return Ok(self.consume(state, space, now)),
        }
        Ok(self.answer(&state, state.foreign, None, now))
    }

    fn decode(&self, fields: &[Value], source: Source) -> Result<Answer> {
        if self.verb == Verb::Reset {
            return Ok(Answer::Flag(unsigned(fields, 0)? == 1));
        }
        let rules = self.definition.policy.rules();
        if fields.len() != 2 + 3 * rules.len() {
            return Err(odd_reply(format!("{} fields for {} rules", fields.len(), rules.len())));
        }
        let rule_decision = |(i, rule): (usize, &crate::policy::Rule)| {
            let at = 2 + 3 * i;
            let retry_after = if fields[at] == Value::Int(-1) { None } else { Some(unsigned(fields, at)?) };
            Ok(RuleDecision {
                allowed: retry_after == Some(0),
                limit: rule.capacity(),
                remaining: unsigned(fields, at + 1)?,
                retry_after,
                reset_after: unsigned(fields, at + 2)?,
            })
        };
        let decided = rules.iter().enumerate().map(rule_decision).collect::<Result<Vec<_>>>()?;
        let (healed, block_left) = (unsigned(fields, 0)? == 1, unsigned(fields, 1)?);
        Ok(Answer::Decision(Decision::combine(decided, block_left, self.cost(), healed, source)))
    }

    fn made_up(&self, source: Source, retry_after: u64) -> Option<Answer> {
        if matches!(self.verb, Verb::Block | Verb::Reset) {
            return None;
        }
        let allowed = source == Source::Open;
        let rule = |rule: &crate::policy::Rule| RuleDecision {
            allowed,
            limit: rule.capacity(),
            remaining: if allowed { rule.capacity() } else { 0 },
            retry_after: Some(if allowed { 0 } else { retry_after }),
            reset_after: 0,
        };
        let rules = self.definition.policy.rules().iter().map(rule).collect();
        Some(Answer::Decision(Decision::combine(rules, 0, self.cost(), false, source)))
    }

    fn verdict(&self, answer: Answer) -> Result<Answer> {
        match answer {
            Answer::Decision(decision) if self.verb == Verb::Require && !decision.allowed => {
                let when = match decision.retry_after {
                    Some(micros) => format!("try again in {} ms", micros.div_ceil(1_000)),
                    None => format!("never: cost {} is above the limit of {}", decision.cost, decision.limit),
                };
                let message =
                    format!("\"{}\" is over the limit of \"{}\": {when}", self.shown_key(), self.definition.name);
                Err(Error::limited(message, decision))
            }
            other => Ok(other),
        }
    }

    fn may_run_locally(&self) -> bool {
        !matches!(self.verb, Verb::Block | Verb::Reset)
    }

    fn describe(&self) -> String {
        format!(
            "{} of \"{}\" by limiter \"{}\"",
            self.verb.name(),
            self.shown_key(),
            shown(self.definition.name.as_bytes())
        )
    }
}

impl Call {
    fn shown_key(&self) -> String {
        shown(&self.key[self.definition.stem.len()..self.key.len() - 1])
    }
}
