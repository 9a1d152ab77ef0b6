//! The Rust twins of stocks against their Lua, in virtual time on real servers: the same answers and the same ledger after
//! every one of at least 50,000 steps per server, with clock steps, lost replies, prizes and lost TTLs.
//!
//! What a stock promises is checked as well, after every step, by a model of the test's own: it knows what was answered and
//! what the ledger says, and nothing of how it is kept.

mod act;
mod known;
mod model;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::testing::{self, TestValueKind};
use quotalock::{
    Client, Error, LedgerEntry, LedgerKind, Opening, Stock, StockOptions, StockReservation, StockStatus, TakeOutcome,
    Taken, TakenAll,
};
use quotalock_tests::twins::{Played, START, STEPS, agree, is_for_ever, put};
use quotalock_tests::{client, fresh_prefix};

use act::{Act, Plan, STOCKS, Step, buyer, plan, step};
use known::Known;
use model::{Model, picked};

/// How many are played to each server.
const CASES: u32 = 60;

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
                put(&self.client, &stock.redis_keys()[*at], TestValueKind::Persist, b"");
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
            let lost = !known.persisted.contains(&at) && is_for_ever(&self.client, key);
            prop_assert!(!lost, "{} has no TTL", String::from_utf8_lossy(key));
        }
        Ok(())
    }
}

/// Plays one case to a server and its twin.
fn play(played: &Played, plan: &Plan, steps: &[Step]) -> TestCaseResult {
    let (name, prefix) = (&played.name, fresh_prefix("stock"));
    let mut sides = [Side::new("memory://", &prefix), Side::new(&played.url, &prefix)];
    let (mut model, mut now) = (Model::new(plan.clone()), START);
    // Most sales are open soon.
    let openings = (0..STOCKS).map(|stock| Step { shift: 1, stock, act: Act::Open });
    let openings: Vec<Step> = openings.take(STOCKS - usize::from(plan.quantity.is_multiple_of(5))).collect();
    for (i, step) in openings.iter().chain(steps).enumerate() {
        let shift = if plan.stepping { step.shift } else { step.shift.max(0) };
        let shift = if plan.leaping { shift } else { shift.min(100_000_000) };
        now = now.saturating_add_signed(shift);
        sides.iter().for_each(|side| testing::set_time(&side.client, Some(now)).unwrap());
        let before = model.before(&step.act, now);
        let [twin, script] = sides.each_mut().map(|side| side.perform(plan, step, i as u64, &model.known));
        prop_assert_eq!(&twin, &script, "step {} on {}", i, name);
        for stock in 0..STOCKS {
            let [twin, script] = sides.each_mut().map(|side| side.news(stock));
            prop_assert_eq!(&twin, &script, "ledger {} after step {} on {}", stock, i, name);
            for entry in &script {
                if entry.kind == LedgerKind::Expired {
                    played.count("expired");
                }
                model.stocks[stock].replay(plan, step, entry, now)?;
            }
        }
        model.check(step, now, &script, played, &before)?;
        if i % 8 == 0 {
            sides[1].check_ttls(&model.stocks[step.stock], step.stock)?;
        }
        played.step();
    }
    Ok(())
}

#[test]
fn twin_and_script_agree() {
    let cases = || (plan(), prop::collection::vec(step(), STEPS));
    let outcomes = ["held", "sold_out", "buyer_limit", "not_open", "ended", "failed"];
    let others = [
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
    ];
    agree(CASES, cases, &[&outcomes[..], &others].concat(), |played, (plan, steps)| play(played, &plan, &steps));
}
