//! For tests of Quotalock and of what uses it: a time of one's own, and raw values under the limiter's keys.

pub mod herd;
pub mod lease;
pub mod reports;
pub mod single_flight;
pub mod stock;

use std::slice;

use crate::client::Client;
use crate::limiter::decision::Decision;
use crate::limiter::{Limiter, Unsettled};
use ::wire::base::error::shown;
use ::wire::call::prelude::*;
use ::wire::call::script::NamedScript;
use ::wire::call::space::Planted;
use ::wire::op::Op;

pub use ::wire::testing as wire;

/// In 1973: what is earlier is a time of today in another unit.
const EARLIEST: u64 = 100_000_000_000_000;
/// Where a time begins that only goes on.
const BEGINS: u64 = 1_700_000_000_000_000;

/// Sets the time, in microseconds since the epoch (from 1973 to 2^52), at which every later call of this client is decided, also
/// on a real server; none goes back to the server's clock. It is this client's alone, also on a `memory://` that others share;
/// TTLs run in real time.
///
/// # Errors
/// `invalid_argument` for a time out of bounds, such as one in seconds or milliseconds.
pub fn set_time(client: &Client, micros: Option<u64>) -> Result<()> {
    if let Some(given) = micros.filter(|m| !(EARLIEST..=1 << 52).contains(m)) {
        return Err(Error::invalid(format!(
            "time {given} is not between {EARLIEST} and 2^52: give microseconds since the epoch, such as {BEGINS}"
        )));
    }
    client.session.test_time.set(micros);
    Ok(())
}

/// Moves the time of the client on; the first call has it stand still at a round moment before.
///
/// # Errors
/// As [`set_time`].
pub fn advance(client: &Client, micros: u64) -> Result<()> {
    let now = client.session.test_time.get().unwrap_or(BEGINS);
    set_time(client, Some(now.saturating_add(micros)))
}

/// What [`put`] puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestValueKind {
    /// A raw string without a TTL.
    Text,
    /// A Redis list, which is not ours.
    List,
    /// Nothing: takes away the TTL of what is there.
    Persist,
}

impl TestValueKind {
    /// Parses `string`, `list` or `persist`.
    ///
    /// # Errors
    /// `invalid_argument` for another word.
    pub fn parse(text: &str) -> Result<TestValueKind> {
        match text {
            "string" => Ok(TestValueKind::Text),
            "list" => Ok(TestValueKind::List),
            "persist" => Ok(TestValueKind::Persist),
            other => {
                let other = shown(other.as_bytes());
                Err(Error::invalid(format!("kind \"{other}\" is unknown: use string, list or persist")))
            }
        }
    }
}

/// Replaces what stands at a raw Redis key.
pub fn put(client: &Client, redis_key: &[u8], kind: TestValueKind, value: &[u8]) -> Op<bool> {
    let put = Put { key: redis_key.to_vec(), shown: quoted(redis_key), kind, value: value.to_vec() };
    Op::new(&client.session, Box::new(put), None)
}

/// Reads what stands at a raw Redis key; none if there is no key. The value of one that is no string is shown as empty.
pub fn get(client: &Client, redis_key: &[u8]) -> Op<Option<Stored>> {
    Op::new(&client.session, Box::new(Get { key: redis_key.to_vec(), shown: quoted(redis_key) }), None)
}

/// As [`Limiter::reserve`](crate::Limiter::reserve), under an id of the test's instead of a random one.
///
/// # Errors
/// As `Limiter::reserve`, and for an id that cannot be.
pub fn reserve(
    limiter: &Limiter,
    key: &[u8],
    id: &str,
    estimate: u64,
    ttl: u64,
    unsettled: Unsettled,
) -> Result<Op<Decision>> {
    limiter.reserve_as(&limiter.reservation(key, id)?, estimate, ttl, unsettled)
}

static PUT: NamedScript = NamedScript::new("put", &[], &[include_str!("testing/put.lua")]);
static GET: NamedScript = NamedScript::new("get", &[], &[include_str!("testing/get.lua")]);

/// A key as messages show it.
fn quoted(key: &[u8]) -> String {
    format!("\"{}\"", shown(key))
}

struct Put {
    key: Vec<u8>,
    shown: String,
    kind: TestValueKind,
    value: Vec<u8>,
}

impl Command for Put {
    fn feature(&self) -> Feature {
        Feature::Limiter
    }

    fn frame(&self) -> Frame<'_> {
        Frame { script: &PUT, keys: slice::from_ref(&self.key), effect: Effect::Once, name: ("put of", &self.shown) }
    }

    fn args(&self, args: &mut Args<'_>) {
        let kind: &[u8] = match self.kind {
            TestValueKind::Text => b"string",
            TestValueKind::List => b"list",
            TestValueKind::Persist => b"persist",
        };
        args.bytes(kind);
        args.bytes(&self.value);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let planted = match self.kind {
            TestValueKind::Text => Planted::Text(self.value.clone()),
            TestValueKind::List => Planted::List,
            TestValueKind::Persist => Planted::Persisted,
        };
        space.plant(&self.key, planted);
        Ok(vec![Reply::Int(1), Reply::Int(now as i64), Reply::Int(1)])
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        Ok(Answer::new(unsigned(fields, 0)? == 1))
    }
}

/// What stands at a Redis key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The raw bytes.
    pub value: Vec<u8>,
    /// Milliseconds until the server forgets it; none if it has no TTL.
    pub ttl_ms: Option<u64>,
}

struct Get {
    key: Vec<u8>,
    shown: String,
}

impl Command for Get {
    fn feature(&self) -> Feature {
        Feature::Limiter
    }

    fn frame(&self) -> Frame<'_> {
        Frame { script: &GET, keys: slice::from_ref(&self.key), effect: Effect::Looks, name: ("get of", &self.shown) }
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        let value = space.range(&self.key, 0, u64::MAX).to_vec();
        Ok(vec![Reply::Int(1), Reply::Int(now as i64), Reply::Int(space.ttl(&self.key)), Reply::Bytes(value)])
    }

    fn reply_limit(&self) -> ReplyLimit {
        // Whatever Redis may keep.
        ReplyLimit::of(0, 512 << 20)
    }

    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        match fields {
            [Reply::Int(-2), _] => Ok(Answer::new(None::<Stored>)),
            [Reply::Int(ttl), Reply::Bytes(value)] => {
                let ttl_ms = u64::try_from(*ttl).ok();
                Ok(Answer::new(Some(Stored { value: value.clone(), ttl_ms })))
            }
            other => Err(odd_reply(format!("{other:?}"))),
        }
    }
}
