//! How long a sale is kept, and how much of its ledger, on every store.

use quotalock::{Client, Code, Opening, Stock, StockOptions, StockReservation, testing};
use quotalock_tests::{client, fresh_prefix, stores};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600 * SECOND;
const MEMORY: u64 = 60 * SECOND;
const CAP: u64 = 1_000;

/// A sale of 10,000 units that is kept for a minute, on every store.
fn in_every_store(opening: &Opening, test: impl Fn(&str, &Client, &Stock)) {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("stock"));
        let options = StockOptions { retention: MEMORY, ledger_cap: CAP, ..StockOptions::default() };
        let stock = client.stock(b"sale", options).unwrap();
        testing::set_time(&client, Some(START)).unwrap();
        stock.open(10_000, opening.clone()).unwrap().run().unwrap();
        test(&name, &client, &stock);
    }
}

fn take(stock: &Stock, hold: u64) -> StockReservation {
    stock.take(b"a", 1, hold, None).unwrap().run().unwrap().reservation.unwrap()
}

/// Each key that there is outlasts `length` by half of the memory at least.
fn assert_kept(name: &str, client: &Client, stock: &Stock, length: u64) {
    for (at, key) in stock.redis_keys().iter().enumerate() {
        let Some(stored) = testing::get(client, key).run().unwrap() else {
            // In this process all is under the first key.
            assert!(name == "memory" && at > 0, "{name}: key {at} is not there");
            continue;
        };
        let ttl = stored.ttl_ms.unwrap_or_else(|| panic!("{name}: key {at} has no TTL"));
        // Real time goes on meanwhile.
        assert!((ttl + 10_000) * 1_000 >= length + MEMORY / 2, "{name}: key {at} is kept for {ttl} ms");
        assert!(ttl * 1_000 <= length + MEMORY + SECOND, "{name}: key {at} is kept for {ttl} ms");
    }
}

#[test]
fn a_sale_outlasts_its_last_hold() {
    in_every_store(&Opening::default(), |name, client, stock| {
        take(stock, SECOND);
        assert_kept(name, client, stock, SECOND);
        let longer = take(stock, 10 * HOUR);
        assert_kept(name, client, stock, 10 * HOUR);
        assert!(stock.extend(&longer.id, 20 * HOUR).unwrap().run().unwrap());
        assert_kept(name, client, stock, 20 * HOUR);
    });
}

#[test]
fn a_sale_outlasts_its_end() {
    let opening = Opening { ends: Some(START + 10 * HOUR), ..Opening::default() };
    in_every_store(&opening, |name, client, stock| {
        take(stock, SECOND);
        assert_kept(name, client, stock, 10 * HOUR);
    });
}

/// The ledger has about as many entries as its cap says, the last of them this.
fn assert_capped(name: &str, stock: &Stock, last: u64) {
    let (mut numbers, mut after) = (Vec::new(), None);
    loop {
        let page = stock.ledger(after.as_deref(), 1_000).unwrap().run().unwrap();
        let Some(entry) = page.last() else { break };
        after = Some(entry.id.clone());
        numbers.extend(page.iter().map(|entry| entry.number));
    }
    let length = numbers.len() as u64;
    // Redis cuts off nodes of 100 entries, and is asked to with every 64th.
    assert!((CAP..CAP + 200).contains(&length), "{name}: {length} entries");
    assert_eq!(numbers, (last + 1 - length..=last).collect::<Vec<_>>(), "{name}");
}

#[test]
fn a_ledger_of_takes_has_a_cap() {
    in_every_store(&Opening::default(), |name, _, stock| {
        for _ in 0..1_400 {
            take(stock, HOUR);
        }
        assert_capped(name, stock, 1_401);
    });
}

#[test]
fn a_ledger_of_anything_else_has_a_cap() {
    in_every_store(&Opening::default(), |name, _, stock| {
        let held = take(stock, HOUR);
        for n in 1..=1_400 {
            assert!(stock.extend(&held.id, HOUR + n * SECOND).unwrap().run().unwrap());
        }
        assert_capped(name, stock, 1_402);
    });
}

#[test]
fn a_take_gets_at_most_a_thousand_prizes() {
    let opening =
        Opening { prizes: (0..10_000).map(|n: u64| n.to_string().into_bytes()).collect(), ..Opening::default() };
    in_every_store(&opening, |name, _, stock| {
        let error = stock.take(b"a", 1_001, HOUR, None).unwrap().run().unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{name}");
        assert!(error.message().contains("1000"), "{name}: {error}");
        let taken = stock.take(b"a", 1_000, HOUR, None).unwrap().run().unwrap();
        let prizes = taken.reservation.unwrap().prizes;
        assert_eq!((prizes.len(), prizes.last()), (1_000, Some(&b"999".to_vec())), "{name}");
        assert_eq!(taken.available, 9_000, "{name}");
    });
}
