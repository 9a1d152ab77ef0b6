//! A load that came to nothing: twin of `scripts/single_flight/fail.lua`.

use std::sync::Arc;

use super::entry::{Entry, Kind};
use super::{Keys, Transition, flag, int, part_with_room, wake};
use crate::base::decision::Source;
use crate::base::error::Result;
use crate::call::answer::Answer;
use crate::call::operation::Operation;
use crate::call::resp::{self, Value};
use crate::call::script::Script;
use crate::call::space::Space;
use crate::state::lease::Id;

/// Ends the lease of an id, whose error may be remembered for a while. Answers whether it had the lease.
#[derive(Clone, Debug)]
pub struct Fail {
    /// The Redis keys.
    pub keys: Keys,
    /// Whose lease ends.
    pub id: Id,
    /// For how long the error is remembered, in microseconds; 0: it is not.
    pub pause: u64,
    /// The error.
    pub error: String,
    /// Whether nobody needs to be asked: there never was a lease.
    pub is_known: bool,
    /// What the channels' names begin with.
    pub wake_prefix: Arc<[u8]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
}

impl Operation for Fail {
    fn script(&self) -> &Script {
        Transition::Fail.script()
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        self.keys.get(at).map(Vec::as_slice)
    }

    fn arg_count(&self) -> usize {
        4
    }

    fn encode_args(&self, out: &mut Vec<u8>) {
        resp::part(out, &self.id);
        resp::number_part(out, self.pause);
        resp::part(out, &self.wake_prefix);
        part_with_room(out, self.error.as_bytes());
    }

    fn local_answer(&self) -> Option<Answer> {
        self.is_known.then_some(Answer::new(false))
    }

    fn mutates(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Value>> {
        let [key, _] = &self.keys;
        let mut entry = Entry::load(space, key, now)?;
        let ended = entry.loads(&self.id, now);
        let mut payload = None;
        if ended {
            entry.end_lease();
            if self.pause > 0 && entry.kind.is_value() {
                (entry.failed, entry.pause) = (now, self.pause);
            } else if self.pause > 0 {
                payload = Some(self.error.as_bytes());
                entry.become_new(Kind::Error, (self.pause, 0), self.error.len(), now);
            }
        }
        if ended || entry.dirty {
            entry.save(space, key, payload, now);
        }
        if ended {
            wake(space, &self.keys, &self.wake_prefix);
        }
        Ok(vec![Value::Int(1), int(now), int(ended.into())])
    }

    fn decode(&self, fields: &[Value], _source: Source) -> Result<Answer> {
        Ok(Answer::new(flag(fields, 0)?))
    }

    fn describe(&self) -> String {
        format!("the end of a load of {}", self.shown)
    }
}
