//! One call about several keys, all or none: twin of `script/{all,charge}.lua`.

use std::sync::Arc;
use std::time::Duration;

use super::denied::Recall;
use super::request_memory::{Expected, RequestMemory};
use super::script::{Scripts, of_several};
use super::spec::{LimiterSpec, described};
use super::state::KeyState;
use crate::limiter::decision::{CombinedDecision, Decision};
use crate::limiter::denials::Frees;
use wire::base::source::Source;
use wire::call::prelude::*;
use wire::call::space::Lesson;

/// One of the charges.
pub(super) struct CombinedCharge {
    pub spec: Arc<LimiterSpec>,
    /// The whole Redis key.
    pub key: Vec<u8>,
    pub cost: u64,
    /// Which form of policy it has, among those of the script; from 1.
    form: usize,
}

pub(super) struct CombinedCall {
    /// In the order of their keys, so that the same charges in another order are the same call.
    pub parts: Vec<CombinedCharge>,
    /// Where the caller has each.
    pub places: Vec<usize>,
    memory: Option<RequestMemory>,
    /// What stands for all keys, in what is remembered of a request.
    print: u64,
    script: Arc<Script>,
    /// What each has to do with remembered denials, in any order.
    recalls: Vec<Option<Recall>>,
}

impl CombinedCall {
    /// Describes the call: limiters' specs, whole Redis keys and costs.
    pub fn new(
        charges: Vec<(Arc<LimiterSpec>, Vec<u8>, u64)>,
        memory: Option<RequestMemory>,
        recalls: Vec<Option<Recall>>,
    ) -> CombinedCall {
        let mut charges: Vec<_> = charges.into_iter().enumerate().collect();
        charges.sort_by(|(_, (_, key, _)), (_, (_, other, _))| key.cmp(other));
        let (places, charges): (Vec<usize>, Vec<_>) = charges.into_iter().unzip();
        let print = memory.as_ref().map_or(0, |_| print(&charges));
        let policies: Vec<&Arc<Scripts>> = charges.iter().map(|(spec, ..)| &spec.scripts).collect();
        let (script, forms_of) = of_several(&policies, memory.is_some());
        let part = |((spec, key, cost), form)| CombinedCharge { spec, key, cost, form };
        CombinedCall {
            parts: charges.into_iter().zip(forms_of).map(part).collect(),
            places,
            memory,
            print,
            script,
            recalls,
        }
    }

    /// The decisions, which are in the order of the keys, in that of the caller.
    fn combined(&self, decisions: Vec<Decision>, source: Source) -> Answer {
        let mut placed: Vec<(usize, Decision)> = self.places.iter().copied().zip(decisions).collect();
        placed.sort_by_key(|(place, _)| *place);
        Answer::new(CombinedDecision::combine(placed.into_iter().map(|(_, decision)| decision).collect(), source))
    }

    /// The answer to a request that was charged, in which a limiter that is not enforced may deny.
    fn remembered(&self) -> Expected {
        Expected { whose: Some(self.print), decisions: self.parts.len(), denies: true }
    }

    fn field_count(&self) -> usize {
        self.parts.iter().map(|part| part.spec.field_count()).sum()
    }
}

impl Command for CombinedCall {
    fn feature(&self) -> Feature {
        Feature::Limiter
    }

    fn frame(&self) -> Frame<'_> {
        let effect = if self.memory.is_some() { Effect::Repeatable } else { Effect::Once };
        Frame::bare(&self.script, effect)
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        match self.parts.get(at) {
            Some(part) => Some(&part.key),
            None if at == self.parts.len() => self.memory.as_ref().map(|memory| memory.key.as_slice()),
            None => None,
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.number(self.parts.len() as u64);
        for part in &self.parts {
            args.number(part.form as u64);
            args.bytes(if part.spec.enforce { b"1" } else { b"0" });
            args.number(part.cost);
            args.parts(part.spec.policy_arg_count, |out| out.extend_from_slice(&part.spec.policy_args));
        }
        if let Some(memory) = &self.memory {
            args.number(self.print);
            args.number(memory.length);
        }
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        if let Some(memory) = &self.memory
            && let Some(reply) = memory.recall(space, now, &self.remembered())?
        {
            return Ok(reply);
        }
        let mut states = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            states.push(KeyState::load(&part.spec.policy, space, &part.key, now)?);
        }
        let denied = |(part, state): (&CombinedCharge, &KeyState)| part.spec.enforce && !state.decide(space, part.cost);
        let charged = !self.parts.iter().zip(&states).any(denied);
        let mut reply = vec![Reply::Int(1), Reply::Int(now as i64)];
        reply.extend(self.memory.as_ref().map(|_| Reply::Int(self.print as i64)));
        for (part, state) in self.parts.iter().zip(states) {
            let fields = state.charge_with(space, part.cost, charged).split_off(2);
            match &self.memory {
                Some(_) => reply.extend(KeyState::describe(&part.spec.policy, &fields, part.cost)),
                None => reply.extend(fields),
            }
        }
        if let Some(memory) = self.memory.as_ref().filter(|_| charged) {
            memory.remember(space, &reply, now);
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        let (mut fields, source): (&[Reply], _) = (fields, origin.source);
        if self.memory.is_some() {
            if unsigned(fields, 0)? != self.print {
                let message = "request_id was already used for other charges: use another id for another request";
                return Err(Error::invalid(message));
            }
            let specs: Vec<&LimiterSpec> = self.parts.iter().map(|part| &*part.spec).collect();
            return Ok(self.combined(described(&fields[1..], &specs, source)?, source));
        }
        if fields.len() != self.field_count() {
            return Err(odd_reply(format!("{} fields in place of {}", fields.len(), self.field_count())));
        }
        let mut decisions = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let (own, others) = fields.split_at(part.spec.field_count());
            decisions.push(part.spec.decision(own, part.cost, source)?);
            fields = others;
        }
        Ok(self.combined(decisions, source))
    }

    fn has_written(&self, answer: &Answer) -> bool {
        let Some(combined) = answer.get::<CombinedDecision>() else { return false };
        let charged = |d: &Decision| d.allowed && !d.would_deny && d.cost > 0;
        // A request that was seen before is only remembered.
        self.memory.is_none() && combined.allowed && combined.decisions.iter().any(charged)
    }

    fn describe(&self) -> String {
        let part = |part: &CombinedCharge| format!("\"{}\"", part.spec.shown_key(&part.key));
        format!("consume_all of {}", self.parts.iter().map(part).collect::<Vec<_>>().join(", "))
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }

    fn around_mut(&mut self) -> Option<&mut dyn Around> {
        Some(self)
    }
}

impl Around for CombinedCall {
    fn teach(&self, fields: &[Reply], learn: &mut dyn FnMut(&[u8], Lesson<'_>)) {
        // In front of what is remembered stands what it is about.
        let mut fields = Some(if self.memory.is_some() { fields.get(1..).unwrap_or_default() } else { fields });
        for CombinedCharge { spec, key, .. } in &self.parts {
            let learn = |lesson: Lesson<'_>| learn(key, lesson);
            fields = fields.and_then(|fields| match &self.memory {
                Some(_) => spec.tells_described(fields, learn),
                None => spec.tells(fields, 3, false, learn).and(fields.get(spec.field_count()..)),
            });
        }
    }

    fn on_send(&mut self, timeout: Duration) {
        self.recalls.iter_mut().flatten().for_each(|recall| recall.mark(Frees::Nothing, timeout));
    }

    fn on_answer(&self, _answer: &Answer) {
        self.recalls.iter().flatten().for_each(|recall| recall.answered(false));
    }

    fn fallback(&self, source: Source, retry_after: u64) -> Option<Answer> {
        let decision = |part: &CombinedCharge| part.spec.fallback(part.cost, source, retry_after);
        let decisions = self.parts.iter().map(decision).collect();
        Some(self.combined(decisions, source))
    }

    fn finish(&self, result: Result<Answer>) -> Result<Answer> {
        self.decided(&result);
        result
    }

    fn may_run_locally(&self) -> bool {
        true
    }
}

/// A number that other keys do not have: 52 bits of a hash of all of them.
fn print(charges: &[(Arc<LimiterSpec>, Vec<u8>, u64)]) -> u64 {
    let mut hash = sha1_smol::Sha1::new();
    for (_, key, _) in charges {
        hash.update(&(key.len() as u64).to_le_bytes());
        hash.update(key);
    }
    hash.digest().bytes().iter().take(7).fold(0, |print, byte| print << 8 | u64::from(*byte)) >> 4
}
