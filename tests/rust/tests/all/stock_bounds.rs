//! What one call about stocks moves at most, on every store: the rest follows with the next ones.

use quotalock::{Client, Code, Opening, Stock, StockOptions, TakeOutcome, testing};
use quotalock_tests::{client, fresh_prefix, stores};

const START: u64 = 1_700_000_000_000_000;
const HOLD: u64 = 600_000_000;

fn at(client: &Client, time: u64) {
    testing::set_time(client, Some(time)).unwrap();
}

/// A sale of so many units with prizes of this many bytes, of which buyers hold a thousand each.
fn held(client: &Client, name: &[u8], units: usize, bytes: usize) -> (Stock, Vec<String>) {
    let stock = client.stock(name, StockOptions { scope: Some(b"s".to_vec()), ..StockOptions::default() }).unwrap();
    let prizes = (0..units).map(|n| format!("{n:0bytes$}").into_bytes()).collect();
    stock.open(units as u64, Opening { prizes, ..Opening::default() }).unwrap().run().unwrap();
    let take = |n: usize| {
        let taken = stock.take(format!("b{n}").as_bytes(), 1_000, HOLD, None).unwrap().run().unwrap();
        taken.reservation.unwrap().id
    };
    let ids = (0..units / 1_000).map(take).collect();
    (stock, ids)
}

#[test]
fn prizes_that_return_are_settled_or_listed_are_bounded() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("bounds"));
        at(&client, START);
        let (stock, ids) = held(&client, b"sale", 7_000, 8);
        let all: Vec<(&Stock, &str)> = ids.iter().map(|id| (&stock, id.as_str())).collect();
        for op in [client.confirm_all(&all[..3]), client.cancel_all(&all[..3])] {
            let error = op.unwrap().run().err().unwrap();
            assert_eq!(error.code(), Code::InvalidArgument, "{name}");
            assert!(error.message().contains("more than 2000 prizes"), "{name}: {error}");
        }
        let mut cursor = None;
        let mut pages = Vec::new();
        loop {
            let page = stock.reservations(cursor.as_deref(), 1_000).unwrap().run().unwrap();
            pages.push(page.reservations.len());
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(pages, [2, 2, 2, 1], "{name}");
        assert!(client.confirm_all(&all[..1]).unwrap().run().unwrap(), "{name}");
        assert!(client.cancel_all(&all[1..3]).unwrap().run().unwrap(), "{name}");
        at(&client, START + HOLD);
        let available = || stock.status().run().unwrap().available;
        assert_eq!([available(), available(), available()], [4_000, 6_000, 6_000], "{name}");
        let other = held(&client, b"other", 1_000, 8).0;
        at(&client, START + 2 * HOLD);
        for (quantity, outcome) in [(501, None), (500, Some(TakeOutcome::Held))] {
            let items = [(&stock, 500), (&other, quantity)];
            let taken = client.take_all(&items, b"z", HOLD, None).unwrap().run();
            assert_eq!(taken.as_ref().ok().map(|taken| taken.outcome), outcome, "{name}: {taken:?}");
        }
    }
}

#[test]
fn a_page_of_the_ledger_is_bounded_by_its_bytes() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("pages"));
        at(&client, START);
        let stock = held(&client, b"sale", 4_000, 1_000).0;
        let (mut after, mut pages) = (None::<String>, Vec::new());
        loop {
            let page = stock.ledger(after.as_deref(), 1_000).unwrap().run().unwrap();
            let Some(last) = page.last() else { break };
            pages.push(page.len());
            after = Some(last.id.clone());
        }
        // The opening has no prizes; each take has nearly a mebibyte of them.
        assert_eq!(pages, [3, 2], "{name}");
    }
}

#[test]
fn a_call_about_a_hundred_sales_ends_few_holds_of_each() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("hundred"));
        at(&client, START);
        let options = || StockOptions { scope: Some(b"s".to_vec()), ..StockOptions::default() };
        let stocks: Vec<Stock> =
            (0..100).map(|n| client.stock(format!("s{n}").as_bytes(), options()).unwrap()).collect();
        for stock in &stocks {
            stock.open(17, Opening::default()).unwrap().run().unwrap();
            for buyer in 0..17 {
                stock.take(format!("b{buyer}").as_bytes(), 1, HOLD, None).unwrap().run().unwrap();
            }
        }
        at(&client, START + HOLD);
        let items: Vec<(&Stock, u64)> = stocks.iter().map(|stock| (stock, 1)).collect();
        let taken = client.take_all(&items, b"z", HOLD, None).unwrap().run().unwrap();
        assert_eq!((taken.outcome, taken.available), (TakeOutcome::Held, vec![1; 100]), "{name}");
    }
}
