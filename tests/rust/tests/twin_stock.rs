//! The Rust twins of stocks against their Lua, in virtual time on real servers: the same answers and the same ledger after
//! every one of at least 50,000 steps per server, with clock steps, lost replies, prizes and lost TTLs.
//!
//! What a stock promises is checked as well, after every step, by a model of the test's own: it knows what was answered and
//! what the ledger says, and nothing of how it is kept.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quotalock::testing::{self, Kind};
use quotalock::{
    Client, Error, LedgerEntry, LedgerKind, Opening, Stock, StockOptions, StockReservation, StockStatus, TakeOutcome,
    Taken, TakenAll,
};
use quotalock_tests::{client, fresh_prefix, servers};

const CASES: u32 = 360;
const STEPS: usize = 200;
/// The fewest that are worth the name of a proof, on each server.
const AT_LEAST: usize = 50_000;
const START: u64 = 1_700_000_000_000_000;
const STOCKS: usize = 3;
const BUYERS: u8 = 4;
/// Of holds and of the time between steps, so that some are met to the microsecond; the second is how long settled
/// reservations and requests are remembered.
const LENGTHS: [u64; 3] = [1_000, 60_000_000, 10_000_000];
/// How long a sale can be: its `ends` is so long after the start, or never.
const SALE: u64 = 200_000_000;

#[derive(Clone, Debug)]
enum Act {
    Open,
    /// In cases where sales are closed; else it is a look.
    Close,
    /// With other numbers than it was, or may be.
    OpenOtherwise,
    Restock(u64, Option<u8>),
    /// A buyer, how many, for how long, a request, whether it is sent again.
    Take(u8, u64, u64, Option<u8>, bool),
    TakeAll(Vec<(usize, u64)>, u8, u64, Option<u8>),
    /// Of the reservations there were, how many of the last; and which.
    Confirm(Vec<usize>),
    Cancel(Vec<usize>),
    Extend(Vec<usize>, u64),
    Status,
    List(u64),
    Persist(usize),
}

#[derive(Clone, Debug)]
struct Step {
    /// Microseconds to go forward, or back.
    shift: i64,
    stock: usize,
    act: Act,
}

/// What all steps of a case share.
#[derive(Clone, Debug)]
struct Plan {
    quantity: u64,
    per_buyer: Option<u64>,
    ends: Option<u64>,
    prized: bool,
    /// Whether the clock may go back.
    stepping: bool,
    /// Whether sales are closed.
    closing: bool,
    /// Whether weeks may pass at once.
    leaping: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let per_buyer = prop_oneof![Just(None), (1_u64..8).prop_map(Some)];
    let ends = prop_oneof![3 => Just(None), 1 => Just(Some(START + SALE))];
    let quantity = prop_oneof![1_u64..40, Just(1)];
    let (closing, leaping) = (prop::bool::weighted(0.35), prop::bool::weighted(0.1));
    (quantity, per_buyer, ends, any::<bool>(), any::<bool>(), closing, leaping).prop_map(
        |(quantity, per_buyer, ends, prized, stepping, closing, leaping)| Plan {
            quantity,
            per_buyer,
            ends,
            prized,
            stepping,
            closing,
            leaping,
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let hold = || prop_oneof![2 => prop::sample::select(&LENGTHS[..]), 6 => 1_000_u64..30_000_000, 1 => 30_000_000_u64..4_000_000_000];
    let n = || prop_oneof![6 => Just(1_u64), 3 => 1_u64..6, 1 => 1_u64..40];
    let request = || prop_oneof![3 => Just(None), 1 => (0_u8..4).prop_map(Some)];
    let take = (0..BUYERS, n(), hold(), request(), prop::bool::weighted(0.1));
    let subset = prop::sample::subsequence((0..STOCKS).collect::<Vec<_>>(), 1..=STOCKS).prop_shuffle();
    let items =
        (subset, prop::collection::vec(n(), STOCKS)).prop_map(|(stocks, n)| stocks.into_iter().zip(n).collect());
    let picks =
        || prop_oneof![5 => prop::collection::vec(0_usize..12, 1), 1 => prop::collection::vec(0_usize..8, 2..4)];
    prop_oneof![
        1 => Just(Act::Open),
        1 => Just(Act::Close),
        1 => Just(Act::OpenOtherwise),
        1 => (1_u64..4, prop::option::of(0_u8..3)).prop_map(|(n, request)| Act::Restock(n, request)),
        16 => take.prop_map(|(buyer, n, hold, request, again)| Act::Take(buyer, n, hold, request, again)),
        4 => (items, 0..BUYERS, hold(), request()).prop_map(|(items, buyer, hold, request)| {
            Act::TakeAll(items, buyer, hold, request)
        }),
        6 => picks().prop_map(Act::Confirm),
        5 => picks().prop_map(Act::Cancel),
        3 => (picks(), hold()).prop_map(|(picks, hold)| Act::Extend(picks, hold)),
        2 => Just(Act::Status),
        2 => (1_u64..6).prop_map(Act::List),
        1 => (0_usize..3).prop_map(Act::Persist),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let shift = prop_oneof![
        5 => Just(0_i64),
        3 => prop::sample::select(&LENGTHS[..]).prop_map(|length| length as i64),
        10 => 0_i64..1_000,
        10 => 0_i64..1_000_000,
        4 => 0_i64..10_000_000,
        1 => 0_i64..100_000_000,
        // So that sales would be forgotten if nobody asked for them.
        1 => 0_i64..2_600_000_000_000,
        1 => -20_000_000_i64..0,
        1 => -3_600_000_000_i64..0,
    ];
    (shift, 0..STOCKS, act()).prop_map(|(shift, stock, act)| Step { shift, stock, act })
}

fn buyer(n: u8) -> Vec<u8> {
    // One that is text, one that looks like what stands beside buyers in the hash, and bytes.
    [b"user:1".to_vec(), b"p1".to_vec(), vec![0, 0xff, b'}'], b"b".to_vec()][usize::from(n)].clone()
}

/// The outcome of a step; refusals in words.
#[derive(Clone, Debug, PartialEq)]
enum Done {
    Taken(Taken),
    TakenAll(TakenAll),
    Flag(bool),
    Count(u64),
    Status(StockStatus),
    List(Vec<StockReservation>),
    Failed(String),
    Nothing,
}

struct Side {
    client: Client,
    stocks: Vec<Stock>,
    /// The id of the last entry of each ledger that was read.
    read: Vec<Option<String>>,
    /// A number of each prize.
    next_prize: Vec<u64>,
}

impl Side {
    fn new(url: &str, prefix: &str) -> Side {
        let client = client(url, prefix);
        let options = StockOptions { scope: Some(b"it".to_vec()), ..StockOptions::default() };
        let stock = |n: usize| client.stock(format!("s{n}").as_bytes(), options.clone()).unwrap();
        let stocks = (0..STOCKS).map(stock).collect();
        Side { client, stocks, read: vec![None; STOCKS], next_prize: vec![0; STOCKS] }
    }

    fn perform(&mut self, plan: &Plan, step: &Step, number: u64, known: &[(usize, StockReservation)]) -> Done {
        self.try_to(plan, step, number, known).unwrap_or_else(|error| Done::Failed(error.to_string()))
    }

    fn try_to(
        &mut self,
        plan: &Plan,
        step: &Step,
        number: u64,
        known: &[(usize, StockReservation)],
    ) -> Result<Done, Error> {
        let mut id = [7; 16];
        id[8..].copy_from_slice(&number.to_be_bytes());
        let stock = self.stocks[step.stock].clone();
        Ok(match &step.act {
            Act::Open => {
                let opening = self.opening(plan, step.stock, plan.quantity);
                Done::Flag(testing::stock::open(&stock, id, plan.quantity, opening)?.run()?)
            }
            Act::OpenOtherwise => {
                let opening = self.opening(plan, step.stock, plan.quantity + 1);
                Done::Flag(testing::stock::open(&stock, id, plan.quantity + 1, opening)?.run()?)
            }
            Act::Restock(n, request) => {
                let prizes = self.prizes(plan, step.stock, *n);
                let request = request.map(|n| [n]);
                Done::Count(stock.restock(*n, &prizes, request.as_ref().map(|id| id.as_slice()))?.run()?)
            }
            Act::Take(who, n, hold, request, again) => {
                let request = request.map(|n| [n]);
                let take = || {
                    let request = request.as_ref().map(|id| id.as_slice());
                    testing::stock::take(&stock, id, &buyer(*who), *n, *hold, request)?.run()
                };
                let first = take()?;
                if *again {
                    // The first reply was lost.
                    let second = take()?;
                    if first.outcome == TakeOutcome::Held {
                        assert_eq!(second.reservation, first.reservation, "sent again, another was taken");
                    }
                }
                Done::Taken(first)
            }
            Act::TakeAll(items, who, hold, request) => {
                let items: Vec<(&Stock, u64)> = items.iter().map(|(at, n)| (&self.stocks[*at], *n)).collect();
                let request = request.map(|n| [n, items.len() as u8]);
                let request = request.as_ref().map(|id| id.as_slice());
                Done::TakenAll(testing::stock::take_all(&self.client, id, &items, &buyer(*who), *hold, request)?.run()?)
            }
            Act::Confirm(picks) => Done::Flag(self.client.confirm_all(&self.picked(picks, known))?.run()?),
            Act::Cancel(picks) => Done::Flag(self.client.cancel_all(&self.picked(picks, known))?.run()?),
            Act::Extend(picks, hold) => Done::Flag(self.client.extend_all(&self.picked(picks, known), *hold)?.run()?),
            Act::Close if plan.closing => {
                let closed = testing::stock::close(&stock, id)?.run()?;
                let again = testing::stock::close(&stock, id)?.run()?;
                assert_eq!(closed, again, "the first reply was lost, and the second says otherwise");
                Done::Flag(closed)
            }
            Act::Status | Act::Close => Done::Status(stock.status().run()?),
            Act::List(count) => {
                let (mut all, mut cursor) = (Vec::new(), None);
                loop {
                    let page = stock.reservations(cursor.as_deref(), *count)?.run()?;
                    all.extend(page.reservations);
                    cursor = page.next;
                    if cursor.is_none() {
                        return Ok(Done::List(all));
                    }
                }
            }
            Act::Persist(at) => {
                testing::put(&self.client, &stock.redis_keys()[*at], Kind::Persist, b"").run()?;
                Done::Nothing
            }
        })
    }

    fn opening(&mut self, plan: &Plan, stock: usize, quantity: u64) -> Opening {
        let prize = |n: u64| format!("prize {stock} {n}").into_bytes();
        let prizes = if plan.prized { (0..quantity).map(prize).collect() } else { Vec::new() };
        self.next_prize[stock] = self.next_prize[stock].max(quantity);
        Opening { per_buyer: plan.per_buyer, ends: plan.ends, prizes }
    }

    fn prizes(&mut self, plan: &Plan, stock: usize, n: u64) -> Vec<Vec<u8>> {
        let first = self.next_prize[stock];
        self.next_prize[stock] += n;
        let prize = |n: u64| format!("prize {stock} {n}").into_bytes();
        if plan.prized { (first..first + n).map(prize).collect() } else { Vec::new() }
    }

    fn picked<'a>(&'a self, picks: &[usize], known: &'a [(usize, StockReservation)]) -> Vec<(&'a Stock, &'a str)> {
        picked(picks, known).into_iter().map(|(stock, of)| (&self.stocks[*stock], of.id.as_str())).collect()
    }

    /// What came to a ledger since it was read. Its ids are the stores' own.
    fn news(&mut self, stock: usize) -> Vec<LedgerEntry> {
        let mut news = Vec::new();
        loop {
            let page = self.stocks[stock].ledger(self.read[stock].as_deref(), 100).unwrap().run().unwrap();
            let Some(last) = page.last() else { return news };
            self.read[stock] = Some(last.id.clone());
            news.extend(page.into_iter().map(|entry| LedgerEntry { id: String::new(), ..entry }));
        }
    }

    fn check_ttls(&self, known: &Known, stock: usize) -> Result<(), TestCaseError> {
        for (at, key) in self.stocks[stock].redis_keys().iter().enumerate() {
            let stored = testing::get(&self.client, key).run().unwrap();
            let lost = stored.is_some_and(|stored| stored.ttl_ms.is_none()) && !known.persisted.contains(&at);
            prop_assert!(!lost, "{} has no TTL", String::from_utf8_lossy(key));
        }
        Ok(())
    }
}

/// Reservations counted from the last, each once.
fn picked<'a>(picks: &[usize], known: &'a [(usize, StockReservation)]) -> Vec<&'a (usize, StockReservation)> {
    let mut seen = BTreeSet::new();
    let each = picks.iter().filter(|pick| seen.insert(**pick)).filter_map(|pick| known.iter().nth_back(*pick));
    each.collect()
}

/// What the test knows of one hold.
struct Held {
    buyer: Vec<u8>,
    n: u64,
    /// Its longest length.
    length: u64,
    until: u64,
    prizes: Vec<Vec<u8>>,
}

/// What the test knows of one sale, by its ledger and what was answered.
#[derive(Default)]
struct Known {
    open: bool,
    numbers: (u64, u64, u64),
    entries: u64,
    holds: BTreeMap<String, Held>,
    bought: BTreeMap<Vec<u8>, u64>,
    /// What became of reservations, and when.
    settled: BTreeMap<String, (LedgerKind, u64)>,
    sold_prizes: BTreeSet<Vec<u8>>,
    /// Keys that somebody took the TTL of.
    persisted: BTreeSet<usize>,
    opened_by: u64,
    closed: bool,
    closed_by: u64,
}

/// How often things happened: a test in which they do not proves nothing.
#[derive(Default)]
struct Counted(BTreeMap<&'static str, usize>);

impl Counted {
    fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

impl Known {
    fn of_buyer(&self, buyer: &[u8]) -> u64 {
        let held: u64 = self.holds.values().filter(|held| held.buyer == buyer).map(|held| held.n).sum();
        held + self.bought.get(buyer).copied().unwrap_or(0)
    }

    /// Takes one entry of the ledger in, which must be possible by all that came before.
    fn replay(&mut self, plan: &Plan, step: &Step, entry: &LedgerEntry, now: u64) -> Result<(), TestCaseError> {
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
                prop_assert!(!self.closed, "taken from a closed sale");
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
    fn refusal(&self, plan: &Plan, buyer: &[u8], n: u64, now: u64) -> TakeOutcome {
        match () {
            () if !self.open => TakeOutcome::NotOpen,
            () if self.closed || plan.ends.is_some_and(|ends| now >= ends) => TakeOutcome::Ended,
            () if plan.per_buyer.is_some_and(|most| self.of_buyer(buyer) + n > most) => TakeOutcome::BuyerLimit,
            () if n > self.numbers.0 => TakeOutcome::SoldOut,
            () => TakeOutcome::Held,
        }
    }
}

/// First stock, id, buyer.
type Request = (usize, u8, Vec<u8>);

struct Model {
    plan: Plan,
    stocks: [Known; STOCKS],
    /// All reservations that were answered, with their stocks.
    known: Vec<(usize, StockReservation)>,
    /// The first answers to requests, and when they were given.
    requests: BTreeMap<Request, (Vec<StockReservation>, u64)>,
}

impl Model {
    /// Checks an answer. `before` says which reservations held before the step, and were not over.
    fn check(
        &mut self,
        step: &Step,
        now: u64,
        done: &Done,
        counted: &mut Counted,
        held_before: &[bool],
        settled_before: &[Option<(LedgerKind, u64)>],
    ) -> Result<(), TestCaseError> {
        for known in &self.stocks {
            let (available, held, sold) = known.numbers;
            prop_assert_eq!(held, known.holds.values().map(|held| held.n).sum::<u64>());
            prop_assert_eq!(sold, known.bought.values().sum::<u64>());
            let given: usize = known.holds.values().map(|held| held.prizes.len()).sum();
            if self.plan.prized {
                prop_assert_eq!(given as u64, held);
                prop_assert_eq!(known.sold_prizes.len() as u64, sold);
            }
            let _ = available;
        }
        match (&step.act, done) {
            (Act::Take(who, n, _, request, _), Done::Taken(taken)) => {
                let reservations = taken.reservation.clone().into_iter().collect();
                let items = [(step.stock, *n)];
                self.taken(&items, *who, request.as_ref(), taken.outcome, reservations, now, counted)?;
                prop_assert!(
                    self.plan.stepping || request.is_some() || taken.available == self.stocks[step.stock].numbers.0
                );
            }
            (Act::TakeAll(items, who, _, request), Done::TakenAll(taken)) => {
                if taken.outcome == TakeOutcome::Held {
                    prop_assert_eq!(taken.reservations.len(), items.len());
                    counted.count("all");
                }
                let tag = request.map(|n| n + 10 * items.len() as u8 + 100);
                self.taken(items, *who, tag.as_ref(), taken.outcome, taken.reservations.clone(), now, counted)?;
            }
            (Act::Confirm(_) | Act::Cancel(_), Done::Flag(done)) => {
                let kind =
                    if matches!(step.act, Act::Confirm(_)) { LedgerKind::Confirmed } else { LedgerKind::Cancelled };
                let remembered = |settled: &Option<(LedgerKind, u64)>| {
                    settled.is_some_and(|(became, at)| became == kind && now < at + 60_000_000)
                };
                if !self.plan.stepping {
                    let all =
                        held_before.iter().zip(settled_before).all(|(held, settled)| *held || remembered(settled));
                    prop_assert_eq!(*done, all);
                }
                counted.count(match (kind, done) {
                    (LedgerKind::Confirmed, true) => "confirmed",
                    (LedgerKind::Confirmed, false) => "not confirmed",
                    (_, true) => "cancelled",
                    (_, false) => "not cancelled",
                });
                if *done && !held_before.iter().any(|held| *held) {
                    counted.count("settled again");
                }
            }
            (Act::Extend(..), Done::Flag(done)) => {
                if !self.plan.stepping {
                    prop_assert_eq!(*done, held_before.iter().all(|held| *held));
                }
                counted.count(if *done { "extended" } else { "not extended" });
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
                prop_assert_eq!(known.closed_by, u64::from(known.closed));
                counted.count(if *closed { "closed" } else { "not closed" });
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
                counted.count("failed");
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
        counted: &mut Counted,
    ) -> Result<(), TestCaseError> {
        counted.count(outcome.as_str());
        // An id belongs to the first stock and the buyer.
        let first = items.iter().map(|(at, _)| *at).min().unwrap();
        let key = request.map(|request| (first, *request, buyer(who)));
        let remembered = key.as_ref().and_then(|key| self.requests.get(key));
        if let Some((answered, _)) = remembered.filter(|(_, at)| now < at + 60_000_000) {
            prop_assert_eq!(outcome, TakeOutcome::Held);
            let ids = |list: &[StockReservation]| list.iter().map(|of| of.id.clone()).collect::<BTreeSet<_>>();
            prop_assert_eq!(ids(answered), ids(&reservations));
            prop_assert_eq!(answered.first().map(|of| of.until), reservations.first().map(|of| of.until));
            counted.count("asked again");
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

/// Plays random cases to a server and its twin, and returns how many steps that were.
fn steps_that_agree(name: &str, url: &str) -> usize {
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let executed = Cell::new(0);
    let counted = std::cell::RefCell::new(Counted::default());
    let outcome = runner.run(&(plan(), prop::collection::vec(step(), STEPS)), |(plan, steps)| {
        let prefix = fresh_prefix("stock");
        let mut sides = [Side::new("memory://", &prefix), Side::new(url, &prefix)];
        let mut model =
            Model { plan: plan.clone(), stocks: Default::default(), known: Vec::new(), requests: BTreeMap::new() };
        let (mut now, counted) = (START, &mut *counted.borrow_mut());
        // Most sales are open soon.
        let openings = (0..STOCKS).map(|stock| Step { shift: 1, stock, act: Act::Open });
        let openings: Vec<Step> = openings.take(STOCKS - usize::from(plan.quantity % 5 == 0)).collect();
        for (i, step) in openings.iter().chain(&steps).enumerate() {
            let shift = if plan.stepping { step.shift } else { step.shift.max(0) };
            let shift = if plan.leaping { shift } else { shift.min(100_000_000) };
            now = now.saturating_add_signed(shift);
            sides.iter().for_each(|side| testing::set_time(&side.client, Some(now)).unwrap());
            let (mut held_before, mut settled_before) = (Vec::new(), Vec::new());
            if let Act::Confirm(picks) | Act::Cancel(picks) | Act::Extend(picks, _) = &step.act {
                for (stock, of) in picked(picks, &model.known) {
                    let known = &model.stocks[*stock];
                    held_before.push(known.holds.get(&of.id).is_some_and(|held| held.until > now));
                    settled_before.push(known.settled.get(&of.id).copied());
                }
            }
            let [twin, script] = sides.each_mut().map(|side| side.perform(&plan, step, i as u64, &model.known));
            prop_assert_eq!(&twin, &script, "step {} on {}", i, name);
            for stock in 0..STOCKS {
                let [twin, script] = sides.each_mut().map(|side| side.news(stock));
                prop_assert_eq!(&twin, &script, "ledger {} after step {} on {}", stock, i, name);
                for entry in &script {
                    if entry.kind == LedgerKind::Expired {
                        counted.count("expired");
                    }
                    model.stocks[stock].replay(&plan, step, entry, now)?;
                }
            }
            model.check(step, now, &script, counted, &held_before, &settled_before)?;
            if i % 8 == 0 {
                sides[1].check_ttls(&model.stocks[step.stock], step.stock)?;
            }
            executed.set(executed.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    let counted = counted.into_inner().0;
    println!("{name}: {counted:?}");
    for what in [
        "held",
        "sold_out",
        "buyer_limit",
        "not_open",
        "ended",
        "all",
        "asked again",
        "confirmed",
        "not confirmed",
        "settled again",
        "cancelled",
        "not cancelled",
        "extended",
        "not extended",
        "expired",
        "closed",
        "not closed",
        "failed",
    ] {
        assert!(counted.get(what).is_some_and(|times| *times >= 100), "{name}: {what} in {counted:?}");
    }
    executed.get()
}

#[test]
fn twin_and_script_agree() {
    std::thread::scope(|scope| {
        for (name, url) in servers() {
            scope.spawn(move || {
                let executed = steps_that_agree(&name, &url);
                assert!(executed >= AT_LEAST, "{name}: only {executed} steps");
                println!("{name}: {executed} steps");
            });
        }
    });
}
