//! Forgetting an entry: twin of `invalidate.lua`.

use std::sync::Arc;

use super::entry::{CacheEntry, EntryKind};
use super::{INVALIDATE, Keys, wake};
use wire::call::prelude::*;

/// Forgets the value of an entry and whatever is being loaded for it. Answers whether there was a value, or a load under way.
#[derive(Clone, Debug)]
pub struct Invalidate {
    /// The Redis keys.
    pub keys: Keys,
    /// The ttl of leases in microseconds.
    pub ttl: u64,
    /// What the channels' names begin with.
    pub wake_prefix: Arc<[u8]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
    /// Whether it is a cache's, or a `once`'s.
    pub feature: Feature,
}

impl Command for Invalidate {
    fn feature(&self) -> Feature {
        self.feature
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &INVALIDATE,
            keys: &self.keys,
            effect: Effect::Repeatable,
            name: ("invalidation of", &self.shown),
        }
    }

    fn has_spare_keys(&self) -> bool {
        true
    }

    fn args(&self, args: &mut Args<'_>) {
        args.number(self.ttl);
        args.bytes(&self.wake_prefix);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let [key, _] = &self.keys;
        let mut entry = CacheEntry::load(space, key, now)?;
        let (had, was_loaded) = (entry.kind.is_value(), entry.is_leased(now));
        let token = entry.next_token(now);
        entry.take_lease(now);
        (entry.kind, entry.version, entry.last, entry.size) = (EntryKind::Nothing, token, token, 0);
        (entry.failed, entry.pause, entry.whole) = (0, 0, true);
        entry.guard(self.ttl, now);
        entry.save(space, key, None, now);
        wake(space, &self.keys, &self.wake_prefix);
        Ok(vec![Reply::Int(1), int(now), int(had.into()), int(was_loaded.into())])
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        Ok(Answer::new(flag(fields, 0)? | flag(fields, 1)?))
    }
}
