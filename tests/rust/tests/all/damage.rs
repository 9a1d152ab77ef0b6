//! No value denies for longer than a full state of its policy would: bits of every byte are flipped (all of them in
//! `make test-long`), every length is cut and some are grown, and the TTL is lost. Twin and scripts answer alike, and store
//! the same bytes.

use quotalock::testing::{self, TestValueKind};
use quotalock::{Charge, Client, Code, Decision, Error, Limiter, MAX_REQUEST_MEMORY, Policy, Source, Unsettled};
use quotalock_tests::longer::is_played;
use quotalock_tests::{client, fresh_prefix, servers};

const START: u64 = 1_700_000_000_123_457;
const KEY: &[u8] = b"k";
/// How often a caller may be sent away who comes back when it is told to.
const MOST_TRIES: usize = 40;

/// What is damaged: the policy, and one that another version of the program has.
const STATES: [(&str, Option<&str>); 9] = [
    ("3/10s", None),
    ("calendar-window 3/10s", None),
    ("sliding-window 3/10s", None),
    ("token-bucket 3/10s capacity 4", None),
    ("sliding-log 3/10s", None),
    ("sliding-log 12/10s;sliding-log 5/2s", None),
    ("3/10s;calendar-window 9/60s;token-bucket 7/30s;sliding-window 20/5s", None),
    ("token-bucket 3/10s", Some("token-bucket 5/7s;3/20s")),
    ("sliding-log 4/10s;token-bucket 9/10s", Some("calendar-window 5/30s")),
];

/// What is beside what was counted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    Nothing,
    Hold,
    Block,
}

const BLOCKED: u64 = 13_000_000;

struct Side {
    client: Client,
    limiter: Limiter,
    other: Option<Limiter>,
}

impl Side {
    fn new(url: &str, prefix: &str, policy: &str, other: Option<&str>) -> Side {
        let client = client(url, prefix);
        let limiter = |policy: &str| client.limiter("damage", Policy::parse(policy).unwrap()).unwrap();
        Side { limiter: limiter(policy), other: other.map(limiter), client }
    }

    fn at(&self, now: u64) -> &Limiter {
        testing::set_time(&self.client, Some(now)).unwrap();
        &self.limiter
    }

    /// A key that denies, and when it is.
    fn fill(&self, beside: Beside) -> u64 {
        let mut now = START;
        if let Some(other) = &self.other {
            self.at(now);
            other.consume(KEY, 2).unwrap().run().unwrap();
        }
        if beside == Beside::Hold {
            let reserved = testing::reserve(self.at(now), KEY, &"5".repeat(32), 1, 20_000_000, Unsettled::Returned);
            assert!(reserved.unwrap().run().unwrap().allowed);
        }
        while self.at(now).consume(KEY, 1).unwrap().run().unwrap().allowed {
            now += 1_000;
        }
        if beside == Beside::Block {
            self.at(now).block(KEY, BLOCKED).unwrap().run().unwrap();
        }
        now
    }

    fn redis_key(&self) -> Vec<u8> {
        self.limiter.redis_key(KEY).unwrap()
    }

    fn stored(&self) -> Option<Vec<u8>> {
        testing::get(&self.client, &self.redis_key()).run().unwrap().map(|stored| stored.value)
    }

    fn plant(&self, value: &[u8]) {
        testing::put(&self.client, &self.redis_key(), TestValueKind::Text, value).run().unwrap();
    }
}

/// The longest that a full state denies a cost.
fn longest(policy: &Policy, beside: Beside, cost: u64) -> u64 {
    let rules = policy.rules().iter().map(|rule| match rule.algorithm().name() {
        // Up to w + w q / L.
        "sliding-window" => rule.period() + (rule.period() * cost).div_ceil(rule.limit()),
        "token-bucket" => (rule.capacity() * rule.period()).div_ceil(rule.limit()),
        _ => rule.period(),
    });
    rules.max().unwrap().max(if beside == Beside::Block { BLOCKED } else { 0 })
}

/// All damages of a value; of the bits only a share, unless told to go on for longer.
fn damaged(value: &[u8]) -> Vec<Vec<u8>> {
    let flipped = (0..value.len() * 8).filter(|bit| is_played(bit + value.len())).map(|bit| {
        let mut value = value.to_vec();
        value[bit / 8] ^= 1 << (bit % 8);
        value
    });
    let cut = (0..value.len()).map(|length| value[..length].to_vec());
    let grown = [&[0][..], &[255], &[0; 17], &[251; 41], &[0; 300], value].map(|tail| [value, tail].concat());
    flipped.chain(cut).chain(grown).collect()
}

fn denies_no_longer(name: &str, sides: &[Side; 2], beside: Beside) {
    let now = sides.each_ref().map(|side| side.fill(beside))[0];
    let value = sides[0].stored().unwrap();
    assert_eq!(sides[1].stored().unwrap(), value);
    let policy = sides[0].limiter.policy();
    let most = policy.rules().iter().map(|rule| rule.capacity()).min().unwrap();
    for (number, value) in damaged(&value).iter().enumerate() {
        let place = || format!("{policy} beside {beside:?} on {name}, damage {number}: {value:02x?}");
        let plant = || sides.iter().for_each(|side| side.plant(value));
        let ask = |at: u64, cost: u64| {
            let [twin, script] = sides.each_ref().map(|side| side.at(at).consume(KEY, cost).unwrap().run().unwrap());
            let retry = (twin.allowed, twin.remaining, twin.retry_after, twin.reset_after, twin.healed);
            let same = (script.allowed, script.remaining, script.retry_after, script.reset_after, script.healed);
            assert_eq!(retry, same, "{}", place());
            assert_eq!(sides[0].stored(), sides[1].stored(), "{}", place());
            twin
        };
        // Who comes back as told.
        plant();
        let (bound, mut at, mut tries) = (longest(policy, beside, 1), now, 0);
        loop {
            let decision = ask(at, 1);
            if decision.allowed {
                break;
            }
            tries += 1;
            at += decision.retry_after.unwrap();
            assert!(
                at - now <= bound && tries <= MOST_TRIES,
                "denied for {} µs in {tries} tries: {}",
                at - now,
                place()
            );
        }
        // Who comes back when all must be over.
        plant();
        if !ask(now, most).allowed {
            assert!(ask(now + longest(policy, beside, most), most).allowed, "still denied: {}", place());
        }
    }
}

#[test]
fn no_value_denies_for_longer_than_a_full_state() {
    std::thread::scope(|scope| {
        for (name, url) in servers() {
            scope.spawn(move || {
                // The script is the same on all of them: one gets to see everything.
                let states = if name == "redis-7.0" { &STATES[..] } else { &STATES[..5] };
                for (policy, other) in states.iter().copied() {
                    for beside in [Beside::Nothing, Beside::Hold, Beside::Block] {
                        let prefix = fresh_prefix("damage");
                        let sides = ["memory://", &url].map(|url| Side::new(url, &prefix, policy, other));
                        denies_no_longer(&name, &sides, beside);
                    }
                }
            });
        }
    });
}

#[test]
fn a_block_lasts_no_longer_than_the_longest_that_can_be_set() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("damage");
        let sides = ["memory://", &url].map(|url| Side::new(url, &prefix, "3/10s", None));
        for side in &sides {
            let now = side.fill(Beside::Block);
            let mut value = side.stored().unwrap();
            let at = value.len() - 16;
            for (length, until, longest) in [
                (quotalock::MAX_PERIOD, (1 << 53) - 1, quotalock::MAX_PERIOD),
                // No block can be so long: what says so is not ours.
                (quotalock::MAX_PERIOD + 1, (1 << 53) - 1, 0),
                (1 << 52, (1 << 53) - 1, 0),
            ] {
                value[at..at + 8].copy_from_slice(&u64::to_le_bytes(length));
                value[at + 8..].copy_from_slice(&u64::to_le_bytes(until));
                side.plant(&value);
                let decision = side.at(now).consume(KEY, 1).unwrap().run().unwrap();
                assert_eq!(decision.retry_after, Some(longest), "{length} on {name}");
            }
        }
    }
}

/// A call with a request id, and where it is remembered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Request {
    Consume,
    Refund,
    Together,
}

impl Request {
    fn redis_key(self, limiter: &Limiter) -> Vec<u8> {
        let state = String::from_utf8(limiter.redis_key(KEY).unwrap()).unwrap();
        let verb = match self {
            Request::Consume => "consume",
            Request::Refund => "refund",
            Request::Together => "consume_all",
        };
        // The kind of a key stands behind the prefix.
        format!("{}:{verb}:id", state.replacen(":limit:", ":request:", 1)).into_bytes()
    }

    fn ask(self, side: &Side, now: u64) -> Result<Vec<Decision>, Error> {
        let (limiter, id) = (side.at(now), Some(&b"id"[..]));
        let mut decisions = match self {
            Request::Consume => vec![limiter.consume_once(KEY, 1, id).unwrap().run()?],
            Request::Refund => vec![limiter.refund_once(KEY, 1, id).unwrap().run()?],
            Request::Together => {
                let charges = [KEY, b"l"].map(|key| Charge { limiter, key, cost: 1 });
                side.client.consume_all(&charges, id).unwrap().run()?.decisions
            }
        };
        decisions.iter_mut().for_each(|decision| decision.source = Source::Redis);
        Ok(decisions)
    }
}

/// Each damage of what is remembered: a call answers, for no longer than a memory can be, and in the same way again.
fn a_damaged_memory_heals(name: &str, sides: &[Side; 2], request: Request) {
    let longest = MAX_REQUEST_MEMORY.as_micros() as u64;
    let keys = sides.each_ref().map(|side| request.redis_key(&side.limiter));
    let stored = |n: usize| testing::get(&sides[n].client, &keys[n]).run().unwrap().map(|stored| stored.value);
    let first = request.ask(&sides[0], START).unwrap();
    assert_eq!(request.ask(&sides[1], START).unwrap(), first);
    let value = stored(0).expect("it is remembered");
    let foreign =
        [&[][..], b"somebody", b"QR\x01", &[b"QR\x01".as_slice(), &[1; 8 * 9_000]].concat()].map(<[u8]>::to_vec);
    for (number, damage) in damaged(&value).iter().chain(&foreign).enumerate() {
        let place =
            || format!("{request:?} by {} on {name}, damage {number}: {damage:02x?}", sides[0].limiter.policy());
        sides.iter().zip(&keys).for_each(|(side, key)| {
            testing::put(&side.client, key, TestValueKind::Text, damage).run().unwrap();
            for key in [KEY, b"l"] {
                side.limiter.reset(key).unwrap().run().unwrap();
            }
        });
        let ask = |at: u64| {
            let [twin, script] = sides.each_ref().map(|side| request.ask(side, at));
            match (&twin, &script) {
                (Ok(twin), Ok(script)) => assert_eq!(twin, script, "{}", place()),
                // The number that stands for the keys says that they are others.
                (Err(twin), Err(script)) => {
                    assert_eq!([twin.code(), script.code()], [Code::InvalidArgument; 2], "{twin}: {}", place());
                    assert!(request == Request::Together, "{}", place());
                }
                _ => panic!("{twin:?}, {script:?}: {}", place()),
            }
            assert_eq!(stored(0), stored(1), "{}", place());
            twin.ok()
        };
        let now = START + 1_000_000;
        let answer = ask(now);
        if request == Request::Consume {
            assert!(answer.iter().flatten().all(|decision| decision.allowed), "{}", place());
        }
        assert!(ask(now + longest).is_some(), "{}", place());
        let until = stored(0).and_then(|value| Some(u64::from_le_bytes(*value[3..].first_chunk()?)));
        assert_eq!(until, Some(now + longest + 60_000_000), "remembered too long: {}", place());
    }
}

#[test]
fn a_damaged_memory_of_a_request_heals() {
    std::thread::scope(|scope| {
        for (name, url) in servers() {
            scope.spawn(move || {
                let policies = ["3/10s", "token-bucket 5/7s;3/20s", "sliding-log 4/10s"];
                for policy in if name == "redis-7.0" { &policies[..] } else { &policies[..1] } {
                    for request in [Request::Consume, Request::Refund, Request::Together] {
                        let prefix = fresh_prefix("damage");
                        let sides = ["memory://", &url].map(|url| Side::new(url, &prefix, policy, None));
                        a_damaged_memory_heals(&name, &sides, request);
                    }
                }
            });
        }
    });
}
