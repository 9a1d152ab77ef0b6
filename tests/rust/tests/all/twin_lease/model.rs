//! What locks promise: who was granted and until when, by the answers alone.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use quotalock::testing::lease::AcquireOutcome;
use quotalock_tests::twins::Played;

use super::act::{Act, Step, TABLES, Weight};
use super::{Done, Side, State};

/// What the test knows of one table: what was promised to whom, by the answers alone.
#[derive(Default)]
struct Known {
    leases: BTreeMap<u8, Lease>,
    /// Until when an id is cancelled.
    cancelled: BTreeMap<u8, u64>,
    /// Ids that ever were: a tombstone may stand longer than it must.
    ever_cancelled: BTreeSet<u8>,
    token: u64,
    /// Whether it lost its TTL, and nothing was written since.
    persisted: bool,
}

/// What an id was granted and did not give back.
struct Lease {
    deadline: u64,
    ttl: u64,
    weight: u64,
    token: u64,
    /// Whether its time never passed at any step: it must hold. Else it may have been dropped.
    sure: bool,
}

impl Known {
    fn bring_to(&mut self, now: u64) {
        for lease in self.leases.values_mut() {
            lease.deadline = lease.deadline.min(now + lease.ttl);
            lease.sure &= lease.deadline > now;
        }
        self.cancelled.retain(|_, until| *until > now && *until <= now + 3_700_000_000);
    }

    fn held(&self) -> u64 {
        self.leases.values().filter(|lease| lease.sure).map(|lease| lease.weight).sum()
    }

    fn renew(&mut self, id: u8, now: u64, ttl: u64) {
        let lease = self.leases.get_mut(&id).expect("what never held was renewed");
        (lease.ttl, lease.sure) = (lease.ttl.max(ttl), true);
        lease.deadline = lease.deadline.max(now + ttl);
    }
}

/// What the test knows of all of them.
pub struct Model {
    permits: u64,
    tables: [Known; TABLES],
}

impl Model {
    /// Of tables with so many permits, in which nobody holds.
    pub fn new(permits: u64) -> Model {
        Model { permits, tables: Default::default() }
    }

    /// Whether an id holds in all of these tables, if that is certain.
    fn holds(&self, tables: &[usize], id: u8) -> Option<bool> {
        let mut leases = tables.iter().map(|n| self.tables[*n].leases.get(&id));
        if leases.clone().any(|lease| lease.is_none()) {
            return Some(false);
        }
        leases.all(|lease| lease.is_some_and(|lease| lease.sure)).then_some(true)
    }

    /// Whether an id may hold anywhere.
    pub fn knows(&self, id: u8) -> bool {
        self.tables.iter().any(|table| table.leases.contains_key(&id))
    }

    fn leave(&mut self, tables: &[usize], id: u8) {
        for n in tables {
            self.tables[*n].leases.remove(&id);
        }
    }

    /// Every table has a TTL once it was written, whatever took it away before.
    pub fn check_ttl(&mut self, step: &Step, before: &State, after: &State, side: &Side) -> Result<(), TestCaseError> {
        let raw = matches!(step.act, Act::Plant(_) | Act::Damage(..) | Act::Persist);
        for ((n, before), after) in step.tables.iter().zip(before).zip(after) {
            if raw {
                self.tables[*n].persisted |= *n == step.tables[0];
            } else if before != after {
                self.tables[*n].persisted = false;
            }
            let lost = !self.tables[*n].persisted && side.is_for_ever(*n);
            prop_assert!(!lost, "table {} has no TTL", n);
        }
        Ok(())
    }

    /// Checks what was answered against what was promised, and learns from it.
    pub fn check(&mut self, step: &Step, now: u64, done: &Done, played: &Played) -> Result<(), TestCaseError> {
        self.tables.iter_mut().for_each(|table| table.bring_to(now));
        let tables = &step.tables;
        match (&step.act, done) {
            (Act::Acquire { id, ttl, floor, weight, instead_of, token: known, .. }, Done::Grant(grant)) => {
                prop_assert!(!grant.healed, "what nobody damaged was healed");
                let instead_of = instead_of.filter(|other| other != id);
                let left = instead_of.map_or(Some(false), |other| self.holds(tables, other));
                instead_of.iter().for_each(|other| self.leave(tables, *other));
                let held = self.holds(tables, *id);
                let (AcquireOutcome::Granted { released, .. }
                | AcquireOutcome::Cancelled { released }
                | AcquireOutcome::Refused { released, .. }) = &grant.outcome;
                prop_assert!(left.is_none_or(|left| left == *released), "a holder left unnoticed");
                if *released {
                    played.count("handed over");
                }
                match &grant.outcome {
                    AcquireOutcome::Granted { token, .. } => {
                        played.count("granted");
                        self.granted(step, (*id, *ttl, *floor, *weight), (*token, *known), held, now, played)?;
                    }
                    AcquireOutcome::Cancelled { .. } => {
                        played.count("cancelled");
                        prop_assert!(
                            tables.iter().any(|n| self.tables[*n].ever_cancelled.contains(id)),
                            "what nobody cancelled"
                        );
                    }
                    AcquireOutcome::Refused { .. } => {
                        played.count("refused");
                        prop_assert_ne!(held, Some(true), "what holds was refused");
                    }
                }
            }
            (Act::Release(id, cancel), Done::Flag(freed)) => {
                prop_assert!(self.holds(tables, *id).is_none_or(|held| held == *freed), "release said {}", freed);
                self.leave(tables, *id);
                if *freed {
                    played.count("freed");
                }
                if *cancel > 0 {
                    for n in tables {
                        self.tables[*n].cancelled.insert(*id, now + cancel);
                        self.tables[*n].ever_cancelled.insert(*id);
                    }
                }
            }
            (Act::Extend(id, ttl), Done::Flag(extended)) => {
                prop_assert!(self.holds(tables, *id).is_none_or(|held| held == *extended), "extend said {}", extended);
                if *extended {
                    played.count("extended");
                    tables.iter().for_each(|n| self.tables[*n].renew(*id, now, *ttl));
                }
            }
            (Act::Adopt(id, heir, ttl, exact, _), Done::Token(token)) => {
                prop_assert!(
                    self.holds(tables, *id).is_none_or(|held| held == token.is_some()),
                    "adopt said {token:?}"
                );
                let Some(token) = token else { return Ok(()) };
                played.count("adopted");
                let passed: Vec<Lease> = tables.iter().filter_map(|n| self.tables[*n].leases.remove(id)).collect();
                prop_assert_eq!(passed.iter().map(|lease| lease.token).max(), Some(*token), "another token");
                for (n, mut lease) in tables.iter().zip(passed) {
                    if *exact {
                        (lease.deadline, lease.ttl) = (0, 0);
                    }
                    self.tables[*n].leases.insert(*heir, lease);
                    self.tables[*n].renew(*heir, now, *ttl);
                }
            }
            (Act::ForceRelease, Done::Count(ended)) => {
                let sure = |n: &usize| self.tables[*n].leases.values().filter(|lease| lease.sure).count() as u64;
                let all = |n: &usize| self.tables[*n].leases.len() as u64;
                prop_assert!(*ended >= tables.iter().map(sure).sum() && *ended <= tables.iter().map(all).sum());
                for n in tables {
                    let leases = &mut self.tables[*n].leases;
                    // Where nobody holds nothing is written, so what is over may come back with the clock.
                    if leases.values().any(|lease| lease.sure) {
                        leases.clear();
                    }
                }
            }
            _ => {}
        }
        for table in &self.tables {
            prop_assert!(table.held() <= self.permits, "{} of {} permits are held", table.held(), self.permits);
        }
        Ok(())
    }

    fn granted(
        &mut self,
        step: &Step,
        (id, ttl, floor, weight): (u8, u64, u64, Weight),
        (token, known): (u64, u64),
        held: Option<bool>,
        now: u64,
        played: &Played,
    ) -> Result<(), TestCaseError> {
        let weight = weight.of(self.permits);
        let recorded = |n: &usize| self.tables[*n].leases.get(&id).map(|lease| lease.token);
        let recorded: Option<Vec<u64>> = step.tables.iter().map(recorded).collect();
        let same = recorded.as_ref().is_some_and(|tokens| tokens.iter().max() == Some(&token));
        if same {
            played.count("again");
        } else {
            let above = |tokens: &Vec<u64>| tokens.iter().max().is_some_and(|token| *token > floor);
            prop_assert!(held != Some(true) || !recorded.as_ref().is_some_and(above), "a new token for what holds");
            if known > 0 {
                played.count("known elsewhere");
                prop_assert_eq!(token, known);
            } else {
                prop_assert!(token > floor && token >= now, "token {} at {} with floor {}", token, now, floor);
            }
        }
        for n in &step.tables {
            let table = &mut self.tables[*n];
            prop_assert!(!table.cancelled.contains_key(&id), "a cancelled id was granted");
            prop_assert!(same || known > 0 || token > table.token, "token {} after {}", token, table.token);
            table.token = table.token.max(token);
            let fresh = Lease { deadline: 0, ttl: 0, weight, token, sure: true };
            let lease = table.leases.entry(id).or_insert(fresh);
            // What may have been dropped since has either weight, if its token is another.
            if !same && !lease.sure {
                (lease.weight, lease.deadline, lease.ttl) = (lease.weight.min(weight), 0, 0);
            }
            lease.token = token;
            table.renew(id, now, ttl);
        }
        Ok(())
    }
}
