//! Giving permits back, or giving up waiting: twin of `release.lua`.

use std::sync::Arc;

use super::{AttemptId, RELEASE, kept_for, load_all, save};
use wire::call::prelude::*;

/// Frees what an id holds and takes it away from those who wait, in every table. Answers whether it held in all.
#[derive(Clone, Debug)]
pub struct Release {
    /// The whole Redis keys of the tables, each once.
    pub keys: Arc<[Vec<u8>]>,
    /// Of the attempt.
    pub id: AttemptId,
    /// For how many microseconds an acquire of this id that comes later is refused, at most
    /// [`LONGEST_TOMBSTONE`](super::LONGEST_TOMBSTONE); 0: it is not.
    pub cancel: u64,
    /// How many permits there are.
    pub permits: u64,
    /// What the channels' names begin with.
    pub wake_prefix: Arc<[u8]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
}

impl Command for Release {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        Frame { script: &RELEASE, keys: &self.keys, effect: Effect::GivesBack, name: ("release of", &self.shown) }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.number(self.cancel);
        args.number(self.permits);
        args.bytes(&self.wake_prefix);
        args.number(kept_for(0));
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let tables = load_all(space, &self.keys, now, Some(&self.id))?;
        let held = tables.iter().all(|table| table.left);
        for (key, mut table) in self.keys.iter().zip(tables) {
            let mut changed = table.changed || self.cancel > 0;
            let mut freed = table.left;
            if let Some(at) = table.waiting(&self.id) {
                freed |= table.dismiss(at, now);
                changed = true;
            }
            if self.cancel > 0 {
                table.bury(self.id, now + self.cancel);
            }
            let told = if freed { table.wake(self.permits, now) } else { Vec::new() };
            if changed {
                save(space, key, &table, now, &told, &self.wake_prefix);
            }
        }
        Ok(vec![Reply::Int(1), int(now), int(held.into())])
    }

    fn decode(&self, fields: &mut [Reply], origin: ReplyOrigin) -> Result<Answer> {
        // What is not held any more was freed by the first try.
        flag(fields, 0).map(|held| Answer::new(held || origin.is_repeated))
    }
}
