//! Looking at entries, and getting the lease to load those that need it: twin of `look.lua`.

use std::sync::Arc;

use super::entry::{CacheEntry, EntryKind};
use super::{Keys, LOOK, MOST_PAYLOAD, register, take_bytes};
use wire::call::hint::{AttemptId, Channel};
use wire::call::prelude::*;

/// Fields of a reply about one entry.
const FIELDS: usize = 7;
/// Nobody is to load it.
pub(super) const NO_DUTY: u64 = 0;
/// The caller loads it.
pub(super) const LOADS: u64 = 1;
/// Another one does.
pub(super) const ANOTHER_LOADS: u64 = 2;
/// As many bytes of payloads are answered by one call, or the payload of one entry.
pub(super) const MOST_BYTES: u64 = 1 << 20;
/// As many entries are asked for by one call: a millisecond or two of the server.
const MOST_ENTRIES: usize = 250;
/// No load is known to take longer, in microseconds: the product with luck stays exact.
pub(super) const LONGEST_DELTA: u64 = 1 << 32;

/// One look at entries by one caller, who may get leases for them.
#[derive(Clone, Debug)]
pub struct Look {
    /// The Redis keys of each entry, each once.
    pub entries: Arc<[Keys]>,
    /// Of the caller's attempt: all its looks have the same, and no other attempt ever has.
    pub id: AttemptId,
    /// How long a lease lasts in microseconds, at most [`MAX_LEASE`](super::MAX_LEASE); 0 to look only.
    pub ttl: u64,
    /// Where the caller listens; none if it does not wait.
    pub channel: Option<Channel>,
    /// For each entry how early it is refreshed, in thousandths of the time that its last load took, at most
    /// [`MAX_LUCK`](super::MAX_LUCK).
    pub luck: Vec<u64>,
    /// Whether, when Redis cannot answer, the caller is to load all of it.
    pub load_when_away: bool,
    /// Whether the answer is only the first entry's value, or none: an `Option<Seen>` in place of what was found of each.
    pub value_only: bool,
    /// What it is about, for messages: `cache "home" for "x"`.
    pub shown: Arc<str>,
    /// Whether it is a cache's, or a `once`'s.
    pub feature: Feature,
    /// What its calls so far have come to; nothing before the first.
    pub progress: LookProgress,
}

/// How far a look has come that takes several calls, so that others have their turn between them.
#[derive(Clone, Debug, Default)]
pub struct LookProgress {
    found: Vec<Looked>,
    /// Of how many entries the last call told.
    last: usize,
    /// How many the next call may ask for.
    most: Option<usize>,
}

/// What a look has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Looked {
    /// The caller is to load it.
    Load {
        /// The fencing token; 0 if there is no lease, since Redis could not answer.
        token: u64,
        /// The microseconds until the lease ends.
        left: u64,
        /// A value that is still of use.
        at_hand: Option<Seen>,
    },
    /// A value.
    Seen(Seen),
    /// The last loader failed.
    Failed {
        /// How.
        error: String,
        /// For how many microseconds it is remembered.
        left: u64,
    },
    /// There is nothing, and another loads it.
    Busy {
        /// The microseconds until its lease ends.
        left: u64,
    },
    /// There is nothing.
    Nothing,
}

/// A value that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The value; none if it is known that there is none.
    pub value: Option<Arc<Vec<u8>>>,
    /// Whether it is not fresh any more.
    pub stale: bool,
    /// How old it is, in microseconds.
    pub age: u64,
}

impl Look {
    /// A look that gets no lease.
    pub(crate) fn only(entries: Arc<[Keys]>, shown: Arc<str>, feature: Feature) -> Look {
        Look {
            entries,
            id: AttemptId::default(),
            ttl: 0,
            channel: None,
            luck: Vec::new(),
            load_when_away: false,
            value_only: false,
            shown,
            feature,
            progress: LookProgress::default(),
        }
    }

    /// The entries that the next call asks for. Where values are large it names few, since few are answered.
    fn keys_to_ask(&self) -> &[Keys] {
        let LookProgress { found, last, most } = &self.progress;
        let slow = if *last > 0 { MOST_ENTRIES.min(2 * last) } else { MOST_ENTRIES };
        let most = most.map_or(slow, |most| slow.min(most));
        let rest = self.entries.get(found.len()..).unwrap_or_default();
        &rest[..most.min(rest.len())]
    }

    fn luck_of(&self, at: usize) -> u64 {
        self.luck.get(self.progress.found.len() + at).copied().unwrap_or(0)
    }

    fn twin_of_one(&self, space: &mut dyn Space, at: usize, mut entry: CacheEntry, now: u64, reply: &mut Vec<Reply>) {
        let [key, waiters] = &self.keys_to_ask()[at];
        let fresh_until = entry.made + entry.fresh;
        let stale = entry.kind.is_value() && now >= fresh_until;
        let ahead = entry.delta.min(LONGEST_DELTA) * self.luck_of(at) / 1_000;
        let has_luck = entry.delta > 0 && self.luck_of(at) > 0;
        let early = entry.kind.is_value() && has_luck && now + ahead >= fresh_until;
        let (mut duty, mut changed) = (NO_DUTY, entry.dirty);
        if self.ttl > 0 && entry.loads(&self.id, now) {
            duty = LOADS;
        } else if self.ttl > 0 && (entry.kind == EntryKind::Nothing || stale || early) {
            if entry.is_leased(now) {
                duty = ANOTHER_LOADS;
            } else if entry.kind == EntryKind::Nothing || now >= entry.failed + entry.pause {
                (duty, changed) = (LOADS, true);
                entry.take_lease(now);
                entry.last = entry.next_token(now);
                (entry.owner, entry.deadline, entry.ttl) = (self.id, now + self.ttl, self.ttl);
            }
        }
        let left = match (duty, entry.kind) {
            (0, EntryKind::Error) => entry.left(now),
            (0, _) => 0,
            _ => entry.deadline - now,
        };
        let age = if entry.kind == EntryKind::Nothing { 0 } else { now - entry.made };
        let payload = entry.payload(space, key);
        if changed && self.ttl > 0 {
            entry.save(space, key, None, now);
        }
        if let Some(channel) = &self.channel
            && duty == ANOTHER_LOADS
            && entry.kind == EntryKind::Nothing
        {
            register(space, waiters, channel);
        }
        let token = if duty == LOADS { entry.last } else { 0 };
        reply.extend([duty, token, left, entry.kind as u64, stale.into(), age].map(int));
        reply.push(Reply::Bytes(payload));
    }

    fn read(fields: &mut [Reply]) -> Result<Looked> {
        let (duty, token, left) = (unsigned(fields, 0)?, unsigned(fields, 1)?, unsigned(fields, 2)?);
        let kind = u8::try_from(unsigned(fields, 3)?).ok().and_then(EntryKind::of);
        let kind = kind.ok_or_else(|| odd_reply(format!("{fields:?}")))?;
        let (stale, age) = (unsigned(fields, 4)? == 1, unsigned(fields, 5)?);
        let payload = take_bytes(fields, 6)?;
        let seen = |value| Seen { value, stale, age };
        let seen = match kind {
            EntryKind::Value => Some(seen(Some(Arc::new(payload)))),
            EntryKind::Negative => Some(seen(None)),
            EntryKind::Error if duty == NO_DUTY => {
                return Ok(Looked::Failed { error: String::from_utf8_lossy(&payload).into_owned(), left });
            }
            EntryKind::Error | EntryKind::Nothing => None,
        };
        Ok(match (duty, seen) {
            (LOADS, at_hand) => Looked::Load { token, left, at_hand },
            (_, Some(seen)) => Looked::Seen(seen),
            (ANOTHER_LOADS, None) => Looked::Busy { left },
            (_, None) => Looked::Nothing,
        })
    }
}

impl Command for Look {
    fn feature(&self) -> Feature {
        self.feature
    }

    fn frame(&self) -> Frame<'_> {
        let effect = if self.ttl > 0 { Effect::Repeatable } else { Effect::Looks };
        Frame { script: &LOOK, keys: &[], effect, name: ("a look at", &self.shown) }
    }

    fn key(&self, at: usize) -> Option<&[u8]> {
        self.keys_to_ask().get(at / 2).map(|keys| keys[at % 2].as_slice())
    }

    fn has_spare_keys(&self) -> bool {
        true
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.number(self.ttl);
        args.bytes(self.channel.as_ref().map_or(&[], |channel| channel.as_slice()));
        for at in 0..self.keys_to_ask().len() {
            args.number(self.luck_of(at));
        }
    }

    fn reply_limit(&self) -> ReplyLimit {
        // One payload may be larger than several together.
        ReplyLimit::of(FIELDS * self.keys_to_ask().len(), MOST_PAYLOAD.max(MOST_BYTES as usize))
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let (mut loaded, mut bytes) = (Vec::new(), 0);
        for keys in self.keys_to_ask() {
            let entry = CacheEntry::load(space, &keys[0], now)?;
            bytes += entry.size;
            if !loaded.is_empty() && bytes > MOST_BYTES {
                break;
            }
            loaded.push(entry);
        }
        let mut reply = vec![Reply::Int(1), int(now)];
        for (at, entry) in loaded.into_iter().enumerate() {
            self.twin_of_one(space, at, entry, now, &mut reply);
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let count = fields.len() / FIELDS;
        if fields.len() != FIELDS * count || !(1..=self.keys_to_ask().len()).contains(&count) {
            return Err(odd_reply(format!("{} fields", fields.len())));
        }
        let found = fields.chunks_mut(FIELDS).map(Look::read).collect::<Result<Vec<Looked>>>()?;
        if self.value_only {
            let seen = |looked| if let Looked::Seen(seen) = looked { Some(seen) } else { None };
            return Ok(Answer::new(found.into_iter().next().and_then(seen)));
        }
        Ok(Answer::new(found))
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }

    fn around_mut(&mut self) -> Option<&mut dyn Around> {
        Some(self)
    }
}

impl Around for Look {
    fn gather(&mut self, answer: Answer) -> Result<Option<Answer>> {
        if self.entries.len() == 1 {
            return Ok(Some(answer));
        }
        let mut looked: Vec<Looked> = answer.take()?;
        (self.progress.last, self.progress.most) = (looked.len(), None);
        self.progress.found.append(&mut looked);
        let is_whole = self.progress.found.len() >= self.entries.len();
        Ok(is_whole.then(|| Answer::new(std::mem::take(&mut self.progress.found))))
    }

    fn narrow(&mut self, slot_of: fn(&[u8]) -> u16) -> bool {
        let slot = |keys: &Keys| slot_of(&keys[0]);
        let first = self.keys_to_ask().first().map(slot);
        self.progress.most = Some(self.keys_to_ask().iter().take_while(|keys| Some(slot(keys)) == first).count());
        true
    }

    fn without_redis(&self, _error: &Error) -> Option<Answer> {
        let found = &self.progress.found;
        let load = |_: &Keys| Looked::Load { token: 0, left: 0, at_hand: None };
        let rest = self.entries.iter().skip(found.len()).map(load);
        self.load_when_away.then(|| Answer::new(found.iter().cloned().chain(rest).collect::<Vec<Looked>>()))
    }
}

#[cfg(test)]
mod tests;
