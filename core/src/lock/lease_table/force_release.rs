//! Ending all leases: twin of `force_release.lua`.

use std::sync::Arc;

use super::{FORCE_RELEASE, load_all, save};
use wire::call::prelude::*;

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

impl Command for ForceRelease {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &FORCE_RELEASE,
            keys: &self.keys,
            effect: Effect::Repeatable,
            name: ("forced release of", &self.shown),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.number(self.permits);
        args.bytes(&self.wake_prefix);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
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
        Ok(vec![Reply::Int(1), int(now), int(ended)])
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        Ok(Answer::new(unsigned(fields, 0)?))
    }
}
