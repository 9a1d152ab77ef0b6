//! What is made once for all who want it, as one state machine: an entry under one Redis key that may have a value, and a
//! lease to make one. A cache and `once` are made of it. See ADR 12.

mod claim;
mod entry;
mod fail;
mod fill;
mod invalidate;
mod look;
mod stored;

use wire::base::error::Result;
use wire::base::format::{CHECK_FORMAT, FORMAT_OF_SCRIPTS};
use wire::call::command::Args;
use wire::call::command::odd_reply;
use wire::call::hint::{Channel, SHARDED, TELL};
use wire::call::lua::{Constants, EXACT};
use wire::call::resp::{self, Reply};
use wire::call::script::NamedScript;
use wire::call::space::Space;
use wire::reactor::LONGEST_REST;

pub use claim::{Claim, Claimed};
pub use entry::EntryKind;
pub use fail::Fail;
pub use fill::Fill;
pub use invalidate::Invalidate;
pub use look::{Look, LookProgress, Looked, Seen};
pub use stored::StoredEntry;

/// The bytes of what stands before the payload of an entry, at most.
pub const HEADER: usize = 116;
/// The same in the short form, of most entries that are claimed or put. See ADR 32.
pub(crate) const SHORT_HEADER: usize = 36;
/// As much of a value is read at once: the header, and the payload if it is short.
const PIECE: usize = 4_096;
/// The longest payload of an entry in the short form: in either form, all of it is read at once.
pub(crate) const MOST_SHORT: usize = PIECE - HEADER;
/// A token is good for so many times the ttl of its lease.
pub(crate) const GOOD: u64 = 10;
/// The longest value, or text of an error, in bytes.
pub(crate) const MOST_PAYLOAD: usize = 64 << 20;
/// The longest lease in microseconds: an hour.
pub const MAX_LEASE: u64 = 3_600_000_000;
/// The longest that a value is fresh, or stale, in microseconds: ten years.
pub const MAX_FRESH: u64 = 3_650 * 86_400 * 1_000_000;
/// The most of luck, in thousandths.
pub const MAX_LUCK: u64 = 1_000_000;
/// How many channels are listed for one entry at most.
pub(crate) const MOST_WAITERS: usize = 1_024;
/// How long the channels of an entry are listed after the last of them asked, in milliseconds.
pub(crate) const HEARTBEAT_MS: u64 = 2_000;
const _: () =
    assert!(HEARTBEAT_MS > LONGEST_REST.as_millis() as u64, "a waiter would be forgotten between two questions");

/// The two Redis keys of an entry: its own, and that of those who wait.
pub type Keys = [Vec<u8>; 2];

/// What hints about an entry say: the first 16 hexadecimal digits of the SHA-1 of its key.
pub(crate) fn topic(entry: &[u8]) -> [u8; 16] {
    let digits = sha1_smol::Sha1::from(entry).digest().to_string();
    let mut topic = [0; 16];
    topic.copy_from_slice(&digits.as_bytes()[..16]);
    topic
}

/// Lists a channel among those to be told: twin of `register` in `wait.lua`.
fn register(space: &mut dyn Space, key: &[u8], channel: &Channel) {
    let mut list = match space.get(key) {
        Ok(Some(list)) if list.len() % channel.len() == 0 => list.to_vec(),
        _ => Vec::new(),
    };
    if !list.chunks(channel.len()).any(|listed| listed == channel) && list.len() < channel.len() * MOST_WAITERS {
        list.extend_from_slice(channel);
    }
    space.set(key, list, HEARTBEAT_MS);
}

/// Tells those who wait: twin of `wake` there.
fn wake(space: &mut dyn Space, keys: &Keys, prefix: &[u8]) {
    let list = space.get(&keys[1]).map(|list| list.map(<[u8]>::to_vec));
    if let Ok(None) = list {
        return;
    }
    space.delete(&keys[1]);
    let list = list.ok().flatten().unwrap_or_default();
    let topic = topic(&keys[0]);
    for channel in list.chunks_exact(Channel::default().len()) {
        space.publish(&[prefix, channel].concat(), &topic);
    }
}

/// Writes room for the header and the payload as one part.
fn part_with_room(args: &mut Args<'_>, payload: &[u8]) {
    args.parts(1, |out| {
        out.reserve(payload.len() + HEADER + 32);
        resp::long_part(out, &[&[0; HEADER], payload]);
    });
}

/// Takes the bytes out of a field of a reply: they may be many.
fn take_bytes(fields: &mut [Reply], at: usize) -> Result<Vec<u8>> {
    match fields.get_mut(at) {
        Some(Reply::Bytes(bytes)) => Ok(std::mem::take(bytes)),
        other => Err(odd_reply(format!("field {at} is {other:?}"))),
    }
}

/// The numbers that the scripts and the twins know by a name.
const CONSTANTS: &Constants = &[
    FORMAT_OF_SCRIPTS,
    ("EXACT", EXACT),
    ("LONG", entry::LONG),
    ("HEADER", HEADER as u64),
    ("PIECE", PIECE as u64),
    ("PIECE_END", PIECE as u64 - 1),
    ("SHORT_HEADER", SHORT_HEADER as u64),
    ("MOST_SHORT", MOST_SHORT as u64),
    ("SHORT", entry::SHORT as u64),
    ("NOTHING", EntryKind::Nothing as u64),
    ("ERROR", EntryKind::Error as u64),
    ("GOOD", GOOD),
    ("LONGEST_GUARD", GOOD * MAX_LEASE),
    ("LONGEST_DELTA", look::LONGEST_DELTA),
    ("MOST_BYTES", look::MOST_BYTES),
    ("SLACK_MS", entry::SLACK_MS),
    ("NO_DUTY", look::NO_DUTY),
    ("LOADS", look::LOADS),
    ("ANOTHER_LOADS", look::ANOTHER_LOADS),
    ("CHANNEL", size_of::<Channel>() as u64),
    ("SHARDED", SHARDED as u64),
    ("MOST_WAITERS", MOST_WAITERS as u64),
    ("HEARTBEAT_MS", HEARTBEAT_MS),
];
const FORMS: &str = include_str!("forms.lua");
const CODEC: &str = include_str!("codec.lua");
const LEASE: &str = include_str!("lease.lua");
const WAIT: &str = include_str!("wait.lua");

const fn script(name: &'static str, fragments: &'static [&'static str]) -> NamedScript {
    NamedScript::new(name, CONSTANTS, fragments)
}

static LOOK: NamedScript = script(
    "single-flight-look",
    &[FORMS, include_str!("look_simple.lua"), CHECK_FORMAT, CODEC, LEASE, TELL, WAIT, include_str!("look.lua")],
);
static FILL: NamedScript =
    script("single-flight-fill", &[FORMS, CHECK_FORMAT, CODEC, LEASE, TELL, WAIT, include_str!("fill.lua")]);
static FAIL: NamedScript =
    script("single-flight-fail", &[FORMS, CHECK_FORMAT, CODEC, LEASE, TELL, WAIT, include_str!("fail.lua")]);
static INVALIDATE: NamedScript = script(
    "single-flight-invalidate",
    &[FORMS, CHECK_FORMAT, CODEC, LEASE, TELL, WAIT, include_str!("invalidate.lua")],
);
static CLAIM: NamedScript = script(
    "single-flight-claim",
    &[FORMS, include_str!("claim_simple.lua"), CHECK_FORMAT, CODEC, LEASE, include_str!("claim.lua")],
);

/// The scripts of entries.
pub(crate) fn scripts() -> Vec<(String, String)> {
    [&LOOK, &FILL, &FAIL, &INVALIDATE, &CLAIM].map(|script| script.listed()).into()
}
