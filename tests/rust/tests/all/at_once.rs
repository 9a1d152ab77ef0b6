//! What is decided at once, without a call: the same answers and the same stored bytes as by calls, in virtual time, and
//! what holds for threads, for what is given wrongly and for closed clients.

use std::future::IntoFuture;
use std::sync::Barrier;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quotalock::testing::{self, TestValueKind};
use quotalock::{Client, Code, Decision, Limiter, LimiterOptions, Op, Options, Policy, Result, Source, Unsettled};
use quotalock_tests::{client, fresh_prefix, servers};

const CASES: u32 = 500;
const STEPS: usize = 60;
const START: u64 = 1_700_000_000_000_000;
const KEYS: [&[u8]; 3] = [b"a", b"{b}%", b"\x00\xff"];

#[derive(Clone, Debug)]
enum Act {
    Consume(u64),
    Require(u64),
    Refund(u64),
    Block(u64),
    Reserve(u64, u64),
    Plant(Vec<u8>),
    /// Changes a byte of a state, or cuts it there.
    Damage(usize, u8),
    List,
    Reset,
    /// Goes on with another policy.
    Switch,
}

fn policy() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(quotalock::ALGORITHMS.map(|a| a.name()).to_vec());
    let period = prop::sample::select(vec!["ms", "7 ms", "s", "10 s", "h", "36500 d"]);
    let rule = (algorithm, prop_oneof![4 => 1_u64..6, 1 => Just(1_u64 << 30)], period);
    let rules = prop::collection::vec(rule, 1..6);
    let text = |(algorithm, limit, period)| format!("{algorithm} {limit}/{period}");
    let texts = rules.prop_map(move |rules| rules.into_iter().map(text).collect::<Vec<_>>().join(";"));
    texts.prop_filter("refused", |text| Policy::parse(text).is_ok())
}

fn act() -> impl Strategy<Value = Act> {
    let cost = || prop_oneof![4 => 1_u64..4, 1 => Just(0), 1 => Just(7), 1 => Just(quotalock::MAX_COST)];
    prop_oneof![
        12 => cost().prop_map(Act::Consume),
        4 => cost().prop_map(Act::Require),
        1 => (1_u64..3).prop_map(Act::Refund),
        1 => prop::sample::select(vec![1_000, 2_000_000]).prop_map(Act::Block),
        1 => (1_u64..3, prop::sample::select(vec![1_000_u64, 5_000_000])).prop_map(|(n, ttl)| Act::Reserve(n, ttl)),
        1 => prop::sample::select(vec![b"-3".to_vec(), Vec::new(), b"QL\x02".to_vec()]).prop_map(Act::Plant),
        1 => (0_usize..60, any::<u8>()).prop_map(|(at, byte)| Act::Damage(at, byte)),
        1 => Just(Act::List),
        1 => Just(Act::Reset),
        1 => Just(Act::Switch),
    ]
}

/// Microseconds to go forward, or back.
fn shift() -> impl Strategy<Value = i64> {
    prop_oneof![3 => Just(0), 3 => 1_i64..900, 3 => 1_000_i64..3_000_000, 1 => Just(4_000_000_000), 1 => -2_000_000_i64..0]
}

/// A client in a memory of its own, with two limiters of one name.
struct Side {
    client: Client,
    limiters: [Limiter; 2],
}

impl Side {
    fn new(name: &str, policies: &[String; 2], enforce: bool) -> Side {
        let client = client(&format!("memory://{name}"), "p");
        let options = LimiterOptions { enforce, ..LimiterOptions::default() };
        let make = |text: &String| client.limiter_with("n", Policy::parse(text).unwrap(), options.clone()).unwrap();
        let limiters = [make(&policies[0]), make(&policies[1])];
        Side { client, limiters }
    }

    /// The bytes, and in how many seconds they are forgotten, which a moment of real time may change.
    fn stored(&self, key: &[u8]) -> Option<(Vec<u8>, Option<u64>)> {
        let redis_key = self.limiters[0].redis_key(key).unwrap();
        let stored = testing::get(&self.client, &redis_key).run().unwrap();
        stored.map(|stored| (stored.value, stored.ttl_ms.map(|ms| ms / 1_000)))
    }

    fn plant(&self, key: &[u8], kind: TestValueKind, value: &[u8]) {
        testing::put(&self.client, &self.limiters[0].redis_key(key).unwrap(), kind, value).run().unwrap();
    }
}

/// Makes the call, though the process may know the answer without.
fn by_call(op: Op<Decision>) -> Result<Decision> {
    op.erased().run()?.take()
}

fn same(key: &[u8], called: Result<Decision>, at_once: Option<Result<Decision>>) {
    match (called, at_once.expect("a memory always answers at once")) {
        (Ok(called), Ok(at_once)) => assert_eq!(called, at_once, "{key:?}"),
        (Err(called), Err(at_once)) => {
            assert_eq!((called.code(), called.message()), (at_once.code(), at_once.message()));
            assert_eq!(called.cause::<Decision>(), at_once.cause::<Decision>());
        }
        (called, at_once) => panic!("{called:?} by a call, {at_once:?} at once"),
    }
}

#[test]
fn what_is_decided_at_once_is_what_a_call_decides() {
    let steps = prop::collection::vec((shift(), 0_usize..3, act()), STEPS);
    let case = ([policy(), policy()], any::<bool>(), steps);
    let mut runner = TestRunner::new(Config { cases: CASES, ..Config::default() });
    let ran = runner.run(&case, |(policies, enforce, steps)| {
        let [calls, instant] = ["of-calls", "at-once"].map(|name| Side::new(name, &policies, enforce));
        let (mut now, mut which) = (START, 0);
        for (shift, key, act) in steps {
            now = now.saturating_add_signed(shift);
            let key = KEYS[key];
            let (called, limiter) = (&calls.limiters[which], &instant.limiters[which]);
            for side in [&calls, &instant] {
                testing::set_time(&side.client, Some(now)).unwrap();
            }
            let both = |act: &dyn Fn(&Side)| [&calls, &instant].into_iter().for_each(act);
            match act {
                Act::Consume(cost) => {
                    let called = called.consume(key, cost).and_then(by_call);
                    same(key, called, limiter.consume_at_once(key, cost));
                }
                Act::Require(cost) => {
                    let called = called.require(key, cost).and_then(by_call);
                    same(key, called, limiter.require_at_once(key, cost));
                }
                // One of a list is an error on both sides.
                Act::Refund(n) => both(&|side| drop(side.limiters[which].refund(key, n).unwrap().run())),
                Act::Block(time) => both(&|side| drop(side.limiters[which].block(key, time).unwrap().run())),
                Act::Reserve(n, ttl) => both(&|side| {
                    let id = "00112233445566778899aabbccddeeff";
                    let how = Unsettled::parse("spent").unwrap();
                    drop(testing::reserve(&side.limiters[which], key, id, n, ttl, how).unwrap().run());
                }),
                Act::Plant(value) => both(&|side| side.plant(key, TestValueKind::Text, &value)),
                Act::List => both(&|side| side.plant(key, TestValueKind::List, b"")),
                Act::Damage(at, byte) => {
                    if let Some((mut value, _)) = calls.stored(key).filter(|(value, _)| !value.is_empty()) {
                        let at = at % value.len();
                        if byte % 4 == 0 {
                            value.truncate(at);
                        } else {
                            value[at] = byte;
                        }
                        both(&|side| side.plant(key, TestValueKind::Text, &value));
                    }
                }
                Act::Reset => both(&|side| drop(side.limiters[which].reset(key).unwrap().run())),
                Act::Switch => which = 1 - which,
            }
            let [called, instant] = [calls.stored(key), instant.stored(key)];
            let bytes = |stored: &Option<(Vec<u8>, Option<u64>)>| stored.as_ref().map(|(bytes, _)| bytes.clone());
            assert_eq!(bytes(&called), bytes(&instant), "{key:?}");
            let life = |stored: Option<(Vec<u8>, Option<u64>)>| stored.and_then(|(_, life)| life).unwrap_or_default();
            assert!(life(called).abs_diff(life(instant)) <= 60, "{key:?}");
        }
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn bad_arguments_and_a_closed_client_fail_as_by_a_call() {
    let client = client("memory://bad", "p");
    let limiter = client.limiter("n", Policy::parse("2/hour").unwrap()).unwrap();
    let long = vec![b'k'; quotalock::MAX_KEY_BYTES + 1];
    let check = || {
        for (key, cost) in [(&b""[..], 1), (&long, 1), (b"k", quotalock::MAX_COST + 1), (b"", u64::MAX), (b"k", 1)] {
            same(key, limiter.consume(key, cost).and_then(by_call), limiter.consume_at_once(key, cost));
            same(key, limiter.require(key, cost).and_then(by_call), limiter.require_at_once(key, cost));
        }
    };
    testing::set_time(&client, Some(START)).unwrap();
    // Whoever of them asks for "k" finds it denied.
    limiter.consume_at_once(b"k", 2).unwrap().unwrap();
    check();
    client.close();
    check();
    assert_eq!(limiter.consume_at_once(b"k", 1).unwrap().unwrap_err().code(), Code::Closed);
}

/// The answer of a call that needs no other thread.
fn polled(op: Op<Decision>) -> Result<Decision> {
    match op.into_future().as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("it is not known at once"),
    }
}

#[test]
fn what_is_known_is_decided_when_the_call_is_run_and_not_before() {
    let client = client("memory://described", "p");
    let limiter = client.limiter("n", Policy::parse("5/hour").unwrap()).unwrap();
    let remaining = || limiter.peek(b"k", 1).unwrap().run().unwrap().remaining;
    let ask = || limiter.consume(b"k", 1).unwrap();
    drop((ask(), limiter.require(b"k", 1).unwrap(), ask().erased(), ask().into_future()));
    assert_eq!(remaining(), 5);
    assert_eq!(ask().run().unwrap().remaining, 4);
    assert_eq!(polled(ask()).unwrap().remaining, 3);
    assert_eq!(by_call(ask()).unwrap().remaining, 2);
    assert_eq!(polled(limiter.require(b"k", 2).unwrap()).unwrap().remaining, 0);
    let late = ask();
    assert_eq!(limiter.require(b"k", 1).unwrap().run().unwrap_err().code(), Code::Limited);
    limiter.reset(b"k").unwrap().run().unwrap();
    assert!(late.run().unwrap().allowed, "it was described when the limit was used up");
}

#[test]
fn permits_that_are_held_and_remembered_denials_answer_a_call_that_is_run() {
    for (name, url) in servers() {
        // A denial is remembered for longer than a machine stands still.
        let options = Options {
            url: Some(url),
            prefix: fresh_prefix("known"),
            timeout: Duration::from_secs(10),
            deny_cache_max: Duration::from_secs(60),
            ..Options::default()
        };
        let client = Client::new(options).unwrap();
        let options = LimiterOptions { prefetch: Some(50), ..LimiterOptions::default() };
        let limiter = client.limiter_with("n", Policy::parse("100/hour").unwrap(), options).unwrap();
        (0..32).for_each(|_| assert!(limiter.consume(b"k", 1).unwrap().run().unwrap().allowed));
        drop((limiter.consume(b"k", 1).unwrap(), limiter.consume(b"k", 1).unwrap().into_future()));
        for ask in [Op::run, polled] {
            assert_eq!(ask(limiter.consume(b"k", 1).unwrap()).unwrap().source, Source::Lease, "{name}");
        }
        let left = limiter.consume(b"k", 1).unwrap().run().unwrap().remaining;
        assert_eq!(left, 100 - 32 - 3, "{name}: what was not run took nothing");
        let hot = || limiter.consume(b"hot", 60).unwrap();
        assert_eq!([hot(), hot()].map(|ask| ask.run().unwrap().source), [Source::Redis; 2], "{name}");
        for ask in [Op::run, polled, by_call] {
            let denied = ask(hot()).unwrap();
            assert_eq!((denied.allowed, denied.source), (false, Source::DenyCache), "{name}");
        }
    }
}

#[test]
fn a_limiter_on_redis_does_not_answer_at_once_what_nobody_here_knows() {
    let client = client("redis://127.0.0.1:1", "p");
    let limiter = client.limiter("n", Policy::parse("2/hour").unwrap()).unwrap();
    assert!(!limiter.is_in_memory() && limiter.consume_at_once(b"k", 1).is_none());
    assert!(limiter.require_at_once(b"", u64::MAX).is_none(), "the call says what is wrong");
}

#[test]
fn threads_admit_no_more_than_the_limit_of_a_key() {
    const THREADS: usize = 4;
    const LIMIT: usize = 20_000;
    let client = client("memory://threads", "p");
    let limiter = client.limiter("n", Policy::parse(&format!("{LIMIT}/day;token-bucket 60000/day")).unwrap()).unwrap();
    let gate = Barrier::new(THREADS);
    let admitted: usize = thread::scope(|scope| {
        let work = |number: usize| {
            let (gate, limiter) = (&gate, &limiter);
            scope.spawn(move || {
                gate.wait();
                let asked = 0..LIMIT / 2;
                asked
                    .filter(|call| {
                        // A key of all threads, and many of one each; some by calls.
                        let own = format!("own {number} {call}");
                        assert_eq!(
                            limiter.consume_at_once(own.as_bytes(), 1).unwrap().unwrap().remaining,
                            LIMIT as u64 - 1
                        );
                        match call % 10 {
                            0 => limiter.consume(b"all", 1).unwrap().run().unwrap().allowed,
                            _ => limiter.consume_at_once(b"all", 1).unwrap().unwrap().allowed,
                        }
                    })
                    .count()
            })
        };
        let threads: Vec<_> = (0..THREADS).map(work).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(admitted, LIMIT);
}
