//! Being the first: twin of `claim.lua`.

use std::slice;
use std::sync::Arc;

use super::entry::{CacheEntry, EntryKind, SLACK_MS};
use super::{CLAIM, MOST_PAYLOAD, part_with_room, take_bytes};
use wire::call::hint::AttemptId;
use wire::call::prelude::*;
use wire::metrics::{LoadCounters, LoadResult};

/// Stores a value if there is none and no caller is loading one.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The Redis key.
    pub key: Vec<u8>,
    /// Of the caller's attempt: a repeated call has the same, and no other attempt ever has.
    pub id: AttemptId,
    /// How long the claim lasts in microseconds, at most [`MAX_FRESH`](super::MAX_FRESH).
    pub ttl: u64,
    /// What the others are told; none is nothing.
    pub value: Option<Vec<u8>>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
    /// Where it is counted who is the first.
    pub counters: LoadCounters,
}

/// The answer to a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Whether the caller is the first.
    pub first: bool,
    /// What the first gave; none if that was nothing, or if it has no result yet.
    pub value: Option<Arc<Vec<u8>>>,
    /// Whether a function is running for it, which has no result yet.
    pub running: bool,
    /// The microseconds until the claim, or the lease of what is running, ends.
    pub left: u64,
    /// How long ago it was claimed, in microseconds.
    pub age: u64,
}

impl Claim {
    fn payload(&self) -> &[u8] {
        self.value.as_deref().unwrap_or_default()
    }

    fn kind(&self) -> EntryKind {
        if self.value.is_some() { EntryKind::Value } else { EntryKind::Negative }
    }
}

impl Command for Claim {
    fn feature(&self) -> Feature {
        Feature::Once
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &CLAIM,
            keys: slice::from_ref(&self.key),
            effect: Effect::Repeatable,
            name: ("a claim of", &self.shown),
        }
    }

    fn args(&self, args: &mut Args<'_>) {
        args.bytes(&self.id);
        args.numbers([self.ttl, self.kind() as u64]);
        part_with_room(args, self.payload());
        args.number(self.ttl.div_ceil(1_000) + SLACK_MS);
    }

    fn reply_limit(&self) -> ReplyLimit {
        ReplyLimit::of(0, MOST_PAYLOAD)
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let mut entry = CacheEntry::load(space, &self.key, now)?;
        let reply = |first: bool, kind: EntryKind, left, age, payload| {
            let fields = [1, now, first.into(), kind as u64, left, age].map(int);
            fields.into_iter().chain([Reply::Bytes(payload)]).collect()
        };
        if entry.kind.is_value() || entry.is_leased(now) {
            let payload = entry.payload(space, &self.key);
            if entry.dirty {
                entry.save(space, &self.key, None, now);
            }
            return Ok(if entry.kind.is_value() {
                // Else the owner is one who loads, or did.
                let claimed = entry.deadline == 0 && entry.owner == self.id;
                reply(claimed, entry.kind, entry.left(now), now - entry.made, payload)
            } else {
                reply(false, EntryKind::Nothing, entry.deadline - now, 0, Vec::new())
            });
        }
        let token = entry.next_token(now);
        entry.take_lease(now);
        entry.become_new(self.kind(), (self.ttl, 0), self.payload().len(), now);
        (entry.owner, entry.version, entry.last) = (self.id, token, token);
        entry.save(space, &self.key, Some(self.payload()), now);
        Ok(reply(true, self.kind(), self.ttl, 0, self.payload().to_vec()))
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let kind = unsigned(fields, 1)?;
        let payload = take_bytes(fields, 4)?;
        let value = match kind {
            1 => Some(Arc::new(payload)),
            0 | 2 => None,
            other => return Err(odd_reply(format!("kind {other}"))),
        };
        Ok(Answer::new(Claimed {
            first: flag(fields, 0)?,
            value,
            running: kind == 0,
            left: unsigned(fields, 2)?,
            age: unsigned(fields, 3)?,
        }))
    }

    fn has_written(&self, answer: &Answer) -> bool {
        answer.get::<Claimed>().is_some_and(|claimed| claimed.first)
    }

    fn around(&self) -> Option<&dyn Around> {
        Some(self)
    }
}

impl Around for Claim {
    fn finish(&self, result: Result<Answer>) -> Result<Answer> {
        let claimed = result.as_ref().map(|answer| answer.get::<Claimed>().is_some_and(|claimed| claimed.first));
        self.counters.count(match claimed {
            Ok(true) => LoadResult::Loaded,
            Ok(false) => LoadResult::Hit,
            Err(_) => LoadResult::Error,
        });
        result
    }
}
