//! Stocks on every store, as a shop uses them.

use std::collections::BTreeMap;

use quotalock::{
    Client, Code, DEFAULT_HOLD, LedgerKind, Opening, Stock, StockOptions, StockPhase, StockReservation, TakeOutcome,
    testing,
};
use quotalock_tests::operator::command;
use quotalock_tests::{client, fresh_prefix, servers, spec, stores};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const HOLD: u64 = 600 * SECOND;

/// A sale on one store, in a time of its own.
struct Shop {
    client: Client,
    stock: Stock,
}

impl Shop {
    fn at(&self, time: u64) -> &Stock {
        testing::set_time(&self.client, Some(time)).unwrap();
        &self.stock
    }

    fn numbers(&self) -> (u64, u64, u64, u64) {
        let status = self.stock.status().run().unwrap();
        assert_eq!(status.available + status.held + status.sold, status.quantity);
        (status.available, status.held, status.sold, status.buyers)
    }

    fn kinds(&self) -> Vec<LedgerKind> {
        let entries = self.stock.ledger(None, 1_000).unwrap().run().unwrap();
        for (at, entry) in entries.iter().enumerate() {
            assert_eq!(entry.number, at as u64 + 1);
        }
        entries.into_iter().map(|entry| entry.kind).collect()
    }
}

fn in_every_shop(test: impl Fn(&Shop)) {
    for (name, url) in stores() {
        println!("{name}");
        let client = client(&url, &fresh_prefix("stock"));
        let stock = client.stock(b"sale:42", StockOptions::default()).unwrap();
        let shop = Shop { client, stock };
        shop.at(START);
        test(&shop);
    }
}

fn take(stock: &Stock, buyer: &str, quantity: u64) -> Result<StockReservation, TakeOutcome> {
    let taken = stock.take(buyer.as_bytes(), quantity, HOLD, None).unwrap().run().unwrap();
    taken.reservation.ok_or(taken.outcome)
}

fn limited(per_buyer: u64) -> Opening {
    Opening { per_buyer: Some(per_buyer), ..Opening::default() }
}

#[test]
fn units_are_held_sold_and_returned() {
    in_every_shop(|shop| {
        let stock = shop.at(START);
        assert_eq!(stock.status().run().unwrap().phase, StockPhase::NotOpen);
        assert_eq!(take(stock, "a", 1), Err(TakeOutcome::NotOpen));
        assert!(stock.open(5, limited(3)).unwrap().run().unwrap());
        assert!(!stock.open(5, limited(3)).unwrap().run().unwrap());
        let error = stock.open(6, limited(3)).unwrap().run().unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains("quantity 5, per_buyer 3, ends none"), "{error}");

        let first = take(stock, "a", 2).unwrap();
        assert_eq!((first.quantity, first.until, first.buyer.as_slice()), (2, START + HOLD, b"a".as_slice()));
        assert_eq!(take(stock, "a", 2), Err(TakeOutcome::BuyerLimit));
        let second = take(stock, "a", 1).unwrap();
        let third = take(stock, "b", 2).unwrap();
        assert_eq!(take(stock, "c", 1), Err(TakeOutcome::SoldOut));
        assert_eq!(shop.numbers(), (0, 5, 0, 2));
        assert!(stock.confirm(&first.id).unwrap().run().unwrap());
        assert!(stock.confirm(&first.id).unwrap().run().unwrap(), "again");
        assert!(!stock.cancel(&first.id).unwrap().run().unwrap());
        assert!(stock.cancel(&second.id).unwrap().run().unwrap());
        assert!(stock.cancel(&second.id).unwrap().run().unwrap(), "again");
        assert!(!stock.confirm(&second.id).unwrap().run().unwrap());
        assert_eq!(shop.numbers(), (1, 2, 2, 2));
        let listed = stock.reservations(None, 10).unwrap().run().unwrap();
        assert_eq!((listed.reservations, listed.next), (vec![third.clone()], None));

        let stock = shop.at(START + HOLD - 1);
        assert!(stock.extend(&third.id, 2 * SECOND).unwrap().run().unwrap());
        shop.at(START + HOLD);
        assert_eq!(shop.numbers(), (1, 2, 2, 2));
        let stock = shop.at(START + HOLD + 2 * SECOND - 1);
        assert!(!stock.confirm(&third.id).unwrap().run().unwrap(), "its hold is over");
        assert_eq!(shop.numbers(), (3, 0, 2, 1));
        assert_eq!(stock.restock(4, &[], None).unwrap().run().unwrap(), 9);
        assert_eq!(shop.numbers(), (7, 0, 2, 1));
        use LedgerKind::{Cancelled, Confirmed, Expired, Extended, Held, Opened, Restocked};
        let kinds = [Opened, Held, Held, Held, Confirmed, Cancelled, Extended, Expired, Restocked];
        assert_eq!(shop.kinds(), kinds);
    });
}

#[test]
fn more_than_256_ended_holds_return_call_by_call() {
    in_every_shop(|shop| {
        let stock = shop.at(START);
        stock.open(300, Opening::default()).unwrap().run().unwrap();
        for n in 0..300 {
            take(stock, &format!("b{n}"), 1).unwrap();
        }
        let stock = shop.at(START + 2 * HOLD);
        assert_eq!(take(stock, "z", 300), Err(TakeOutcome::SoldOut), "256 came back");
        assert_eq!(take(stock, "z", 300).map(|of| of.quantity), Ok(300), "and the others");
        assert_eq!(shop.numbers(), (0, 300, 0, 1));
    });
}

#[test]
fn a_basket_that_is_refused_looks_no_further_than_one_sale_does() {
    in_every_shop(|shop| {
        let stocks = [b"a", b"b"].map(|name| shop.client.stock(name, stock_options(&shop.stock)).unwrap());
        for stock in &stocks {
            stock.open(300, Opening::default()).unwrap().run().unwrap();
            for n in 0..300 {
                take(stock, &format!("b{n}"), 1).unwrap();
            }
        }
        shop.at(START + 2 * HOLD);
        let both = [(&stocks[0], 300), (&stocks[1], 300)];
        let basket = || shop.client.take_all(&both, b"z", HOLD, None).unwrap().run().unwrap();
        let refused = basket();
        assert_eq!((refused.outcome, refused.refused), (TakeOutcome::SoldOut, Some(0)));
        assert_eq!(refused.available, [256, 16], "16 rounds of 16, and one of each sale whatever happens");
        assert_eq!(basket().available, [300, 224]);
        assert_eq!(basket().outcome, TakeOutcome::Held);
    });
}

#[test]
fn what_returns_does_not_have_the_sale_forgotten_before_its_last_hold() {
    in_every_shop(|shop| {
        let options = StockOptions { retention: 60 * SECOND, ..StockOptions::default() };
        let stock = shop.client.stock(b"brief", options).unwrap();
        let opening = Opening { ends: Some(START + 100 * HOLD), ..Opening::default() };
        stock.open(5, opening).unwrap().run().unwrap();
        assert!(take(&stock, "long", 1).is_ok());
        stock.take(b"short", 1, SECOND, None).unwrap().run().unwrap();
        let keeps = || {
            let ttl = |key| testing::get(&shop.client, key).run().unwrap().map(|stored| stored.ttl_ms.unwrap());
            stock.redis_keys().iter().filter_map(|key| ttl(key)).min().unwrap() * 1_000
        };
        shop.at(START + 2 * SECOND);
        assert_eq!(stock.status().run().unwrap().held, 1);
        assert!(keeps() > HOLD, "{}", keeps());
        // Closed, it is kept from now on only.
        assert!(stock.close().unwrap().run().unwrap());
        assert!(keeps() > HOLD && keeps() <= HOLD + 60 * SECOND, "{}", keeps());
    });
}

#[test]
fn a_sold_out_sale_that_is_asked_for_is_not_forgotten() {
    const DAY: u64 = 86_400 * SECOND;
    in_every_shop(|shop| {
        let stock = shop.at(START);
        stock.open(1, Opening::default()).unwrap().run().unwrap();
        let held = take(stock, "a", 1).unwrap();
        assert!(stock.confirm(&held.id).unwrap().run().unwrap());
        // Nothing is due after this.
        shop.at(START + HOLD);
        assert_eq!(shop.numbers(), (0, 0, 1, 1));
        shop.at(START + 16 * DAY);
        assert_eq!(take(stock, "b", 1), Err(TakeOutcome::SoldOut));
        let ttl = testing::get(&shop.client, &stock.redis_keys()[0]).run().unwrap().unwrap().ttl_ms.unwrap();
        assert!(ttl * 1_000 > 29 * DAY, "{ttl}");
    });
}

#[test]
fn a_reader_sees_what_the_cap_took_away() {
    in_every_shop(|shop| {
        let options = StockOptions { ledger_cap: 1_000, ..StockOptions::default() };
        let stock = shop.client.stock(b"capped", options).unwrap();
        stock.open(10_000, Opening::default()).unwrap().run().unwrap();
        let some = stock.ledger(None, 1).unwrap().run().unwrap();
        assert_eq!(some[0].number, 1);
        // Half of them by the usual take, half in the general way.
        for n in 0..700 {
            let held = take(&stock, &format!("b{n}"), 1).unwrap();
            assert!(stock.confirm(&held.id).unwrap().run().unwrap());
        }
        let (mut numbers, mut after) = (Vec::new(), Some(some[0].id.clone()));
        loop {
            let page = stock.ledger(after.as_deref(), 400).unwrap().run().unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            numbers.extend(page.iter().map(|entry| entry.number));
        }
        assert!((1_000..1_200).contains(&numbers.len()), "{}", numbers.len());
        let first = 1_402 - numbers.len() as u64;
        assert_eq!(numbers, (first..=1_401).collect::<Vec<_>>());
        assert_eq!((stock.status().run().unwrap().sold, first > 2), (700, true));
    });
}

#[test]
fn a_key_of_another_type_leaves_nothing_half_done() {
    in_every_shop(|shop| {
        let stock = shop.at(START);
        let is_memory = shop.client.server() == "memory://";
        // In this process all is under the first key.
        for at in 0..if is_memory { 1 } else { 3 } {
            let name = format!("sale:{at}");
            let stock = shop.client.stock(name.as_bytes(), stock_options(stock)).unwrap();
            let other = shop.client.stock(b"other", stock_options(&stock)).unwrap();
            other.open(5, Opening::default()).unwrap().run().unwrap();
            stock.open(5, Opening::default()).unwrap().run().unwrap();
            let first = take(&stock, "a", 2).unwrap();
            let elsewhere = take(&other, "a", 2).unwrap();
            let before = (other.status().run().unwrap(), other.ledger(None, 100).unwrap().run().unwrap());
            testing::put(&shop.client, &stock.redis_keys()[at], testing::TestValueKind::List, b"x").run().unwrap();
            let failed = [
                stock.take(b"a", 1, HOLD, None).unwrap().run().map(drop),
                stock.take(b"a", 1, HOLD, Some(b"request")).unwrap().run().map(drop),
                shop.client.take_all(&[(&other, 1), (&stock, 1)], b"a", HOLD, None).unwrap().run().map(drop),
                shop.client.confirm_all(&[(&other, &elsewhere.id), (&stock, &first.id)]).unwrap().run().map(drop),
                shop.client.cancel_all(&[(&other, &elsewhere.id), (&stock, &first.id)]).unwrap().run().map(drop),
                shop.client
                    .extend_all(&[(&other, &elsewhere.id), (&stock, &first.id)], 2 * HOLD)
                    .unwrap()
                    .run()
                    .map(drop),
                stock.open(5, Opening::default()).unwrap().run().map(drop),
                stock.restock(5, &[], None).unwrap().run().map(drop),
            ];
            for (n, outcome) in failed.into_iter().enumerate() {
                assert_eq!(outcome.unwrap_err().code(), Code::WrongType, "call {n} with key {at}");
            }
            let after = (other.status().run().unwrap(), other.ledger(None, 100).unwrap().run().unwrap());
            assert_eq!(before, after);
            if at > 0 {
                let status = stock.status().run().unwrap();
                assert_eq!((status.available, status.held, status.sold), (3, 2, 0), "key {at}");
            }
            if at == 2 {
                let listed = stock.reservations(None, 10).unwrap().run().unwrap().reservations;
                assert_eq!(listed, [first], "a hold that is counted nowhere");
            }
            other.cancel(&elsewhere.id).unwrap().run().unwrap();
        }
    });
}

fn stock_options(of: &Stock) -> StockOptions {
    StockOptions { scope: of.scope().map(<[u8]>::to_vec), ..StockOptions::default() }
}

#[test]
fn holds_that_somebody_deleted_return() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("stock"));
        let stock = client.stock(b"sale", StockOptions::default()).unwrap();
        let at = |time: u64| testing::set_time(&client, Some(time)).unwrap();
        at(START);
        stock.open(5, Opening::default()).unwrap().run().unwrap();
        let held = take(&stock, "a", 2).unwrap();
        command(&url, &["DEL", &String::from_utf8_lossy(&stock.redis_keys()[1])]);
        // Others go on taking; what nobody holds returns when they hold nothing any more.
        at(START + 2);
        let other = take(&stock, "b", 1).unwrap();
        at(START + HOLD);
        assert!(!stock.confirm(&held.id).unwrap().run().unwrap());
        let status = stock.status().run().unwrap();
        assert_eq!((status.available, status.held, status.sold), (2, 3, 0), "{name}");
        assert!(stock.extend(&other.id, HOLD).unwrap().run().unwrap());
        at(START + 2 * HOLD);
        let status = stock.status().run().unwrap();
        assert_eq!((status.available, status.held, status.sold), (5, 0, 0), "{name}");
    }
}

#[test]
fn a_page_leaves_nothing_out_of_what_is_settled_meanwhile() {
    in_every_shop(|shop| {
        let stock = shop.at(START);
        stock.open(10, Opening::default()).unwrap().run().unwrap();
        // They all end at the same moment.
        let mut ids: Vec<String> = (0..5).map(|n| take(stock, &format!("b{n}"), 1).unwrap().id).collect();
        let first = stock.reservations(None, 2).unwrap().run().unwrap();
        for seen in &first.reservations {
            assert!(stock.cancel(&seen.id).unwrap().run().unwrap());
            ids.retain(|id| *id != seen.id);
        }
        let (mut rest, mut cursor) = (Vec::new(), first.next);
        while let Some(from) = cursor {
            let page = stock.reservations(Some(&from), 2).unwrap().run().unwrap();
            rest.extend(page.reservations.into_iter().map(|of| of.id));
            cursor = page.next;
        }
        rest.sort();
        ids.sort();
        assert_eq!(rest, ids);
    });
}

#[test]
fn the_defaults_are_those_of_the_spec() {
    let text = std::fs::read_to_string(spec::root().join("tests/spec/api.json")).unwrap();
    let api: serde_json::Value = serde_json::from_str(&text).unwrap();
    let spec = &api["defaults"]["stock"];
    let options = StockOptions::default();
    assert_eq!(spec["hold_ms"], DEFAULT_HOLD / 1_000);
    assert_eq!(
        (&spec["ledger_cap"], &spec["retention_ms"]),
        (&options.ledger_cap.into(), &(options.retention / 1_000).into())
    );
    assert_eq!(options.scope, None);
}

#[test]
fn eight_at_once_sell_exactly_what_there_is() {
    const UNITS: u64 = 500;
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("sale"));
        let stock = client.stock(b"sale", StockOptions::default()).unwrap();
        stock.open(UNITS, limited(2)).unwrap().run().unwrap();
        let sold: u64 = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|worker| {
                    let stock = stock.clone();
                    scope.spawn(move || {
                        let mut sold = 0;
                        for n in 0..200 {
                            // Some come from two workers at once.
                            let buyer = format!("b{}", (n * 8 + worker) % 700);
                            let Ok(held) = take(&stock, &buyer, 1 + n % 2) else { continue };
                            let settled = if n % 5 == 0 { stock.cancel(&held.id) } else { stock.confirm(&held.id) };
                            assert!(settled.unwrap().run().unwrap());
                            sold += if n % 5 == 0 { 0 } else { held.quantity };
                        }
                        sold
                    })
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        let status = stock.status().run().unwrap();
        assert_eq!((status.quantity, status.held, status.sold), (UNITS, 0, sold), "{name}");
        assert!(sold > UNITS * 9 / 10, "{name}: {sold}");
        let mut bought: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        let (mut after, mut number) = (None, 0);
        loop {
            let page = stock.ledger(after.as_deref(), 100).unwrap().run().unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            for entry in page {
                number += 1;
                assert_eq!(entry.number, number, "{name}");
                assert_eq!(entry.available + entry.held + entry.sold, UNITS, "{name}");
                if entry.kind == LedgerKind::Confirmed {
                    *bought.entry(entry.buyer.unwrap()).or_default() += entry.quantity;
                }
            }
        }
        assert!(bought.values().all(|units| *units <= 2), "{name}");
        assert_eq!(bought.values().sum::<u64>(), sold, "{name}");
        assert_eq!(status.buyers, bought.len() as u64, "{name}");
    }
}
