//! The calls with the most arguments, on every store: servers that people rent take 3,999 of them (`tests/harness/lua54.py`).

use std::time::Duration;

use quotalock::{CacheOptions, Charge, LimiterOptions, LockOptions, Opening, Policy, StockOptions, TakeOutcome};
use quotalock_tests::{client, fresh_prefix, stores};

const HOLD: u64 = 600_000_000;

#[test]
fn as_many_charges_as_may_be_of_as_many_rules() {
    let policy = (1..=10).map(|n| format!("token-bucket {}/hour capacity {n}", n * 100)).collect::<Vec<_>>().join("; ");
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("widest"));
        let options = LimiterOptions { scope: Some(b"s".to_vec()), ..LimiterOptions::default() };
        let limiter = client.limiter_with("wide", Policy::parse(&policy).unwrap(), options).unwrap();
        let keys: Vec<Vec<u8>> = (0..100).map(|n| format!("k{n}").into_bytes()).collect();
        let charges: Vec<Charge> = keys.iter().map(|key| Charge { limiter: &limiter, key, cost: 1 }).collect();
        for (request, admitted) in [(None, true), (Some(&b"r"[..]), false), (Some(b"r"), false)] {
            let decision = client.consume_all(&charges, request).unwrap().run().unwrap();
            assert_eq!(decision.allowed, admitted, "{name}: {request:?}");
        }
    }
}

#[test]
fn as_many_keys_as_may_be() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("widest"));
        let names: Vec<Vec<u8>> = (0..1_000).map(|n| format!("{{s}}{n}").into_bytes()).collect();
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let lock = client.lock_all(&names[..100], LockOptions::default()).unwrap();
        assert!(lock.acquire(Duration::ZERO).unwrap().run().unwrap(), "{name}");
        assert!(lock.release().run().unwrap(), "{name}");
        let cache = client.cache("wide", CacheOptions { fresh: HOLD, ..CacheOptions::default() }).unwrap();
        assert_eq!(cache.get_many(&names, Duration::ZERO).unwrap().run().unwrap().len(), 1_000, "{name}");

        let options = || StockOptions { scope: Some(b"s".to_vec()), ..StockOptions::default() };
        let stocks: Vec<_> = names[..100].iter().map(|name| client.stock(name, options()).unwrap()).collect();
        for stock in &stocks {
            stock.open(10, Opening::default()).unwrap().run().unwrap();
        }
        let items: Vec<_> = stocks.iter().map(|stock| (stock, 1)).collect();
        let taken = client.take_all(&items, b"b", HOLD, None).unwrap().run().unwrap();
        assert_eq!(taken.outcome, TakeOutcome::Held, "{name}");
        let held: Vec<_> =
            stocks.iter().zip(&taken.reservations).map(|(stock, held)| (stock, held.id.as_str())).collect();
        assert!(client.confirm_all(&held).unwrap().run().unwrap(), "{name}");
    }
}
