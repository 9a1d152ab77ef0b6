//! What stocks promise: who gets what, and what an answer must be by all answers before.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use quotalock::{LedgerKind, SETTLED_MEMORY, StockReservation, TakeOutcome};
use quotalock_tests::twins::Played;

use super::Done;
use super::act::{Act, Plan, STOCKS, Step, buyer};
use super::known::Known;

/// Reservations counted from the last, each once.
pub fn picked<'a>(picks: &[usize], known: &'a [(usize, StockReservation)]) -> Vec<&'a (usize, StockReservation)> {
    let mut seen = BTreeSet::new();
    let each = picks.iter().filter(|pick| seen.insert(**pick)).filter_map(|pick| known.iter().nth_back(*pick));
    each.collect()
}

/// What was of a reservation before a step.
pub struct Before {
    /// Whether it held, and was not over.
    held: bool,
    /// What had become of it, and when.
    settled: Option<(LedgerKind, u64)>,
}

/// First stock, id, buyer.
type Request = (usize, u8, Vec<u8>);

/// What the test knows of all sales of a case.
pub struct Model {
    plan: Plan,
    pub stocks: [Known; STOCKS],
    /// All reservations that were answered, with their stocks.
    pub known: Vec<(usize, StockReservation)>,
    /// The first answers to requests, and when they were given.
    requests: BTreeMap<Request, (Vec<StockReservation>, u64)>,
}

impl Model {
    /// Of sales that were never opened.
    pub fn new(plan: Plan) -> Model {
        Model { plan, stocks: Default::default(), known: Vec::new(), requests: BTreeMap::new() }
    }

    /// What is known of the reservations that a step is about.
    pub fn before(&self, act: &Act, now: u64) -> Vec<Before> {
        let (Act::Confirm(picks) | Act::Cancel(picks) | Act::Extend(picks, _)) = act else { return Vec::new() };
        let before = |(stock, of): &(usize, StockReservation)| {
            let known = &self.stocks[*stock];
            let held = known.holds.get(&of.id).is_some_and(|held| held.until > now);
            Before { held, settled: known.settled.get(&of.id).copied() }
        };
        picked(picks, &self.known).into_iter().map(before).collect()
    }

    /// Checks an answer. `before` says what was before the step.
    pub fn check(
        &mut self,
        step: &Step,
        now: u64,
        done: &Done,
        played: &Played,
        before: &[Before],
    ) -> Result<(), TestCaseError> {
        for known in &self.stocks {
            let (_, held, sold) = known.numbers;
            prop_assert_eq!(held, known.holds.values().map(|held| held.n).sum::<u64>());
            prop_assert_eq!(sold, known.bought.values().sum::<u64>());
            let given: usize = known.holds.values().map(|held| held.prizes.len()).sum();
            if self.plan.prized {
                prop_assert_eq!(given as u64, held);
                prop_assert_eq!(known.sold_prizes.len() as u64, sold);
            }
        }
        match (&step.act, done) {
            (Act::Take(who, n, _, request, _), Done::Taken(taken)) => {
                let reservations = taken.reservation.clone().into_iter().collect();
                let items = [(step.stock, *n)];
                self.taken(&items, *who, request.as_ref(), taken.outcome, reservations, now, played)?;
                prop_assert!(
                    self.plan.stepping || request.is_some() || taken.available == self.stocks[step.stock].numbers.0
                );
            }
            (Act::TakeAll(items, who, _, request), Done::TakenAll(taken)) => {
                if taken.outcome == TakeOutcome::Held {
                    prop_assert_eq!(taken.reservations.len(), items.len());
                    played.count("all");
                }
                let tag = request.map(|n| n + 10 * items.len() as u8 + 100);
                self.taken(items, *who, tag.as_ref(), taken.outcome, taken.reservations.clone(), now, played)?;
            }
            (Act::Confirm(_) | Act::Cancel(_), Done::Flag(done)) => {
                let kind =
                    if matches!(step.act, Act::Confirm(_)) { LedgerKind::Confirmed } else { LedgerKind::Cancelled };
                let remembered = |before: &Before| {
                    before.settled.is_some_and(|(became, at)| became == kind && now < at + SETTLED_MEMORY)
                };
                if !self.plan.stepping {
                    prop_assert_eq!(*done, before.iter().all(|before| before.held || remembered(before)));
                }
                played.count(match (kind, done) {
                    (LedgerKind::Confirmed, true) => "confirmed",
                    (LedgerKind::Confirmed, false) => "not confirmed",
                    (_, true) => "cancelled",
                    (_, false) => "not cancelled",
                });
                if *done && !before.iter().any(|before| before.held) {
                    played.count("settled again");
                }
            }
            (Act::Extend(..), Done::Flag(done)) => {
                if !self.plan.stepping {
                    prop_assert_eq!(*done, before.iter().all(|before| before.held));
                }
                played.count(if *done { "extended" } else { "not extended" });
            }
            (Act::Status, Done::Status(status)) => {
                let known = &self.stocks[step.stock];
                prop_assert_eq!((status.available, status.held, status.sold), known.numbers);
                prop_assert_eq!(status.quantity, status.available + status.held + status.sold);
                let buyers: BTreeSet<&Vec<u8>> =
                    known.bought.keys().chain(known.holds.values().map(|held| &held.buyer)).collect();
                prop_assert_eq!(status.buyers, buyers.len() as u64);
                if !self.plan.stepping {
                    prop_assert!(known.holds.values().all(|held| held.until > now), "one is over and not returned");
                }
            }
            (Act::List(_), Done::List(list)) => {
                let known = &self.stocks[step.stock];
                let ids: BTreeSet<&String> = list.iter().map(|of| &of.id).collect();
                prop_assert_eq!(ids.len(), list.len());
                prop_assert!(list.is_sorted_by_key(|of| of.until));
                for of in list {
                    let held = &known.holds[&of.id];
                    prop_assert_eq!((&held.buyer, held.n, &held.prizes), (&of.buyer, of.quantity, &of.prizes));
                    prop_assert!(of.until <= now + held.length, "a hold lasts longer than its length again");
                    prop_assert!(of.until > now);
                }
                if !self.plan.stepping {
                    prop_assert_eq!(list.len(), known.holds.values().filter(|held| held.until > now).count());
                }
            }
            (Act::Open, Done::Flag(opened)) => {
                let known = &mut self.stocks[step.stock];
                prop_assert_eq!(*opened, known.entries == 1 && known.opened_by == 0);
                known.opened_by += u64::from(*opened);
            }
            (Act::OpenOtherwise, Done::Flag(opened)) => {
                // The first of all, or the same again.
                self.stocks[step.stock].opened_by += u64::from(*opened);
            }
            (Act::Close, Done::Flag(closed)) => {
                let known = &mut self.stocks[step.stock];
                known.closed_by += u64::from(*closed);
                known.over = known.open;
                prop_assert_eq!(known.closed_by, u64::from(known.closed));
                played.count(if *closed { "closed" } else { "not closed" });
            }
            (Act::Persist(at), _) => {
                self.stocks[step.stock].persisted.insert(*at);
            }
            (_, Done::Failed(why)) => {
                let expected = [
                    "is not open",
                    "has passed",
                    "is open with",
                    "no reservation was given",
                    "given twice",
                    "other stocks",
                ];
                prop_assert!(expected.iter().any(|part| why.contains(part)), "{}", why);
                played.count("failed");
            }
            _ => {}
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn taken(
        &mut self,
        items: &[(usize, u64)],
        who: u8,
        request: Option<&u8>,
        outcome: TakeOutcome,
        reservations: Vec<StockReservation>,
        now: u64,
        played: &Played,
    ) -> Result<(), TestCaseError> {
        played.count(outcome.as_str());
        // An id belongs to the first stock and the buyer.
        let first = items.iter().map(|(at, _)| *at).min().unwrap();
        let key = request.map(|request| (first, *request, buyer(who)));
        let remembered = key.as_ref().and_then(|key| self.requests.get(key));
        // As long as it held, and as the client says.
        let memory = |answered: &[StockReservation], at| answered[0].until.saturating_sub(at).max(60_000_000);
        if let Some((answered, _)) = remembered.filter(|(answered, at)| now < at + memory(answered, *at)) {
            prop_assert_eq!(outcome, TakeOutcome::Held);
            let ids = |list: &[StockReservation]| list.iter().map(|of| of.id.clone()).collect::<BTreeSet<_>>();
            prop_assert_eq!(ids(answered), ids(&reservations));
            prop_assert_eq!(answered.first().map(|of| of.until), reservations.first().map(|of| of.until));
            played.count("asked again");
            return Ok(());
        }
        if outcome == TakeOutcome::Held {
            let by_stock = items.iter().zip(&reservations);
            for ((at, n), of) in by_stock {
                let held = self.stocks[*at].holds.get(&of.id);
                prop_assert!(
                    held.is_some_and(|held| held.n == *n && held.prizes == of.prizes && held.until == of.until)
                );
                self.known.push((*at, of.clone()));
            }
            if let Some(key) = key {
                self.requests.insert(key, (reservations, now));
            }
            return Ok(());
        }
        if !self.plan.stepping {
            let whys = items.iter().map(|(at, n)| self.stocks[*at].refusal(&self.plan, &buyer(who), *n, now));
            let first = whys.into_iter().find(|why| *why != TakeOutcome::Held);
            // Several are decided in the order of their keys, which is that of their numbers.
            let mut sorted = items.to_vec();
            sorted.sort_unstable();
            let by_key = sorted.iter().map(|(at, n)| self.stocks[*at].refusal(&self.plan, &buyer(who), *n, now));
            let first_by_key = by_key.into_iter().find(|why| *why != TakeOutcome::Held);
            prop_assert!(first.is_some(), "{:?} without a reason", outcome);
            prop_assert_eq!(Some(outcome), first_by_key);
        }
        Ok(())
    }
}
