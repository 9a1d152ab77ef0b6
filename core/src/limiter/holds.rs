//! Amounts held by reservations: twin of the holds in `script/{rearrange,expire,reserve,settle}.lua`.
//!
//! Stored behind the records as a record 251 (the earliest and the latest end, the latest beginning, which rules count any,
//! how many), then for each hold 53 bytes: id, beginning, end, amount, what is owed to rules of another policy, a byte that
//! says what becomes of it, and a bit for each rule that counts it still; and for each bucket 16: when it will have filled it
//! again.

use crate::limiter::algorithm::{Filled, RefundedCharge};
use crate::limiter::policy::{MAX_LIMIT, MAX_PERIOD};
use wire::call::lua::EXACT;

/// How many bytes name a reservation.
pub(super) const ID_SIZE: usize = 16;
/// Without what is said of buckets.
pub(super) const SIZE: usize = 53;
/// What is said of a bucket.
pub(super) const FILLED_SIZE: usize = 16;
pub(super) const SETTLED: u8 = 2;
/// A bit for each rule that a state may have.
pub(super) const ALL_MARKS: u64 = (1 << 20) - 1;
/// How long a settled hold stays, in microseconds, for a settlement that is repeated.
pub(super) const SETTLED_FOR: u64 = 10_000_000;

/// What becomes of a reservation that is not settled in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Unsettled {
    /// The estimate counts as spent.
    #[default]
    Spent = 0,
    /// The estimate is given back.
    Returned = 1,
}

impl Unsettled {
    /// Parses `spent` or `returned`.
    ///
    /// # Errors
    /// `invalid_argument` for another word.
    pub fn parse(text: &str) -> wire::base::error::Result<Unsettled> {
        match text {
            "spent" => Ok(Unsettled::Spent),
            "returned" => Ok(Unsettled::Returned),
            other => Err(wire::base::error::Error::invalid(format!(
                "unsettled \"{}\" is unknown: use spent or returned",
                wire::base::error::shown(other.as_bytes())
            ))),
        }
    }
}

/// One reservation's amount.
#[derive(Clone, Copy)]
pub(super) struct ReservedAmount {
    pub id: [u8; ID_SIZE],
    pub since: u64,
    pub stop: u64,
    pub amount: u64,
    /// What rules of another policy are to get back, which this one cannot give.
    pub owed: u64,
    pub state: u8,
    /// The rules that count it: a bit each, until the rule is as new again.
    pub counted: u32,
}

impl ReservedAmount {
    /// None if the numbers make no sense.
    fn read(bytes: &[u8]) -> Option<ReservedAmount> {
        let (id, rest) = bytes.split_first_chunk::<ID_SIZE>()?;
        let (numbers, rest) = rest.split_first_chunk::<32>()?;
        let number = |i: usize| numbers[8 * i..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (state, rest) = rest.split_first()?;
        let counted = u32::from_le_bytes(*rest.first_chunk()?);
        let (since, stop, amount, owed) = (number(0), number(1), number(2), number(3));
        let hold = ReservedAmount { id: *id, since, stop, amount, owed, state: *state, counted };
        let sound =
            stop < EXACT && since <= stop && stop - since <= MAX_PERIOD && amount <= MAX_LIMIT && owed <= MAX_LIMIT;
        sound.then_some(hold)
    }

    fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..16].copy_from_slice(&self.id);
        for (place, number) in
            bytes[16..48].as_chunks_mut().0.iter_mut().zip([self.since, self.stop, self.amount, self.owed])
        {
            *place = number.to_le_bytes();
        }
        bytes[48] = self.state;
        bytes[49..].copy_from_slice(&self.counted.to_le_bytes());
        bytes
    }
}

/// An amount that goes back to the rules that counted it: a bit each.
pub(super) struct Return {
    pub amount: u64,
    pub counted: u32,
    since: u64,
    filled: Vec<u8>,
}

impl Return {
    fn new(hold: &ReservedAmount, amount: u64, bytes: &[u8]) -> Return {
        Return { amount, counted: hold.counted, since: hold.since, filled: bytes[SIZE..].to_vec() }
    }

    /// What is known of the charge, of the bucket with this number.
    pub fn charged(&self, bucket: usize) -> RefundedCharge {
        RefundedCharge { since: self.since, filled: Some(filled(&self.filled, bucket)) }
    }
}

fn filled(bytes: &[u8], bucket: usize) -> Filled {
    let number =
        |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    Filled { at: number(FILLED_SIZE * bucket), part: number(FILLED_SIZE * bucket + 8) }
}

/// Where the rules' shares of a hold are.
pub(super) struct HoldLayout {
    /// Of each rule in the value, whether it is a bucket.
    pub before: Vec<bool>,
    /// Of each rule from now on: which it was there, and whether it is a bucket.
    pub now: Vec<(Option<usize>, bool)>,
}

impl HoldLayout {
    fn is_same(&self) -> bool {
        self.before.len() == self.now.len() && self.now.iter().enumerate().all(|(n, (source, _))| *source == Some(n))
    }

    fn buckets(&self) -> usize {
        self.now.iter().filter(|(_, is_bucket)| *is_bucket).count()
    }
}

/// A bit for each of so many rules.
pub(super) fn all_rules(count: usize) -> u32 {
    (1 << count) - 1
}

/// What a settlement changes.
pub(super) enum SettlementChange {
    /// There is no such hold any more.
    Gone,
    /// It was settled before; whether with the same amount.
    Before(bool),
    /// It is settled now: what goes back.
    Less(Return),
    /// It is settled now: what is charged on top.
    More(u64),
}

/// All holds of a key.
#[derive(Default)]
pub(super) struct Holds {
    earliest: u64,
    latest: u64,
    newest: u64,
    marks: u32,
    /// How many buckets each says something of.
    buckets: usize,
    /// A bit for each rule of the state, and for each of this policy.
    all: u32,
    own: u32,
    bytes: Vec<u8>,
}

impl Holds {
    /// Reads what stands behind the id of a record 251; none if that is not ours.
    pub fn read(numbers: [u64; 5], bytes: &[u8], buckets: usize) -> Option<Holds> {
        let [earliest, latest, newest, marks, count] = numbers;
        let marks = u32::try_from(marks).ok().filter(|_| marks <= ALL_MARKS)?;
        let fits =
            !bytes.is_empty() && bytes.len() as u64 == count.checked_mul((SIZE + FILLED_SIZE * buckets) as u64)?;
        fits.then(|| Holds { earliest, latest, newest, marks, buckets, bytes: bytes.to_vec(), ..Holds::default() })
    }

    fn size(&self) -> usize {
        SIZE + FILLED_SIZE * self.buckets
    }

    /// Each rule keeps its share, of the first `own` of which this policy takes care.
    pub fn arrange(&mut self, layout: &HoldLayout, own: usize) {
        (self.all, self.own) = (all_rules(layout.now.len()), all_rules(own));
        let size = self.size();
        self.buckets = layout.buckets();
        if self.is_empty() || layout.is_same() {
            return;
        }
        let slot = |source: usize| layout.before[..source].iter().filter(|is_bucket| **is_bucket).count();
        let mut bytes = Vec::new();
        self.marks = 0;
        for old in self.bytes.chunks_exact(size) {
            let (head, shares) = old.split_at(SIZE);
            let counted = u32::from_le_bytes([head[49], head[50], head[51], head[52]]);
            let sources = layout.now.iter().enumerate();
            let counts = |(n, (source, _)): (usize, &(Option<usize>, bool))| match source {
                Some(source) if counted & 1 << source != 0 => 1 << n,
                _ => 0,
            };
            let counted: u32 = sources.map(counts).sum();
            self.marks |= counted;
            bytes.extend_from_slice(&head[..49]);
            bytes.extend_from_slice(&counted.to_le_bytes());
            for (source, _) in layout.now.iter().filter(|(_, is_bucket)| *is_bucket) {
                match source {
                    Some(source) => bytes.extend_from_slice(&shares[FILLED_SIZE * slot(*source)..][..FILLED_SIZE]),
                    None => bytes.extend_from_slice(&[0; FILLED_SIZE]),
                }
            }
        }
        self.bytes = bytes;
    }

    /// A bucket has another rate now.
    pub fn refill(&mut self, bucket: usize, refilled: impl Fn(Filled) -> Filled) {
        let (size, at) = (self.size(), SIZE + FILLED_SIZE * bucket);
        for bytes in self.bytes.chunks_exact_mut(size) {
            let Filled { at: time, part } = refilled(filled(&bytes[SIZE..], bucket));
            bytes[at..at + 8].copy_from_slice(&time.to_le_bytes());
            bytes[at + 8..at + 16].copy_from_slice(&part.to_le_bytes());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All of them, as they stand there.
    pub fn listed(&self) -> impl Iterator<Item = ReservedAmount> {
        self.bytes.chunks_exact(self.size()).filter_map(ReservedAmount::read)
    }

    /// Until when a hold has to be remembered.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// The record: five numbers, then the holds.
    pub fn record(&self) -> ([u64; 5], &[u8]) {
        let count = (self.bytes.len() / self.size()) as u64;
        ([self.earliest, self.latest, self.newest, u64::from(self.marks), count], &self.bytes)
    }

    /// Ends those whose time is over, and returns what is to be given back; none if there was nothing to do. A hold from
    /// the future begins now: the clock went back. The rules in `over` are as new and count none. What a rule of another
    /// policy is to get back waits for that policy, or for that rule's end.
    pub fn expire(&mut self, now: u64, over: u32) -> Option<Vec<Return>> {
        let over = over & self.marks;
        if self.is_empty() || self.earliest > now && self.newest <= now && over == 0 {
            return None;
        }
        let empty = Holds { buckets: self.buckets, all: self.all, own: self.own, earliest: EXACT, ..Holds::default() };
        let old = std::mem::replace(self, empty);
        let mut returned = Vec::new();
        for bytes in old.bytes.chunks_exact(old.size()) {
            let Some(mut hold) = ReservedAmount::read(bytes) else { continue };
            hold.counted &= self.all & !over;
            if hold.since > now {
                (hold.since, hold.stop) = (now, now + hold.stop - hold.since);
            }
            let amount = match hold.state {
                SETTLED => hold.owed,
                state if state == Unsettled::Returned as u8 && hold.stop <= now => hold.amount,
                _ => 0,
            };
            if amount > 0 {
                returned.push(Return::new(&hold, amount, bytes));
                hold.counted &= !self.own;
            }
            let waits = amount > 0 && hold.counted > 0;
            if hold.state == SETTLED && !waits {
                (hold.owed, hold.counted) = (0, 0);
            }
            if hold.stop > now || waits {
                let from = if waits { 0 } else { hold.stop };
                self.earliest = self.earliest.min(from);
                self.latest = self.latest.max(hold.stop);
                self.newest = self.newest.max(hold.since);
                self.marks |= hold.counted;
                self.bytes.extend_from_slice(&hold.bytes());
                self.bytes.extend_from_slice(&bytes[SIZE..]);
            }
        }
        Some(returned)
    }

    /// These rules are as new and count no hold any more: a bit each.
    pub fn uncount(&mut self, over: u32) {
        let (size, over) = (self.size(), over & self.marks);
        if over == 0 {
            return;
        }
        self.marks &= !over;
        for bytes in self.bytes.chunks_exact_mut(size) {
            let counted = u32::from_le_bytes([bytes[49], bytes[50], bytes[51], bytes[52]]) & !over;
            bytes[49..SIZE].copy_from_slice(&counted.to_le_bytes());
        }
    }

    /// Adds one that all rules of this policy count, whose buckets will have filled it again then.
    pub fn add(&mut self, hold: &ReservedAmount, filled: &[Filled]) {
        self.earliest = if self.is_empty() { hold.stop } else { self.earliest.min(hold.stop) };
        self.latest = self.latest.max(hold.stop);
        self.newest = self.newest.max(hold.since);
        self.marks |= hold.counted;
        self.bytes.extend_from_slice(&hold.bytes());
        for bucket in 0..self.buckets {
            let Filled { at, part } = filled.get(bucket).copied().unwrap_or_default();
            self.bytes.extend_from_slice(&at.to_le_bytes());
            self.bytes.extend_from_slice(&part.to_le_bytes());
        }
    }

    /// Settles the hold of this id with its actual amount.
    pub fn settle(&mut self, id: &[u8; ID_SIZE], actual: u64, now: u64) -> SettlementChange {
        let size = self.size();
        for bytes in self.bytes.chunks_exact_mut(size) {
            let Some(mut hold) = ReservedAmount::read(bytes).filter(|hold| hold.id == *id && hold.stop > now) else {
                continue;
            };
            if hold.state == SETTLED {
                return SettlementChange::Before(hold.amount == actual);
            }
            let settlement = match hold.amount.checked_sub(actual) {
                Some(less) => SettlementChange::Less(Return::new(&hold, less, bytes)),
                None => SettlementChange::More(actual - hold.amount),
            };
            hold.counted &= self.all & !self.own;
            hold.owed = if hold.counted > 0 { hold.amount.saturating_sub(actual) } else { 0 };
            if hold.owed == 0 {
                hold.counted = 0;
            }
            (hold.state, hold.amount, hold.stop) = (SETTLED, actual, hold.stop.min(now + SETTLED_FOR));
            self.earliest = self.earliest.min(if hold.owed > 0 { 0 } else { hold.stop });
            bytes[..SIZE].copy_from_slice(&hold.bytes());
            return settlement;
        }
        SettlementChange::Gone
    }
}
