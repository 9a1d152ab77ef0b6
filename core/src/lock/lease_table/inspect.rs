//! Looking at a table: twin of `inspect.lua`.

use std::sync::Arc;

use super::{INSPECT, MAX_WHO_BYTES, MOST_HOLDERS, Who, load_all};
use wire::call::prelude::*;

const HOLDER_FIELDS: usize = 6;

/// Tells who holds the first table; never writes.
#[derive(Clone, Debug)]
pub struct Inspect {
    /// The whole Redis key of the table; further ones are of no interest.
    pub keys: Arc<[Vec<u8>]>,
    /// What it is about, for messages.
    pub shown: Arc<str>,
}

/// Who holds a lock, and who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The last fencing token given; 0 if none is remembered.
    pub token: u64,
    /// How many wait by the server's knowledge: one of each process.
    pub waiters: u64,
    /// Those who hold, the first first.
    pub holders: Vec<Holder>,
    /// Whether a value stands at the key that is not ours: it counts as none.
    pub healed: bool,
}

/// One who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The host it runs on; empty if it did not say.
    pub host: String,
    /// Its process there.
    pub pid: u64,
    /// What it calls itself.
    pub label: String,
    /// Its fencing token.
    pub token: u64,
    /// How many permits it has.
    pub permits: u64,
    /// When it was granted, in microseconds since the epoch by the server's clock.
    pub since: u64,
    /// When it ends, likewise.
    pub until: u64,
    /// The microseconds until then.
    pub left: u64,
}

impl Command for Inspect {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            script: &INSPECT,
            keys: self.keys.get(..1).unwrap_or_default(),
            effect: Effect::Looks,
            name: ("inspection of", &self.shown),
        }
    }

    fn reply_limit(&self) -> ReplyLimit {
        ReplyLimit::of(HOLDER_FIELDS * MOST_HOLDERS, MAX_WHO_BYTES * MOST_HOLDERS)
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let mut reply = vec![Reply::Int(1), int(now)];
        for table in load_all(space, self.keys.get(..1).unwrap_or_default(), now, None)? {
            reply.extend([int(table.foreign.into()), int(table.last), int(table.waiters.len() as u64)]);
            for held in table.holders {
                let left = held.deadline - now;
                reply.extend([held.token, held.weight, held.since, held.deadline, left].map(int));
                reply.push(Reply::Bytes(held.who));
            }
        }
        Ok(reply)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        let holders = fields.get(3..).unwrap_or_default();
        if holders.len() % HOLDER_FIELDS != 0 {
            return Err(odd_reply(format!("{} fields", fields.len())));
        }
        let holder = |fields: &[Reply]| {
            let Who { host, pid, label } = Who::decode(&bytes(fields, 5)?);
            Ok(Holder {
                host,
                pid,
                label,
                token: unsigned(fields, 0)?,
                permits: unsigned(fields, 1)?,
                since: unsigned(fields, 2)?,
                until: unsigned(fields, 3)?,
                left: unsigned(fields, 4)?,
            })
        };
        Ok(Answer::new(Inspection {
            token: unsigned(fields, 1)?,
            waiters: unsigned(fields, 2)?,
            holders: holders.chunks(HOLDER_FIELDS).map(holder).collect::<Result<_>>()?,
            healed: unsigned(fields, 0)? == 1,
        }))
    }
}
