//! One call about one key: twin of a transition in `script/`.

use std::sync::Arc;
use std::time::Duration;

use super::denied::Recall;
use super::holds::{ID_SIZE, Unsettled};
use super::prefetch::PrefetchCall;
use super::request_memory::{Expected, RequestMemory};
use super::script::Transition;
use super::spec::{LimiterSpec, described};
use super::state::KeyState;
use crate::limiter::decision::Decision;
use crate::limiter::denials::Frees;
use wire::base::error::shown;
use wire::base::source::Source;
use wire::call::prelude::*;
use wire::call::resp;
use wire::call::space::Lesson;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// Decide without charging.
    Look,
    Consume,
    /// Consume, and a denial is an error.
    Require,
    UpTo,
    Refund,
    Block,
    Reserve {
        id: [u8; ID_SIZE],
        /// Microseconds.
        length: u64,
        unsettled: Unsettled,
    },
    Settle {
        id: [u8; ID_SIZE],
    },
    Reset,
}

impl Verb {
    pub fn name(self) -> &'static str {
        match self {
            Verb::Look => "peek",
            Verb::Consume => "consume",
            Verb::Require => "require",
            Verb::UpTo => "consume_up_to",
            Verb::Refund => "refund",
            Verb::Block => "block",
            Verb::Reserve { .. } => "reserve",
            Verb::Settle { .. } => "settle",
            Verb::Reset => "reset",
        }
    }
}

pub(super) struct LimiterCall {
    pub spec: Arc<LimiterSpec>,
    pub verb: Verb,
    /// The whole Redis key.
    pub key: Vec<u8>,
    /// Cost, amount or microseconds, as the verb takes it.
    pub amount: u64,
    /// Where the request is remembered, if it has an id.
    pub memory: Option<RequestMemory>,
    /// What it has to do with remembered denials.
    pub recall: Option<Recall>,
    /// What it has to do with permits that are held here, if anything.
    pub prefetch: Option<PrefetchCall>,
}

impl LimiterCall {
    /// The cost that the decision is about: refund and block answer as a peek of cost 1 would.
    fn cost(&self) -> u64 {
        if matches!(self.verb, Verb::Refund | Verb::Block) { 1 } else { self.amount }
    }

    /// How much Redis is asked for: the amount, and what is taken for others.
    fn amount_asked(&self) -> u64 {
        self.amount + self.more()
    }

    fn transition(&self) -> Transition {
        match self.verb {
            Verb::Look => Transition::Consume,
            Verb::Consume | Verb::Require if self.memory.is_some() => Transition::ConsumeOnce,
            Verb::Consume | Verb::Require => Transition::Consume,
            Verb::UpTo => Transition::UpTo,
            Verb::Refund if self.memory.is_some() => Transition::RefundOnce,
            Verb::Refund => Transition::Refund,
            Verb::Block => Transition::Block,
            Verb::Reserve { .. } => Transition::Reserve,
            Verb::Settle { .. } => Transition::Settle,
            Verb::Reset => Transition::Reset,
        }
    }

    /// The answer to a request that was charged; that to a refund is a look.
    fn remembered(&self) -> Expected {
        Expected { whose: None, decisions: 1, denies: self.verb == Verb::Refund }
    }

    /// Whether a denial of it says something about other calls.
    fn is_plain(&self) -> bool {
        matches!(self.verb, Verb::Consume | Verb::Require) && self.memory.is_none() && self.amount > 0
    }

    /// How much it takes for others.
    fn more(&self) -> u64 {
        self.prefetch.as_ref().map_or(0, PrefetchCall::more)
    }

    /// Reads the reply after its first two fields.
    fn read(&self, fields: &[Reply], source: Source) -> Result<Answer> {
        let last = || unsigned(fields, fields.len().wrapping_sub(1));
        let expected = self.spec.field_count();
        match self.verb {
            _ if self.memory.is_some() => match described(fields, &[&self.spec], source)?.as_slice() {
                [decision] => Ok(Answer::new(decision.clone())),
                others => Err(odd_reply(format!("{} decisions about one key", others.len()))),
            },
            Verb::Reset | Verb::Settle { .. } => Ok(Answer::new(last()? == 1)),
            Verb::UpTo if fields.len() == expected + 1 => {
                let taken = last()?;
                let mut decision = self.spec.decision(&fields[..expected], taken, source)?;
                if !self.spec.enforce {
                    // What is not enforced takes nothing away from the caller.
                    (decision.cost, decision.would_deny) = (self.amount, taken < self.amount);
                }
                Ok(Answer::new(decision))
            }
            _ if fields.len() == expected && self.verb != Verb::UpTo => {
                let mut decision = self.spec.decision(fields, self.cost(), source)?;
                decision.with_held(self.more());
                Ok(Answer::new(decision))
            }
            _ => Err(odd_reply(format!("{} fields in place of {expected}", fields.len()))),
        }
    }

    fn shown_key(&self) -> String {
        self.spec.shown_key(&self.key)
    }
}

impl Command for LimiterCall {
    fn feature(&self) -> Feature {
        Feature::Limiter
    }

    fn frame(&self) -> Frame<'_> {
        let effect = match self.verb {
            Verb::Look => Effect::Looks,
            // A settled hold answers the same settlement in the same way.
            Verb::Settle { .. } => Effect::Repeatable,
            _ if self.memory.is_some() => Effect::Repeatable,
            _ => Effect::Once,
        };
        Frame::bare(self.spec.scripts.script(self.transition()), effect)
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        match (at, &self.memory) {
            (0, _) => Some(&self.key),
            (1, Some(memory)) => Some(&memory.key),
            _ => None,
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        match self.verb {
            Verb::Reset => return,
            // A negative cost only looks.
            Verb::Look => args.parts(1, |out| resp::negative_part(out, self.amount)),
            _ => args.number(self.amount_asked()),
        }
        args.parts(self.spec.policy_arg_count, |out| out.extend_from_slice(&self.spec.policy_args));
        match self.verb {
            Verb::Reserve { id, length, unsettled } => {
                args.bytes(&id);
                args.number(length);
                args.number(unsettled as u64);
            }
            Verb::Settle { id } => args.bytes(&id),
            _ => {}
        }
        if let Some(memory) = &self.memory {
            args.number(memory.length);
        }
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        if self.verb == Verb::Reset {
            let existed = space.get(&self.key)?.is_some();
            space.delete(&self.key);
            return Ok(vec![Reply::Int(1), Reply::Int(now as i64), Reply::Int(i64::from(existed))]);
        }
        if let Some(memory) = &self.memory
            && let Some(reply) = memory.recall(space, now, &self.remembered())?
        {
            return Ok(reply);
        }
        let state = KeyState::load(&self.spec.policy, space, &self.key, now)?;
        let amount = self.amount_asked();
        let done = match self.verb {
            Verb::Refund => state.give_back(space, amount),
            Verb::Block => state.block(space, amount),
            Verb::UpTo => state.up_to(space, amount),
            Verb::Reserve { id, length, unsettled } => state.reserve(space, amount, id, length, unsettled),
            Verb::Settle { id } => state.settle(space, &id, amount),
            Verb::Look => state.consume(space, amount, true),
            Verb::Consume | Verb::Require | Verb::Reset => state.consume(space, amount, false),
        };
        let Some(memory) = &self.memory else { return Ok(done.reply) };
        let described = KeyState::describe(&self.spec.policy, &done.reply[2..], self.cost());
        let reply = [&done.reply[..2], &described].concat();
        if done.charged {
            memory.remember(space, &reply, now);
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        let answer = self.read(fields, origin.source)?;
        self.took(&answer, origin.source);
        Ok(answer)
    }

    fn has_written(&self, answer: &Answer) -> bool {
        let charged =
            |answer: &Answer| answer.get::<Decision>().is_some_and(|d| d.allowed && !d.would_deny && d.cost > 0);
        match self.verb {
            // A request that was seen before is only remembered.
            Verb::Consume | Verb::Require | Verb::UpTo | Verb::Reserve { .. } => {
                self.memory.is_none() && charged(answer)
            }
            Verb::Block => true,
            Verb::Reset | Verb::Settle { .. } => answer.get() == Some(&true),
            Verb::Look | Verb::Refund => false,
        }
    }

    fn describe(&self) -> String {
        format!("{} of \"{}\" by limiter \"{}\"", self.verb.name(), self.shown_key(), shown(self.spec.name.as_bytes()))
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }

    fn around_mut(&mut self) -> Option<&mut dyn Around> {
        Some(self)
    }
}

impl Around for LimiterCall {
    fn bundle(&self) -> Option<Bundle<'_>> {
        let kind = (Arc::as_ptr(&self.spec).addr(), self.amount_asked());
        let bundle =
            || Bundle { script: self.spec.scripts.script(Transition::ConsumeMany), kind, stem: &self.spec.stem };
        (matches!(self.verb, Verb::Consume | Verb::Require) && self.memory.is_none()).then(bundle)
    }

    fn teach(&self, fields: &[Reply], learn: &mut dyn FnMut(&[u8], Lesson<'_>)) {
        let mut learn = |lesson: Lesson<'_>| learn(&self.key, lesson);
        match (self.verb, &self.memory) {
            (Verb::Reset, _) => learn(Lesson::Reset),
            (_, None) => drop(self.spec.tells(fields, 3, false, learn)),
            (_, Some(_)) => drop(self.spec.tells_described(fields, learn)),
        }
    }

    fn known(&self) -> Option<Answer> {
        if let Some(spent) = self.begin() {
            return Some(spent);
        }
        let recall = self.recall.as_ref().filter(|_| self.is_plain())?;
        let denied = recall.denied(&self.spec, self.amount)?;
        // Then nothing is asked for.
        self.lost();
        Some(Answer::new(denied))
    }

    fn on_send(&mut self, timeout: Duration) {
        let frees = match self.verb {
            Verb::Look => return,
            Verb::Consume | Verb::Require | Verb::UpTo => Frees::Nothing,
            Verb::Reserve { unsettled: Unsettled::Spent, .. } => Frees::Nothing,
            Verb::Reserve { unsettled: Unsettled::Returned, length, .. } => Frees::Later(length),
            Verb::Refund | Verb::Block | Verb::Settle { .. } | Verb::Reset => Frees::Now,
        };
        self.recall.iter_mut().for_each(|recall| recall.mark(frees, timeout));
    }

    fn on_answer(&self, answer: &Answer) {
        let Some(recall) = &self.recall else { return };
        let decision = answer.get::<Decision>();
        let holds = matches!(self.verb, Verb::Reserve { unsettled: Unsettled::Returned, .. });
        recall.answered(holds && decision.is_some_and(|decision| decision.allowed));
        // What is taken for others may have been too much, and the cost alone not.
        let is_of_its_cost = self.is_plain() && self.more() == 0;
        if let Some(decision) = decision.filter(|decision| is_of_its_cost && !decision.allowed) {
            recall.remember(decision);
        }
    }

    fn gather(&mut self, answer: Answer) -> Result<Option<Answer>> {
        Ok(if self.asks_again(&answer) { None } else { Some(answer) })
    }

    fn without_redis(&self, _error: &Error) -> Option<Answer> {
        self.lost();
        None
    }

    fn fallback(&self, source: Source, retry_after: u64) -> Option<Answer> {
        if matches!(self.verb, Verb::Block | Verb::Reset | Verb::Settle { .. }) {
            return None;
        }
        let mut decision = self.spec.fallback(self.cost(), source, retry_after);
        if self.verb == Verb::UpTo {
            decision.cost = match decision.allowed {
                // What is not enforced takes nothing away from the caller.
                true if !self.spec.enforce => self.amount,
                true => self.amount.min(decision.remaining),
                false => 0,
            };
        }
        Some(Answer::new(decision))
    }

    fn retry_after(&self, answer: &Answer) -> Option<u64> {
        answer.get::<Decision>().filter(|decision| !decision.allowed)?.retry_after
    }

    fn finish(&self, result: Result<Answer>) -> Result<Answer> {
        self.decided(&result);
        let answer = result?;
        match answer.get::<Decision>() {
            Some(decision) if self.verb == Verb::Require && !decision.allowed => {
                Err(self.spec.limited(&self.key, decision))
            }
            _ => Ok(answer),
        }
    }

    fn may_run_locally(&self) -> bool {
        !matches!(self.verb, Verb::Block | Verb::Reset | Verb::Settle { .. })
    }
}
