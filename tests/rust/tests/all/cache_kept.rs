//! How long an entry is kept, on every store: as long as a value counts, and as long as a token given for it may be used.

use std::time::Duration;

use quotalock::{Cache, CacheOptions, Client, Got, OnceOptions, Ticket, testing};
use quotalock_tests::{client, fresh_prefix, stores};

const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600 * SECOND;
/// A token is good for ten leases.
const GOOD: u64 = 10 * HOUR;

/// The key outlasts `length` by about a minute.
fn assert_kept(name: &str, client: &Client, key: &[u8], length: u64) {
    let stored = testing::get(client, key).run().unwrap().unwrap();
    let ttl = stored.ttl_ms.unwrap() * 1_000;
    // Time goes on meanwhile.
    assert!(ttl >= length + 30 * SECOND, "{name}: kept for {ttl} µs");
    assert!(ttl <= length + 61 * SECOND, "{name}: kept for {ttl} µs");
}

fn in_every_store(test: impl Fn(&str, &Client, &dyn Fn(u64, u64) -> Cache)) {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("kept"));
        let cache = |fresh, stale| {
            client.cache("home", CacheOptions { fresh, stale, lease: HOUR, ..CacheOptions::default() }).unwrap()
        };
        test(&name, &client, &cache);
    }
}

fn ticket(cache: &Cache) -> Ticket {
    match cache.get(b"x", Duration::ZERO).unwrap().run().unwrap() {
        Got::Load(ticket) => ticket,
        found => panic!("{found:?} where there is nothing"),
    }
}

#[test]
fn an_entry_outlasts_a_token_until_it_is_used() {
    in_every_store(|name, client, cache| {
        let cache = cache(SECOND, 0);
        let key = cache.redis_key(b"x").unwrap();
        let loading = ticket(&cache);
        assert_kept(name, client, &key, GOOD);
        assert!(loading.fill(Some(b"value".to_vec())).unwrap().run().unwrap());
        assert_kept(name, client, &key, SECOND);
    });
}

#[test]
fn an_entry_outlasts_a_token_that_something_newer_came_before() {
    in_every_store(|name, client, cache| {
        let cache = cache(SECOND, 0);
        let key = cache.redis_key(b"x").unwrap();
        let loading = ticket(&cache);
        assert!(cache.put(b"x", Some(b"newer".to_vec())).unwrap().run().unwrap());
        assert_kept(name, client, &key, GOOD);
        assert!(!loading.fill(Some(b"older".to_vec())).unwrap().run().unwrap());
    });
}

#[test]
fn an_entry_is_kept_when_it_was_forgotten() {
    in_every_store(|name, client, cache| {
        let cache = cache(SECOND, 0);
        assert!(!cache.invalidate(b"x").unwrap().run().unwrap());
        assert_kept(name, client, &cache.redis_key(b"x").unwrap(), GOOD);
    });
}

#[test]
fn an_entry_outlasts_its_value() {
    in_every_store(|name, client, cache| {
        let cache = cache(20 * HOUR, 30 * HOUR);
        assert!(cache.put(b"x", Some(b"value".to_vec())).unwrap().run().unwrap());
        assert_kept(name, client, &cache.redis_key(b"x").unwrap(), 50 * HOUR);
    });
}

#[test]
fn a_claim_is_kept_as_long_as_it_lasts() {
    in_every_store(|name, client, _| {
        let once = client.once("coupon", OnceOptions { ttl: 50 * HOUR, lease: HOUR, error_ttl: 0 }).unwrap();
        assert!(once.claim(b"x", None).unwrap().run().unwrap().first);
        assert_kept(name, client, &once.redis_key(b"x").unwrap(), 50 * HOUR);
    });
}
