//! An entry, and its stored form: twin of `{codec,lease}.lua`.

use super::{GOOD, HEADER, MAX_LEASE, MOST_SHORT, SHORT_HEADER};
use wire::base::clock::clamp;
use wire::base::error::Result;
use wire::call::hint::AttemptId;
use wire::call::lua::EXACT;
use wire::call::space::Space;

const MAGIC: &[u8] = b"QC\x01";
/// What is added to the kind in the short form of a header.
pub(super) const SHORT: u8 = 128;
/// Lengths are less.
pub(super) const LONG: u64 = 1 << 49;
/// A key is kept so many milliseconds longer than anything in it counts.
pub(super) const SLACK_MS: u64 = 60_000;

/// What an entry has for those who ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// Nothing.
    #[default]
    Nothing = 0,
    /// A value.
    Value = 1,
    /// The knowledge that there is none.
    Negative = 2,
    /// The error of the last who tried to make one.
    Error = 3,
}

impl EntryKind {
    pub(super) fn of(number: u8) -> Option<EntryKind> {
        [EntryKind::Nothing, EntryKind::Value, EntryKind::Negative, EntryKind::Error].get(usize::from(number)).copied()
    }

    /// Whether it is a value, be it the one that says none.
    pub fn is_value(self) -> bool {
        matches!(self, EntryKind::Value | EntryKind::Negative)
    }
}

/// What stands at a key, brought to now. Times are microseconds of the server's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheEntry {
    pub kind: EntryKind,
    /// Who has the lease, or has claimed the value.
    pub owner: AttemptId,
    /// The token of what was last stored or forgotten.
    pub version: u64,
    /// The last token given; that of the lease, if there is one.
    pub last: u64,
    /// When it was stored, and for how long it is fresh and then stale.
    pub made: u64,
    pub fresh: u64,
    pub stale: u64,
    /// How long it took to make.
    pub delta: u64,
    /// When the lease ends, and how long it was.
    pub deadline: u64,
    pub ttl: u64,
    /// When the last attempt failed, and for how long no other caller tries.
    pub failed: u64,
    pub pause: u64,
    /// Until when tokens given before that of the lease may still be used.
    pub guard: u64,
    /// The bytes of the payload.
    pub size: u64,
    /// Where the payload begins at the key.
    pub offset: usize,
    /// Whether more than the header must be written.
    pub whole: bool,
    /// Whether something was mended.
    pub dirty: bool,
}

impl CacheEntry {
    /// Reads what stands at a key and brings it to now.
    pub fn load(space: &dyn Space, key: &[u8], now: u64) -> Result<CacheEntry> {
        let value = space.get(key)?.unwrap_or_default();
        Ok(CacheEntry::read(value, value.len(), now)
            .unwrap_or_else(|| CacheEntry { whole: true, ..CacheEntry::default() }))
    }

    /// Reads a value of so many bytes, of which these are the first, and brings it to now; none if it is not ours.
    pub fn read(value: &[u8], length: usize, now: u64) -> Option<CacheEntry> {
        let mut entry = decode(value, length)?;
        let deadline = now + entry.ttl;
        entry.dirty = clamp(&mut entry.made, now)
            | clamp(&mut entry.deadline, deadline)
            | clamp(&mut entry.failed, now)
            | clamp(&mut entry.guard, now + GOOD * MAX_LEASE);
        entry.whole = entry.kind != EntryKind::Nothing && now >= entry.useless_at();
        if entry.whole {
            (entry.kind, entry.size) = (EntryKind::Nothing, 0);
        }
        Some(entry)
    }

    /// When the payload is of no use any more.
    fn useless_at(&self) -> u64 {
        self.made + self.fresh + self.stale
    }

    /// What is of use for how long.
    pub fn left(&self, now: u64) -> u64 {
        self.useless_at() - now
    }

    /// The payload as it stands at the key.
    pub fn payload(&self, space: &dyn Space, key: &[u8]) -> Vec<u8> {
        if self.kind == EntryKind::Nothing {
            Vec::new()
        } else {
            space.range(key, self.offset as u64, self.size).to_vec()
        }
    }

    pub fn next_token(&self, now: u64) -> u64 {
        now.max(self.last + 1)
    }

    /// Whether a caller has the lease.
    pub fn is_leased(&self, now: u64) -> bool {
        self.deadline > now
    }

    /// Whether an id has the lease.
    pub fn loads(&self, id: &AttemptId, now: u64) -> bool {
        self.is_leased(now) && self.owner == *id
    }

    /// Ends the lease of one who has used its token.
    pub fn end_lease(&mut self) {
        (self.owner, self.deadline, self.ttl) = (AttemptId::default(), 0, 0);
    }

    /// Takes the lease from one who may still use its token.
    pub fn take_lease(&mut self, now: u64) {
        self.guard = self.guard.max(self.good_until(now));
        self.end_lease();
    }

    /// Until when the token of the lease may be used, if there is one, also one that has ended without a word of its owner.
    fn good_until(&self, now: u64) -> u64 {
        (self.deadline + (GOOD - 1) * self.ttl).min(now + GOOD * MAX_LEASE)
    }

    /// Tokens that the entry does not know of may still be used for a while.
    pub fn guard(&mut self, ttl: u64, now: u64) {
        self.guard = self.guard.max(now + GOOD * ttl);
    }

    /// Becomes something else, made now.
    pub fn become_new(&mut self, kind: EntryKind, (fresh, stale): (u64, u64), size: usize, now: u64) {
        (self.kind, self.made, self.size) = (kind, now, size as u64);
        (self.fresh, self.stale, self.failed, self.pause) = (fresh, stale, 0, 0);
    }

    /// The milliseconds that it is kept.
    fn memory(&self, now: u64) -> u64 {
        let over = if self.kind == EntryKind::Nothing { 0 } else { self.useless_at() };
        (self.guard.max(self.good_until(now)).max(over).max(now) - now).div_ceil(1_000) + SLACK_MS
    }

    /// Writes the header, and the payload if there is a new one, or if the header gets the other form.
    pub fn save(&self, space: &mut dyn Space, key: &[u8], payload: Option<&[u8]>, now: u64) {
        let header = encode(self);
        let value = match payload {
            Some(payload) => [&header, payload].concat(),
            None if self.whole => header,
            None if header.len() == self.offset => return space.set_range(key, 0, &header, self.memory(now)),
            None => [header, self.payload(space, key)].concat(),
        };
        space.set(key, value, self.memory(now));
    }

    /// Whether the header has the short form, which leaves out the numbers that follow from the others: a claim, or a value that
    /// was put, that no caller loads.
    fn is_short(&self) -> bool {
        let CacheEntry { version, last, made, stale, delta, deadline, ttl, failed, pause, guard, size, .. } = *self;
        self.kind.is_value()
            && size <= MOST_SHORT as u64
            && [version, last] == [made; 2]
            && [stale, delta, deadline, ttl, failed, pause, guard] == [0; 7]
    }
}

/// The entry that a value of so many bytes says, of which these are the first; none if it is not ours.
fn decode(value: &[u8], length: usize) -> Option<CacheEntry> {
    let (kind, rest) = value.strip_prefix(MAGIC)?.split_first()?;
    if *kind > SHORT {
        return decode_short(EntryKind::of(kind - SHORT)?, rest, length);
    }
    let (owner, rest) = rest.split_first_chunk()?;
    let mut numbers = rest.chunks_exact(8).map_while(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
    let mut next = || numbers.next();
    let entry = CacheEntry {
        kind: EntryKind::of(*kind)?,
        owner: *owner,
        version: next()?,
        last: next()?,
        made: next()?,
        fresh: next()?,
        stale: next()?,
        delta: next()?,
        deadline: next()?,
        ttl: next()?,
        failed: next()?,
        pause: next()?,
        guard: next()?,
        size: next()?,
        offset: HEADER,
        whole: false,
        dirty: false,
    };
    let CacheEntry { version, last, made, deadline, failed, guard, .. } = entry;
    let CacheEntry { fresh, stale, delta, ttl, pause, .. } = entry;
    let times_fit = [version, last, made, deadline, failed, guard].iter().all(|time| *time < EXACT);
    let lengths_fit = [fresh, stale, delta, ttl, pause].iter().all(|length| *length < LONG);
    let size_fits = length.checked_sub(HEADER).is_some_and(|size| entry.size == size as u64);
    (times_fit && lengths_fit && size_fits).then_some(entry)
}

/// The entry of a value in the short form: what is behind its kind.
fn decode_short(kind: EntryKind, rest: &[u8], length: usize) -> Option<CacheEntry> {
    let (owner, rest) = rest.split_first_chunk()?;
    let (made, rest) = rest.split_first_chunk()?;
    let (fresh, rest) = rest.split_first_chunk()?;
    let seven = |bytes: &[u8; 7]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    let (made, fresh) = (seven(made), seven(fresh));
    let size = u16::from_le_bytes(*rest.first_chunk()?).into();
    let size_fits = size <= MOST_SHORT && length.checked_sub(SHORT_HEADER) == Some(size);
    (kind.is_value() && made < EXACT && fresh < LONG && size_fits).then_some(CacheEntry {
        kind,
        owner: *owner,
        version: made,
        last: made,
        made,
        fresh,
        size: size as u64,
        offset: SHORT_HEADER,
        ..CacheEntry::default()
    })
}

/// The header that says an entry.
pub(super) fn encode(entry: &CacheEntry) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend_from_slice(MAGIC);
    if entry.is_short() {
        header.push(SHORT + entry.kind as u8);
        header.extend_from_slice(&entry.owner);
        header.extend_from_slice(&entry.made.to_le_bytes()[..7]);
        header.extend_from_slice(&entry.fresh.to_le_bytes()[..7]);
        header.extend_from_slice(&(entry.size as u16).to_le_bytes());
        return header;
    }
    header.push(entry.kind as u8);
    header.extend_from_slice(&entry.owner);
    let CacheEntry { version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size, .. } = *entry;
    for number in [version, last, made, fresh, stale, delta, deadline, ttl, failed, pause, guard, size] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header
}
