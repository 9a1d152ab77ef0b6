//! What one sale promises, by its ledger and what was answered.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use quotalock::{LedgerEntry, LedgerKind, TakeOutcome};

use super::act::{Act, Plan, Step};

/// What the test knows of one hold.
pub struct Held {
    pub buyer: Vec<u8>,
    pub n: u64,
    /// Its longest length.
    pub length: u64,
    pub until: u64,
    pub prizes: Vec<Vec<u8>>,
}

/// What the test knows of one sale, by its ledger and what was answered.
#[derive(Default)]
pub struct Known {
    pub open: bool,
    pub numbers: (u64, u64, u64),
    pub entries: u64,
    pub holds: BTreeMap<String, Held>,
    pub bought: BTreeMap<Vec<u8>, u64>,
    /// What became of reservations, and when.
    pub settled: BTreeMap<String, (LedgerKind, u64)>,
    pub sold_prizes: BTreeSet<Vec<u8>>,
    /// Keys that somebody took the TTL of.
    pub persisted: BTreeSet<usize>,
    pub opened_by: u64,
    pub closed: bool,
    pub closed_by: u64,
    /// Whether it was closed, also when it had ended.
    pub over: bool,
}

impl Known {
    /// How many units a buyer holds and has bought.
    fn of_buyer(&self, buyer: &[u8]) -> u64 {
        let held: u64 = self.holds.values().filter(|held| held.buyer == buyer).map(|held| held.n).sum();
        held + self.bought.get(buyer).copied().unwrap_or(0)
    }

    /// Takes one entry of the ledger in, which must be possible by all that came before.
    pub fn replay(&mut self, plan: &Plan, step: &Step, entry: &LedgerEntry, now: u64) -> Result<(), TestCaseError> {
        let (available, held, sold) = self.numbers;
        let n = entry.quantity;
        self.entries += 1;
        prop_assert_eq!(entry.number, self.entries);
        prop_assert_eq!(entry.time, now);
        let id = entry.reservation.clone().unwrap_or_default();
        let after = match entry.kind {
            LedgerKind::Opened => {
                prop_assert!(!self.open && available + held + sold == 0);
                self.open = true;
                (n, 0, 0)
            }
            LedgerKind::Restocked => (available + n, held, sold),
            LedgerKind::Closed => {
                prop_assert!(!self.closed && n == 0 && matches!(step.act, Act::Close));
                self.closed = true;
                (available, held, sold)
            }
            LedgerKind::Held => {
                prop_assert!(n <= available, "oversold");
                prop_assert!(!self.over, "taken from a closed sale");
                let buyer = entry.buyer.clone().unwrap();
                let length = match &step.act {
                    Act::Take(_, _, hold, ..) | Act::TakeAll(_, _, hold, _) => *hold,
                    other => return Err(TestCaseError::fail(format!("held by {other:?}"))),
                };
                for prize in &entry.prizes {
                    let twice = self.holds.values().any(|held| held.prizes.contains(prize));
                    prop_assert!(!twice && !self.sold_prizes.contains(prize), "a prize for two");
                }
                prop_assert_eq!(entry.prizes.len() as u64, if plan.prized { n } else { 0 });
                let (until, prizes) = (now + length, entry.prizes.clone());
                let before = self.holds.insert(id, Held { buyer: buyer.clone(), n, length, until, prizes });
                prop_assert!(before.is_none(), "held twice");
                let limit = plan.per_buyer.unwrap_or(u64::MAX);
                prop_assert!(self.of_buyer(&buyer) <= limit, "more than a buyer may have");
                (available - n, held + n, sold)
            }
            LedgerKind::Extended => {
                let Act::Extend(_, length) = &step.act else { return Err(TestCaseError::fail("extended by nobody")) };
                let hold = self.holds.get_mut(&id).expect("what nobody held was extended");
                (hold.length, hold.until) = (hold.length.max(*length), now + length);
                (available, held, sold)
            }
            LedgerKind::Confirmed | LedgerKind::Cancelled | LedgerKind::Expired => {
                let hold = self.holds.remove(&id).expect("what nobody held came to an end");
                prop_assert_eq!(hold.n, n);
                prop_assert_eq!(Some(&hold.buyer), entry.buyer.as_ref());
                if !plan.stepping {
                    let over = hold.until <= now;
                    prop_assert_eq!(over, entry.kind == LedgerKind::Expired, "{:?} at its {}", entry.kind, hold.until);
                }
                self.settled.insert(id, (entry.kind, now));
                if entry.kind == LedgerKind::Confirmed {
                    prop_assert_eq!(&hold.prizes, &entry.prizes);
                    self.sold_prizes.extend(hold.prizes);
                    *self.bought.entry(hold.buyer).or_default() += n;
                    (available, held - n, sold + n)
                } else {
                    (available + n, held - n, sold)
                }
            }
            other => return Err(TestCaseError::fail(format!("an entry about {other:?}"))),
        };
        prop_assert_eq!((entry.available, entry.held, entry.sold), after);
        self.numbers = after;
        Ok(())
    }

    /// Why a take of so many is refused, of a sale that has returned all that is over.
    pub fn refusal(&self, plan: &Plan, buyer: &[u8], n: u64, now: u64) -> TakeOutcome {
        match () {
            () if !self.open => TakeOutcome::NotOpen,
            () if self.over || plan.ends.is_some_and(|ends| now >= ends) => TakeOutcome::Ended,
            () if plan.per_buyer.is_some_and(|most| self.of_buyer(buyer) + n > most) => TakeOutcome::BuyerLimit,
            () if n > self.numbers.0 => TakeOutcome::SoldOut,
            () => TakeOutcome::Held,
        }
    }
}
