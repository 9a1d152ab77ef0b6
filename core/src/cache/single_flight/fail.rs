//! A load that came to nothing: twin of `fail.lua`.

use std::sync::Arc;

use super::entry::{CacheEntry, EntryKind};
use super::{FAIL, Keys, part_with_room, wake};
use wire::call::hint::AttemptId;
use wire::call::prelude::*;

/// Ends the lease of an id, whose error may be remembered for a while. Answers whether it had the lease.
#[derive(Clone, Debug)]
pub struct Fail {
    /// The Redis keys.
    pub keys: Keys,
    /// Whose lease ends.
    pub id: AttemptId,
    /// For how long the error is remembered, in microseconds; 0: it is not.
    pub pause: u64,
    /// The error.
    pub error: String,
    /// Whether no call is needed, because there never was a lease.
    pub is_known: bool,
    /// What the channels' names begin with.
    pub wake_prefix: Arc<[u8]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
    /// Whether it is a cache's, or a `once`'s.
    pub feature: Feature,
}

impl Command for Fail {
    fn feature(&self) -> Feature {
        self.feature
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &FAIL,
            keys: &self.keys,
            effect: Effect::Repeatable,
            name: ("the end of a load of", &self.shown),
        }
    }

    fn has_spare_keys(&self) -> bool {
        true
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.number(self.pause);
        args.bytes(&self.wake_prefix);
        part_with_room(args, self.error.as_bytes());
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let [key, _] = &self.keys;
        let mut entry = CacheEntry::load(space, key, now)?;
        let ended = entry.loads(&self.id, now);
        let mut payload = None;
        if ended {
            entry.end_lease();
            if self.pause > 0 && entry.kind.is_value() {
                (entry.failed, entry.pause) = (now, self.pause);
            } else if self.pause > 0 {
                payload = Some(self.error.as_bytes());
                entry.become_new(EntryKind::Error, (self.pause, 0), self.error.len(), now);
            }
        }
        if ended || entry.dirty {
            entry.save(space, key, payload, now);
        }
        if ended {
            wake(space, &self.keys, &self.wake_prefix);
        }
        Ok(vec![Reply::Int(1), int(now), int(ended.into())])
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for Fail {
    fn known(&self) -> Option<Answer> {
        self.is_known.then_some(Answer::new(false))
    }
}
