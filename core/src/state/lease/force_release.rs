//! Ending all leases: twin of `scripts/lease/force_release.lua`.

use std::sync::Arc;

use super::{Transition, int, load_all, save};
use crate::base::decision::Source;
use crate::base::error::Result;
use crate::call::answer::Answer;
use crate::call::operation::{Operation, unsigned};
use crate::call::resp::{self, Value};
use crate::call::script::Script;
use crate::call::space::Space;

/// Frees all that anybody holds in the tables. Answers how many leases were ended.
#[derive(Clone, Debug)]
pub struct ForceRelease {
    /// The whole Redis keys of the tables, each once.
    pub keys: Arc<[Vec<u8>]>,
    /// How many permits there are.
    pub permits: u64,
    /// What the channels' names begin with.
    pub wake_prefix: Arc<[u8]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
}

impl Operation for ForceRelease {
    fn script(&self) -> &Script {
        Transition::ForceRelease.script()
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        self.keys.get(at).map(Vec::as_slice)
    }

    fn arg_count(&self) -> usize {
        2
    }

    fn encode_args(&self, out: &mut Vec<u8>) {
        resp::number_part(out, self.permits);
        resp::part(out, &self.wake_prefix);
    }

    fn mutates(&self) -> bool {
        true
    }

    fn repeatable(&self) -> bool {
        true
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Value>> {
        let tables = load_all(space, &self.keys, now, None)?;
        let mut ended = 0;
        for (key, mut table) in self.keys.iter().zip(tables) {
            let count = std::mem::take(&mut table.holders).len();
            let told = if count > 0 { table.wake(self.permits, now) } else { Vec::new() };
            if count > 0 || table.changed {
                save(space, key, &table, now, &told, &self.wake_prefix);
            }
            ended += count as u64;
        }
        Ok(vec![Value::Int(1), int(now), int(ended)])
    }

    fn decode(&self, fields: &[Value], _source: Source) -> Result<Answer> {
        Ok(Answer::new(unsigned(fields, 0)?))
    }

    fn describe(&self) -> String {
        format!("forced release of {}", self.shown)
    }
}
