//! Storing what was loaded: twin of `fill.lua`.

use std::sync::Arc;

use super::entry::{CacheEntry, EntryKind};
use super::{FILL, GOOD, Keys, entry, part_with_room, wake};
use wire::call::hint::AttemptId;
use wire::call::prelude::*;

/// Stores a value, unless something newer was stored or forgotten since its token was given. Answers whether it is stored.
#[derive(Clone, Debug)]
pub struct Fill {
    /// The Redis keys.
    pub keys: Keys,
    /// Whose lease ends.
    pub id: AttemptId,
    /// The token of the load; none for a value that is newer than all before it. 0 is that of no lease, and stores nothing.
    pub token: Option<u64>,
    /// The ttl of leases in microseconds.
    pub ttl: u64,
    /// How long the value is fresh, in microseconds, at most [`MAX_FRESH`](super::MAX_FRESH).
    pub fresh: u64,
    /// How long it is stale after that, likewise.
    pub stale: u64,
    /// The value; none says that there is none.
    pub value: Option<Vec<u8>>,
    /// What the channels' names begin with.
    pub wake_prefix: Arc<[u8]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
    /// Whether it is a cache's, or a `once`'s.
    pub feature: Feature,
}

impl Fill {
    fn kind(&self) -> EntryKind {
        if self.value.is_some() { EntryKind::Value } else { EntryKind::Negative }
    }

    fn payload(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }
}

impl Command for Fill {
    fn feature(&self) -> Feature {
        self.feature
    }

    fn frame(&self) -> Frame<'_> {
        // What is put again would be newer than what came between.
        let effect = if self.token.is_some() { Effect::Repeatable } else { Effect::Once };
        Frame { script: &FILL, keys: &self.keys, effect, name: ("a store into", &self.shown) }
    }

    fn has_spare_keys(&self) -> bool {
        true
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.numbers([self.token.unwrap_or(0), self.ttl, self.fresh, self.stale, self.kind() as u64]);
        args.bytes(&self.wake_prefix);
        part_with_room(args, self.payload());
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let [key, _] = &self.keys;
        let mut entry = CacheEntry::load(space, key, now)?;
        let token = self.token.unwrap_or_else(|| entry.next_token(now));
        if self.token.is_none() {
            entry.last = token;
            entry.take_lease(now);
        }
        let mut ended = self.token.is_none() || entry.loads(&self.id, now);
        if ended {
            entry.end_lease();
        }
        let again = token == entry.version;
        let is_ours = token <= entry.last || entry.last == 0;
        let stored = token > entry.version && is_ours && now <= token + GOOD * self.ttl;
        if stored {
            ended = true;
            entry.become_new(self.kind(), (self.fresh, self.stale), self.payload().len(), now);
            (entry.version, entry.last) = (token, entry.last.max(token));
            if self.token.is_some() {
                entry.delta = now.saturating_sub(token).min(entry::LONG - 1);
            }
            entry.save(space, key, Some(self.payload()), now);
        } else if ended || entry.dirty {
            entry.save(space, key, None, now);
        }
        if ended {
            wake(space, &self.keys, &self.wake_prefix);
        }
        Ok(vec![Reply::Int(1), int(now), int((stored || again).into())])
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for Fill {
    fn known(&self) -> Option<Answer> {
        (self.token == Some(0)).then_some(Answer::new(false))
    }
}
