//! The stored formats, byte by byte: `tests/spec/formats.json` holds one value of each kind, as `docs/formats.md` describes it. The
//! file is only added to, from version 0.1.0 on. This version stores these bytes, and goes on with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use quotalock::testing::lease::{self, Acquire, QueueMode};
use quotalock::testing::single_flight::{self, Claim, Feature, Fill, LoadCounters};
use quotalock::testing::{self, TestValueKind};
use quotalock::{Client, Policy, Unsettled};
use quotalock_tests::spec::root;
use quotalock_tests::{client, fresh_prefix, stores};

const START: u64 = 1_700_000_000_123_457;
const SECOND: u64 = 1_000_000;

/// Policies of limiters whose stored values are kept.
const POLICIES: [&str; 7] = [
    "3/10s",
    "calendar-window 3/10s",
    "sliding-window 3/10s",
    "token-bucket 3/10s capacity 4",
    "sliding-log 3/10s",
    "sliding-log 12/10s;sliding-log 5/2s",
    "3/10s;calendar-window 9/60s;token-bucket 7/30s;sliding-window 20/5s;sliding-log 4/7s",
];

fn id(n: u8) -> [u8; 16] {
    [n; 16]
}

fn stored(client: &Client, key: &[u8]) -> String {
    let value = testing::get(client, key).run().unwrap().expect("it was stored").value;
    value.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores a value of each kind, and returns all of them with their names.
fn all(client: &Client) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let at = |now: u64| testing::set_time(client, Some(now)).unwrap();
    for policy in POLICIES {
        let limiter = client.limiter(policy, Policy::parse(policy).unwrap()).unwrap();
        let key = limiter.redis_key(b"k").unwrap();
        for passed in [0, 1, SECOND] {
            at(START + passed);
            limiter.consume(b"k", 1).unwrap().run().unwrap();
        }
        found.insert(format!("limiter {policy}"), stored(client, &key));
        let reserved =
            testing::reserve(&limiter, b"held", "0123456789abcdef0123456789abcdef", 1, SECOND, Unsettled::Returned);
        reserved.unwrap().run().unwrap();
        limiter.block(b"held", 5 * SECOND).unwrap().run().unwrap();
        found.insert(
            format!("limiter {policy}, with a hold and a block"),
            stored(client, &limiter.redis_key(b"held").unwrap()),
        );
    }
    at(START);
    let limiter = client.limiter("requests", Policy::parse("3/10s").unwrap()).unwrap();
    limiter.consume_once(b"k", 1, Some(b"id")).unwrap().run().unwrap();
    let state = String::from_utf8(limiter.redis_key(b"k").unwrap()).unwrap();
    let key = format!("{}:consume:id", state.replacen(":limit:", ":request:", 1));
    found.insert("request".into(), stored(client, key.as_bytes()));
    let (shown, wake_prefix): (Arc<str>, Arc<[u8]>) = ("it".into(), b"wake:".as_slice().into());
    let prefix = client.prefix();
    let table = format!("{prefix}:lock:{{x}}").into_bytes();
    for (n, queue) in [(1, QueueMode::No), (2, QueueMode::Order), (3, QueueMode::Hint)] {
        let call = Acquire {
            keys: [table.clone()].as_slice().into(),
            id: id(n),
            ttl: 30 * SECOND,
            floor: 0,
            permits: 1,
            weight: 1,
            queue,
            channel: id(n + 100),
            wake_prefix: wake_prefix.clone(),
            who: b"host:1".as_slice().into(),
            instead_of: None,
            waited: 0,
            token: 0,
            shown: shown.clone(),
        };
        lease::acquire(client, call).run().unwrap();
        found.insert(format!("lock with {} waiting", n - 1), stored(client, &table));
    }
    let keys = [format!("{prefix}:cache:c:{{k}}").into_bytes(), format!("{prefix}:cache:c:{{k}}:wait").into_bytes()];
    let call = Fill {
        keys: keys.clone(),
        id: id(0),
        token: None,
        ttl: 10 * SECOND,
        fresh: 60 * SECOND,
        stale: 30 * SECOND,
        value: Some(b"value".to_vec()),
        wake_prefix,
        shown: shown.clone(),
        feature: Feature::Cache,
    };
    single_flight::fill(client, call.clone()).run().unwrap();
    found.insert("cache entry".into(), stored(client, &keys[0]));
    let keys = [format!("{prefix}:cache:c:{{s}}").into_bytes(), format!("{prefix}:cache:c:{{s}}:wait").into_bytes()];
    single_flight::fill(client, Fill { keys: keys.clone(), stale: 0, ..call }).run().unwrap();
    found.insert("cache entry, short".into(), stored(client, &keys[0]));
    let key = format!("{prefix}:once:o:{{k}}").into_bytes();
    let value = Some(b"done".to_vec());
    let call = Claim { key: key.clone(), id: id(7), ttl: 60 * SECOND, value, shown, counters: LoadCounters::default() };
    single_flight::claim(client, call).run().unwrap();
    found.insert("once".into(), stored(client, &key));
    found
}

#[test]
fn this_version_stores_the_frozen_formats() {
    let path = root().join("tests/spec/formats.json");
    let read =
        || -> BTreeMap<String, String> { serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap() };
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("formats"));
        let found = all(&client);
        if std::env::var_os("QUOTALOCK_RENEW").is_some() {
            // What is there stays: a value that changed is a new format.
            let mut kept = if path.exists() { read() } else { BTreeMap::new() };
            found.iter().for_each(|(what, value)| _ = kept.entry(what.clone()).or_insert_with(|| value.clone()));
            std::fs::write(&path, serde_json::to_string_pretty(&kept).unwrap() + "\n").unwrap();
        }
        assert_eq!(found, read(), "on {name}: QUOTALOCK_RENEW=1 adds what is missing");
    }
}

#[test]
fn this_version_reads_the_frozen_formats() {
    let path = root().join("tests/spec/formats.json");
    let kept: BTreeMap<String, String> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let bytes = |what: &str| -> Vec<u8> {
        let hex = &kept[what];
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("formats"));
        testing::set_time(&client, Some(START + SECOND)).unwrap();
        for policy in POLICIES {
            let limiter = client.limiter(policy, Policy::parse(policy).unwrap()).unwrap();
            let key = limiter.redis_key(b"k").unwrap();
            testing::put(&client, &key, TestValueKind::Text, &bytes(&format!("limiter {policy}"))).run().unwrap();
            let decision = limiter.consume(b"k", 1).unwrap().run().unwrap();
            assert!(!decision.healed, "{policy} on {name}");
            // Three of each were spent, so the narrowest rule has at most one left before this call.
            assert!(decision.remaining < decision.limit.saturating_sub(2), "{policy} on {name}: {decision:?}");
            let value = bytes(&format!("limiter {policy}, with a hold and a block"));
            testing::put(&client, &key, TestValueKind::Text, &value).run().unwrap();
            let decision = limiter.consume(b"k", 1).unwrap().run().unwrap();
            assert!(!decision.allowed && !decision.healed, "{policy} on {name}: it is blocked");
        }
        let lock = client.lock(b"x", Default::default()).unwrap();
        testing::put(&client, &lock.redis_keys()[0], TestValueKind::Text, &bytes("lock with 2 waiting")).run().unwrap();
        let inspection = lock.inspect().run().unwrap();
        assert_eq!((inspection.holders.len(), inspection.token), (1, START), "{name}");
        let cache = client.cache("c", Default::default()).unwrap();
        for what in ["cache entry", "cache entry, short"] {
            testing::put(&client, &cache.redis_key(b"k").unwrap(), TestValueKind::Text, &bytes(what)).run().unwrap();
            let seen = cache.peek(b"k").unwrap().run().unwrap();
            assert_eq!(seen.unwrap().value.unwrap().as_slice(), b"value", "{what} on {name}");
        }
        let once = client.once("o", Default::default()).unwrap();
        testing::put(&client, &once.redis_key(b"k").unwrap(), TestValueKind::Text, &bytes("once")).run().unwrap();
        let claimed = once.claim(b"k", Some(b"again".to_vec())).unwrap().run().unwrap();
        assert!(!claimed.first, "{name}: it was claimed before");
    }
}
