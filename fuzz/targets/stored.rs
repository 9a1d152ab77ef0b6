//! Stored values: whatever stands at a key, each call answers, and nobody waits for ever.
#![no_main]

use std::cell::RefCell;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use quotalock::testing::lease::{self, Acquire, ExtendLease, ForceRelease, Inspect, QueueMode, Release};
use quotalock::testing::single_flight::{
    self, Claim, Fail, Feature, Fill, Invalidate, LoadCounters, Look, LookProgress,
};
use quotalock::testing::{self, TestValueKind};
use quotalock::{AnswerValue, Client, Code, Limiter, Op, Options, Policy, Result, Unsettled};

const START: u64 = 1_700_000_000_123_457;
/// The earliest time that a client can have, in 1973.
const EARLIEST: u64 = 100_000_000_000_000;
/// The latest.
const LATEST: u64 = 1 << 52;
/// How often a caller may be sent away who comes back when it is told to.
const MOST_TRIES: usize = 60;
const KEY: &[u8] = b"k";
const POLICIES: [&str; 8] = [
    "3/10s",
    "calendar-window 3/10s",
    "sliding-window 3/10s",
    "token-bucket 3/10s capacity 4",
    "sliding-log 3/10s",
    "sliding-log 12/10s;sliding-log 5/2s",
    "3/10s;calendar-window 9/60s;token-bucket 7/30s;sliding-window 20/5s",
    "token-bucket 7/1000d capacity 9;sliding-window 4503599627370496/36500d",
];

struct Fixture {
    client: Client,
    limiters: Vec<Limiter>,
}

thread_local! {
    static FIXTURE: RefCell<Option<Fixture>> = const { RefCell::new(None) };
}

fn fixture() -> Fixture {
    let client = Client::new(Options { url: Some("memory://fuzz".into()), ..Options::default() }).unwrap();
    let limiter =
        |(n, policy): (usize, &&str)| client.limiter(&format!("l{n}"), Policy::parse(policy).unwrap()).unwrap();
    Fixture { limiters: POLICIES.iter().enumerate().map(limiter).collect(), client }
}

/// Runs a call, which may refuse what it was given, but is never at a loss.
fn run<T: AnswerValue>(op: Result<Op<T>>) -> Option<T> {
    match op.and_then(|op| op.run()) {
        Ok(answer) => Some(answer),
        Err(error) => {
            assert_ne!(error.code(), Code::Internal, "{}", error.message());
            None
        }
    }
}

fn set_time(client: &Client, now: u64) {
    testing::set_time(client, Some(now.clamp(EARLIEST, LATEST))).unwrap();
}

fn put(client: &Client, key: &[u8], value: &[u8]) {
    testing::put(client, key, TestValueKind::Text, value).run().unwrap();
}

fn limits(client: &Client, limiter: &Limiter, steps: [u8; 4], value: &[u8]) {
    let key = limiter.redis_key(KEY).unwrap();
    let asked = String::from_utf8_lossy(&key).replacen(":limit:", ":request:", 1) + ":consume:id";
    if steps[0] & 1 == 0 {
        put(client, &key, value);
    } else {
        put(client, &key, b"");
        put(client, asked.as_bytes(), value);
    }
    let mut now = START;
    for step in steps {
        let cost = u64::from(step >> 4) + 1;
        let decision = match step & 7 {
            0 => run(limiter.consume(KEY, cost)),
            1 => run(limiter.consume_once(KEY, cost, Some(b"id"))),
            2 => run(limiter.refund(KEY, cost)),
            3 => run(limiter.consume_up_to(KEY, cost)),
            4 => run(limiter.block(KEY, cost * 1_000_000)),
            5 => run(limiter.peek(KEY, cost)),
            6 => run(testing::reserve(limiter, KEY, &"5".repeat(32), cost, 20_000_000, Unsettled::Returned)),
            _ => {
                now += cost * 700_000;
                set_time(client, now);
                None
            }
        };
        if let Some(decision) = decision {
            assert!(decision.remaining <= decision.limit, "{decision:?}");
        }
    }
    for tries in 0.. {
        let Some(decision) = run(limiter.consume(KEY, 1)) else { return };
        let Some(wait) = decision.retry_after.filter(|_| !decision.allowed) else { return };
        assert!(tries < MOST_TRIES, "still denied: {decision:?}");
        now += wait.max(1);
        if now > LATEST {
            return;
        }
        set_time(client, now);
    }
}

fn locks(client: &Client, steps: [u8; 4], value: &[u8]) {
    let keys: Arc<[Vec<u8>]> = [b"ql:lock:{it}".to_vec()].into();
    let (shown, wake_prefix): (Arc<str>, Arc<[u8]>) = ("lock \"it\"".into(), b"w:".as_slice().into());
    put(client, &keys[0], value);
    for step in steps {
        let (id, permits) = ([b'0' + (step >> 6); 16], u64::from(step >> 3 & 3) + 1);
        let (keys, shown, wake_prefix) = (keys.clone(), shown.clone(), wake_prefix.clone());
        match step & 7 {
            0 | 1 => {
                let call = Acquire {
                    keys,
                    id,
                    ttl: 1_000_000,
                    floor: 0,
                    permits,
                    weight: 1,
                    queue: if step & 1 == 0 { QueueMode::No } else { QueueMode::Order },
                    channel: [1; 16],
                    wake_prefix,
                    who: b"me".as_slice().into(),
                    instead_of: None,
                    waited: 0,
                    token: 0,
                    shown,
                };
                run(Ok(lease::acquire(client, call)));
            }
            2 => {
                drop(run(Ok(lease::release(client, Release { keys, id, cancel: 1_000, permits, wake_prefix, shown }))))
            }
            3 => drop(run(Ok(lease::extend(client, ExtendLease { keys, id, ttl: 2_000_000, shown })))),
            4 => drop(run(Ok(lease::force_release(client, ForceRelease { keys, permits, wake_prefix, shown })))),
            5 => drop(run(Ok(lease::inspect(client, Inspect { keys, shown })))),
            _ => set_time(client, START + u64::from(step) * 100_000),
        }
    }
}

fn caches(client: &Client, steps: [u8; 4], value: &[u8]) {
    let keys = [b"ql:cache:it:{k}".to_vec(), b"ql:cache:it:{k}:wait".to_vec()];
    let (shown, wake_prefix): (Arc<str>, Arc<[u8]>) = ("cache \"it\"".into(), b"w:".as_slice().into());
    put(client, &keys[usize::from(steps[0] >> 7)], value);
    for step in steps {
        let id = [b'0' + (step >> 5 & 3); 16];
        let (ttl, fresh, stale) = (1_000_000, 500_000, 500_000);
        let (keys, shown, wake_prefix) = (keys.clone(), shown.clone(), wake_prefix.clone());
        match step & 7 {
            0 | 1 => {
                let call = Look {
                    entries: [keys].into(),
                    id,
                    ttl,
                    channel: (step & 1 == 1).then_some([1; 16]),
                    luck: vec![u64::from(step)],
                    load_when_away: false,
                    value_only: false,
                    shown,
                    feature: Feature::Cache,
                    progress: LookProgress::default(),
                };
                run(Ok(single_flight::look(client, call)));
            }
            2 => {
                let token = (step & 8 == 0).then_some(START);
                let call = Fill {
                    keys,
                    id,
                    token,
                    ttl,
                    fresh,
                    stale,
                    value: Some(b"v".to_vec()),
                    wake_prefix,
                    shown,
                    feature: Feature::Cache,
                };
                run(Ok(single_flight::fill(client, call)));
            }
            3 => {
                let call = Fail {
                    keys,
                    id,
                    pause: 1_000,
                    error: "no".into(),
                    is_known: false,
                    wake_prefix,
                    shown,
                    feature: Feature::Cache,
                };
                run(Ok(single_flight::fail(client, call)));
            }
            4 => drop(run(Ok(single_flight::invalidate(
                client,
                Invalidate { keys, ttl, wake_prefix, shown, feature: Feature::Cache },
            )))),
            5 => {
                let [key, _] = keys;
                let (value, counters) = (Some(b"v".to_vec()), LoadCounters::default());
                run(Ok(single_flight::claim(client, Claim { key, id, ttl, value, shown, counters })));
            }
            _ => set_time(client, START + u64::from(step) * 100_000),
        }
    }
}

fuzz_target!(|input: (u8, [u8; 4], &[u8])| {
    let (what, steps, value) = input;
    FIXTURE.with_borrow_mut(|kept| {
        let Fixture { client, limiters } = kept.get_or_insert_with(fixture);
        set_time(client, START);
        match usize::from(what) % (POLICIES.len() + 2) {
            8 => locks(client, steps, value),
            9 => caches(client, steps, value),
            policy => limits(client, &limiters[policy], steps, value),
        }
    });
});
