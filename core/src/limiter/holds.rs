//! Amounts held by reservations: twin of the holds in `scripts/limit/{place,expire,reserve,settle}.lua`.
//!
//! Stored behind the records as a record 251 (the earliest and the latest end, the latest beginning, which rules count any,
//! how many), then 51 bytes for each hold: id, beginning, end, amount, a byte that says what becomes of it, when a bucket will
//! have filled it again, and a bit for each rule that counts it still.

use crate::algorithm::Charged;
use crate::policy::MAX_LIMIT;

/// How many bytes name a reservation.
pub(super) const ID_SIZE: usize = 16;
const SIZE: usize = 51;
const SETTLED: u8 = 2;
const EXACT: u64 = 1 << 53;
/// How long a settled hold stays, in microseconds, for a settlement that is repeated.
const SETTLED_FOR: u64 = 10_000_000;

/// What becomes of a reservation that nobody settles in time.
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
    pub fn parse(text: &str) -> crate::error::Result<Unsettled> {
        match text {
            "spent" => Ok(Unsettled::Spent),
            "returned" => Ok(Unsettled::Returned),
            other => Err(crate::error::Error::invalid(format!(
                "unsettled \"{}\" is unknown: use spent or returned",
                crate::error::shown(other.as_bytes())
            ))),
        }
    }
}

/// One reservation's amount.
#[derive(Clone, Copy)]
pub(super) struct Hold {
    pub id: [u8; ID_SIZE],
    pub since: u64,
    pub stop: u64,
    pub amount: u64,
    pub state: u8,
    /// When a bucket will have filled it again; 0 if none will.
    pub filled: u64,
    /// The rules that count it: a bit each, until the rule is as new again.
    pub counted: u16,
}

impl Hold {
    /// None if the numbers make no sense.
    fn read(bytes: &[u8; SIZE]) -> Option<Hold> {
        let (id, rest) = bytes.split_first_chunk::<ID_SIZE>()?;
        let (numbers, state) = (rest.as_chunks::<8>().0, rest[24]);
        let counted = u16::from_le_bytes([rest[33], rest[34]]);
        let (filled, _) = rest[25..].split_first_chunk::<8>()?;
        let number = |i: usize| u64::from_le_bytes(numbers[i]);
        let hold = Hold {
            id: *id,
            since: number(0),
            stop: number(1),
            amount: number(2),
            state,
            filled: u64::from_le_bytes(*filled),
            counted,
        };
        (hold.stop < EXACT && hold.since <= hold.stop && hold.amount <= MAX_LIMIT).then_some(hold)
    }

    /// What is known of its charge.
    pub fn charged(&self) -> Charged {
        Charged { since: self.since, filled: self.filled }
    }

    fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..16].copy_from_slice(&self.id);
        bytes[16..24].copy_from_slice(&self.since.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.stop.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.amount.to_le_bytes());
        bytes[40] = self.state;
        bytes[41..49].copy_from_slice(&self.filled.to_le_bytes());
        bytes[49..].copy_from_slice(&self.counted.to_le_bytes());
        bytes
    }
}

/// A bit for each of so many rules.
pub(super) fn all_rules(count: usize) -> u16 {
    ((1_u32 << count) - 1) as u16
}

/// What a settlement changes.
pub(super) enum Settlement {
    /// There is no such hold any more.
    Gone,
    /// It was settled before; whether with the same amount.
    Before(bool),
    /// It is settled now; what was held before, with its new amount in place.
    Now(Hold),
}

/// All holds of a key.
#[derive(Default)]
pub(super) struct Holds {
    earliest: u64,
    latest: u64,
    newest: u64,
    marks: u16,
    bytes: Vec<u8>,
}

impl Holds {
    /// Reads what stands behind the id of a record 251; none if that is not ours.
    pub fn read(numbers: [u64; 5], bytes: &[u8]) -> Option<Holds> {
        let [earliest, latest, newest, marks, count] = numbers;
        let marks = u16::try_from(marks).ok()?;
        let fits = !bytes.is_empty() && bytes.len() as u64 == count.checked_mul(SIZE as u64)?;
        fits.then(|| Holds { earliest, latest, newest, marks, bytes: bytes.to_vec() })
    }

    /// The policy changed: a rule of now counts what the rule at its source did.
    pub fn remap(&mut self, sources: &[Option<usize>]) {
        if self.is_empty() {
            return;
        }
        self.recount(|old| {
            let counted = |source: &Option<usize>| source.is_some_and(|at| at < 16 && old & 1 << at != 0);
            let bits = sources.iter().enumerate().filter(|(_, source)| counted(source));
            bits.fold(0, |new, (rule, _)| new | 1 << rule)
        });
        self.marks = all_rules(sources.len());
    }

    /// Changes which rules count each hold.
    fn recount(&mut self, change: impl Fn(u16) -> u16) {
        for bytes in self.bytes.as_chunks_mut::<SIZE>().0 {
            let counted = change(u16::from_le_bytes([bytes[49], bytes[50]]));
            bytes[49..].copy_from_slice(&counted.to_le_bytes());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Until when a hold has to be remembered.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// The record: five numbers, then the holds.
    pub fn record(&self) -> ([u64; 5], &[u8]) {
        let count = (self.bytes.len() / SIZE) as u64;
        ([self.earliest, self.latest, self.newest, u64::from(self.marks), count], &self.bytes)
    }

    /// Ends those whose time is over, and returns the ones whose amount is to be given back; none if there was nothing
    /// to do. A hold from the future begins now: the clock went back. The rules in `over` are as new and count none.
    pub fn expire(&mut self, now: u64, over: u16) -> Option<Vec<Hold>> {
        let over = over & self.marks;
        if self.is_empty() || self.earliest > now && self.newest <= now && over == 0 {
            return None;
        }
        let old = std::mem::take(self);
        let mut returned = Vec::new();
        for mut hold in old.bytes.as_chunks::<SIZE>().0.iter().filter_map(Hold::read) {
            hold.counted &= !over;
            if hold.since > now {
                (hold.since, hold.stop) = (now, now + hold.stop - hold.since);
            }
            if hold.stop > now {
                self.add(&hold);
            } else if hold.state == Unsettled::Returned as u8 {
                returned.push(hold);
            }
        }
        if self.is_empty() {
            self.earliest = EXACT;
        }
        Some(returned)
    }

    /// These rules are as new and count no hold any more: a bit each.
    pub fn uncount(&mut self, over: u16) {
        self.marks &= !over;
        self.recount(|counted| counted & !over);
    }

    pub fn add(&mut self, hold: &Hold) {
        self.earliest = if self.is_empty() { hold.stop } else { self.earliest.min(hold.stop) };
        self.latest = self.latest.max(hold.stop);
        self.newest = self.newest.max(hold.since);
        self.marks |= hold.counted;
        self.bytes.extend_from_slice(&hold.bytes());
    }

    /// Settles the hold of this id with its actual amount.
    pub fn settle(&mut self, id: &[u8; ID_SIZE], actual: u64, now: u64) -> Settlement {
        for bytes in self.bytes.as_chunks_mut::<SIZE>().0 {
            let Some(hold) = Hold::read(bytes).filter(|hold| hold.id == *id) else { continue };
            if hold.state == SETTLED {
                return Settlement::Before(hold.amount == actual);
            }
            let stop = hold.stop.min(now + SETTLED_FOR);
            self.earliest = self.earliest.min(stop);
            *bytes = Hold { stop, amount: actual, state: SETTLED, ..hold }.bytes();
            return Settlement::Now(hold);
        }
        Settlement::Gone
    }
}
