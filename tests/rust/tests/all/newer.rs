//! A value that a newer version wrote is left alone by every call, on `memory://` and on every server. Its mark is not taken for
//! one once a byte of it is damaged.

use std::fmt::Debug;
use std::time::Duration;

use quotalock::testing::{self, TestValueKind};
use quotalock::{
    CacheOptions, Charge, Client, Code, LockOptions, OnceOptions, Opening, Policy, Result, StockOptions, Unsettled,
};
use quotalock_tests::operator::ask;
use quotalock_tests::{client, fresh_prefix, servers, stores};

/// What a value of the next format begins with.
const MARK: &[u8] = b"\xffquota\x02\xfd";

fn plant(client: &Client, key: &[u8], value: &[u8]) {
    testing::put(client, key, TestValueKind::Text, value).run().unwrap();
}

fn stored(client: &Client, key: &[u8]) -> Option<Vec<u8>> {
    testing::get(client, key).run().unwrap().map(|stored| stored.value)
}

/// The value of a key as the next version could have written it.
fn newer(client: &Client, key: &[u8]) -> Vec<u8> {
    let value = [MARK, &stored(client, key).unwrap()].concat();
    plant(client, key, &value);
    value
}

fn refused<T: Debug>(what: &str, answer: Result<T>) {
    let error = answer.expect_err(what);
    assert_eq!(error.code(), Code::NewerVersion, "{what}: {error}");
    assert!(error.message().contains("format 2") && error.message().contains("update this process"), "{what}: {error}");
}

fn limiters(name: &str, client: &Client, policy: &str) {
    let limiter = client.limiter(policy, Policy::parse(policy).unwrap()).unwrap();
    let key = limiter.redis_key(b"k").unwrap();
    limiter.consume(b"k", 1).unwrap().run().unwrap();
    let (reservation, op) = limiter.reserve(b"k", 1, 5_000_000, Unsettled::Spent).unwrap();
    op.run().unwrap();
    limiter.consume(b"other", 1).unwrap().run().unwrap();
    let value = newer(client, &key);
    let what = format!("{policy} on {name}");
    refused(&what, limiter.consume(b"k", 1).unwrap().run());
    refused(&what, limiter.peek(b"k", 1).unwrap().run());
    refused(&what, limiter.consume_up_to(b"k", 1).unwrap().run());
    refused(&what, limiter.refund(b"k", 1).unwrap().run());
    refused(&what, limiter.block(b"k", 1_000_000).unwrap().run());
    refused(&what, limiter.reserve(b"k", 1, 1_000_000, Unsettled::Spent).unwrap().1.run());
    refused(&what, reservation.settle(1).unwrap().run());
    refused(&what, limiter.consume_once(b"k", 1, Some(b"id")).unwrap().run());
    refused(&what, limiter.refund_once(b"k", 1, Some(b"id")).unwrap().run());
    refused(&what, limiter.reset(b"k").unwrap().run());
    let remaining = || limiter.peek(b"other", 1).unwrap().run().unwrap().remaining;
    let before = remaining();
    let charges = [&b"other"[..], b"k"].map(|key| Charge { limiter: &limiter, key, cost: 1 });
    for id in [None, Some(&b"id"[..])] {
        refused(&what, client.consume_all(&charges, id).unwrap().run());
    }
    assert_eq!(remaining(), before, "{what}: all or none");
    assert_eq!(stored(client, &key), Some(value), "{what}");
    // What is remembered of a request, too.
    limiter.consume_once(b"other", 1, Some(b"r")).unwrap().run().unwrap();
    let state = String::from_utf8(limiter.redis_key(b"other").unwrap()).unwrap();
    let request = format!("{}:consume:r", state.replacen(":limit:", ":request:", 1)).into_bytes();
    let value = newer(client, &request);
    refused(&what, limiter.consume_once(b"other", 1, Some(b"r")).unwrap().run());
    assert_eq!(stored(client, &request), Some(value), "{what}");
}

fn locks(name: &str, client: &Client) {
    let lock = client.lock(b"newer", LockOptions::default()).unwrap();
    let other = client.lock(b"newer", LockOptions::default()).unwrap();
    assert!(lock.acquire(Duration::ZERO).unwrap().run().unwrap());
    let key = &lock.redis_keys()[0];
    let value = newer(client, key);
    refused(name, other.acquire(Duration::ZERO).unwrap().run());
    refused(name, other.acquire(Duration::from_secs(5)).unwrap().run());
    refused(name, lock.extend(None).unwrap().run());
    refused(name, lock.inspect().run());
    refused(name, lock.force_release().run());
    refused(name, lock.release().run());
    assert_eq!(stored(client, key), Some(value), "{name}");
}

fn caches(name: &str, client: &Client) {
    let cache = client.cache("newer", CacheOptions::default()).unwrap();
    cache.put(b"k", Some(b"value".to_vec())).unwrap().run().unwrap();
    let key = cache.redis_key(b"k").unwrap();
    let value = newer(client, &key);
    refused(name, cache.get(b"k", None).unwrap().run().map(drop));
    refused(name, cache.peek(b"k").unwrap().run().map(drop));
    refused(name, cache.put(b"k", Some(b"other".to_vec())).unwrap().run());
    refused(name, cache.invalidate(b"k").unwrap().run());
    assert_eq!(stored(client, &key), Some(value), "{name}");
    let once = client.once("newer", OnceOptions::default()).unwrap();
    once.claim(b"id", Some(b"first".to_vec())).unwrap().run().unwrap();
    let key = once.redis_key(b"id").unwrap();
    let value = newer(client, &key);
    refused(name, once.claim(b"id", Some(b"second".to_vec())).unwrap().run().map(drop));
    refused(name, once.begin(b"id", None).unwrap().run().map(drop));
    refused(name, once.release(b"id").unwrap().run());
    assert_eq!(stored(client, &key), Some(value), "{name}");
}

#[test]
fn no_call_changes_a_value_of_a_newer_version() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("newer"));
        for policy in
            ["3/10s", "sliding-log 4/10s", "token-bucket 5/7s;3/20s", "calendar-window 3/10s", "sliding-window 3/10s"]
        {
            testing::set_time(&client, Some(1_700_000_000_000_000)).unwrap();
            limiters(&name, &client, policy);
        }
        testing::set_time(&client, None).unwrap();
        locks(&name, &client);
        caches(&name, &client);
    }
}

#[test]
fn a_sale_of_a_newer_version_is_not_touched() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("newer");
        let client = client(&url, &prefix);
        let stock = client.stock(b"sale", StockOptions::default()).unwrap();
        stock.open(5, Opening::default()).unwrap().run().unwrap();
        let taken = stock.take(b"a", 1, 60_000_000, None).unwrap().run().unwrap();
        let id = taken.reservation.expect("nothing was sold yet").id;
        let mark = "local state = redis.call('HGET', KEYS[1], '') \
            return redis.call('HSET', KEYS[1], '', '\\255quota\\2\\253' .. state)";
        let look = "return redis.sha1hex(redis.call('DUMP', KEYS[1]))";
        let key = String::from_utf8(stock.redis_keys()[0].clone()).unwrap();
        ask(&url, &["EVAL", mark, "1", &key]);
        let before = ask(&url, &["EVAL", look, "1", &key]);
        refused(&name, stock.status().run());
        refused(&name, stock.open(5, Opening::default()).unwrap().run());
        refused(&name, stock.take(b"b", 1, 60_000_000, None).unwrap().run().map(drop));
        refused(&name, stock.take(b"b", 1, 60_000_000, Some(b"id")).unwrap().run().map(drop));
        refused(&name, stock.restock(1, &[], None).unwrap().run());
        refused(&name, stock.confirm(&id).unwrap().run());
        refused(&name, stock.cancel(&id).unwrap().run());
        refused(&name, stock.extend(&id, 60_000_000).unwrap().run());
        refused(&name, stock.reservations(None, 5).unwrap().run().map(drop));
        refused(&name, stock.close().unwrap().run());
        assert_eq!(ask(&url, &["EVAL", look, "1", &key]), before, "{name}");
    }
}

#[test]
fn a_mark_with_a_damaged_byte_is_damage() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("newer"));
        let limiter = client.limiter("newer", Policy::parse("3/minute").unwrap()).unwrap();
        let key = limiter.redis_key(b"k").unwrap();
        for at in 0..MARK.len() {
            let mut mark = MARK.to_vec();
            mark[at] ^= 1;
            for value in [[&mark[..], b"x"].concat(), MARK[..at].to_vec()] {
                plant(&client, &key, &value);
                let decision = limiter.consume(b"k", 1).unwrap().run().unwrap();
                assert!(decision.allowed && decision.healed != value.is_empty(), "{name}: {value:?}");
            }
        }
    }
}
