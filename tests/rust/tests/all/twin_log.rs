//! Twin and script on long logs: thousands of calls on one key, so that the ring grows, wraps and shrinks and the search
//! for what ended takes long steps. The answers are compared at each call, the stored bytes every 50.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::testing;
use quotalock::{Client, Decision, Limiter, Policy, Unsettled};
use quotalock_tests::longer::random_cases;
use quotalock_tests::{client, fresh_prefix, servers};

const CASES: u32 = 1;
const CALLS: usize = 8_000;
const COMPARED_EVERY: usize = 50;
const START: u64 = 1_700_000_000_000_000;
const KEY: &[u8] = b"long";

/// Policies, and the usual time between calls in microseconds: about what each of them admits.
const POLICIES: [(&str, u64); 5] = [
    ("sliding-log 800/s", 1_000),
    ("sliding-log 3000/10s;sliding-log 500/s", 4_000),
    ("sliding-log 2000/h;fixed-window 100/s", 20_000),
    ("token-bucket 900/s;sliding-log 1500/2s", 1_300),
    ("sliding-log 700/100ms;sliding-log 2500/s;calendar-window 100000/2s", 250),
];

#[derive(Clone, Debug)]
enum Act {
    Consume(u64),
    Peek(u64),
    UpTo(u64),
    Refund(u64),
    Block(u64),
    Reserve(u8, u64, u64, Unsettled),
    Settle(u8, u64),
}

/// The time before a call, in thousandths.
#[derive(Clone, Copy, Debug)]
enum Shift {
    /// Of the usual time between calls.
    Usual(i64),
    /// Of the longest period.
    Period(i64),
}

type Call = (Shift, Act);

fn call() -> impl Strategy<Value = Call> {
    let shift = prop_oneof![
        800 => (0_i64..1_600).prop_map(Shift::Usual),
        20 => Just(Shift::Usual(0)),
        // Pauses: some of the log ends, most of it, all of it.
        3 => (0_i64..400).prop_map(Shift::Period),
        1 => (0_i64..1_200).prop_map(Shift::Period),
        // The clock goes back, by less than the log holds and by more.
        1 => (-60_000_i64..0).prop_map(Shift::Usual),
        1 => (-100_i64..0).prop_map(Shift::Period),
    ];
    let unsettled = prop_oneof![Just(Unsettled::Spent), Just(Unsettled::Returned)];
    let act = prop_oneof![
        300 => Just(Act::Consume(1)),
        20 => (2_u64..40).prop_map(Act::Consume),
        30 => (0_u64..600).prop_map(Act::Peek),
        5 => (1_u64..40).prop_map(Act::UpTo),
        8 => (1_u64..100).prop_map(Act::Refund),
        1 => (1_000_u64..20_000).prop_map(Act::Block),
        4 => (0_u8..4, 1_u64..200, 1_000_u64..2_000_000, unsettled).prop_map(|(id, n, ttl, unsettled)| {
            Act::Reserve(id, n, ttl, unsettled)
        }),
        4 => (0_u8..4, 0_u64..400).prop_map(|(id, n)| Act::Settle(id, n)),
    ];
    (shift, act)
}

struct Side {
    client: Client,
    limiter: Limiter,
}

impl Side {
    fn new(url: &str, prefix: &str, policy: &str) -> Side {
        let client = client(url, prefix);
        let limiter = client.limiter("log", Policy::parse(policy).unwrap()).unwrap();
        Side { client, limiter }
    }

    fn perform(&self, act: &Act, now: u64) -> (bool, Option<Decision>) {
        testing::set_time(&self.client, Some(now)).unwrap();
        let limiter = &self.limiter;
        let id = |n: &u8| format!("{n:032x}");
        let op = match act {
            Act::Consume(cost) => limiter.consume(KEY, *cost),
            Act::Peek(cost) => limiter.peek(KEY, *cost),
            Act::UpTo(most) => limiter.consume_up_to(KEY, *most),
            Act::Refund(amount) => limiter.refund(KEY, *amount),
            Act::Block(duration) => limiter.block(KEY, *duration),
            Act::Reserve(n, estimate, length, unsettled) => {
                testing::reserve(limiter, KEY, &id(n), *estimate, *length, *unsettled)
            }
            Act::Settle(n, actual) => {
                let reservation = limiter.reservation(KEY, &id(n)).unwrap();
                return (reservation.settle(*actual).unwrap().run().unwrap(), None);
            }
        };
        let mut decision = op.unwrap().run().unwrap();
        // The one thing in which they differ.
        decision.source = quotalock::Source::Memory;
        (decision.allowed, Some(decision))
    }

    fn stored(&self) -> Option<Vec<u8>> {
        let redis_key = self.limiter.redis_key(KEY).unwrap();
        testing::get(&self.client, &redis_key).run().unwrap().map(|stored| stored.value)
    }
}

/// The number of the next entry and the ring's slots, as a stored value says them (see `core/src/limiter/script/log.lua`).
fn ring(policy: &Policy, value: &[u8]) -> (u64, u64) {
    // Its name, and what it counts.
    let size = |name: &str| match name {
        "calendar-window" => 15 + 16,
        "sliding-log" => 15 + 32,
        "token-bucket" => 22 + 24,
        _ => 15 + 24,
    };
    let at = 4 + policy.rules().iter().map(|rule| size(rule.algorithm().name())).sum::<usize>();
    assert_eq!(value[at], 250, "no log behind the rules");
    let number = |n: usize| u64::from_le_bytes(value[at + 1 + 8 * n..][..8].try_into().unwrap());
    (number(0), number(3))
}

/// What became of the ring in all cases of a policy on a server.
#[derive(Default)]
struct Seen {
    largest: Cell<u64>,
    wrapped: Cell<bool>,
    shrank: Cell<bool>,
}

fn play(url: &str, policy: &str, usual: u64, calls: &[Call], seen: &Seen) -> TestCaseResult {
    let prefix = fresh_prefix("twin-log");
    let sides = [Side::new("memory://", &prefix, policy), Side::new(url, &prefix, policy)];
    let (mut now, mut room_before) = (START, 0);
    let longest = sides[0].limiter.policy().rules().iter().map(|rule| rule.period()).max().unwrap();
    for (i, (shift, act)) in calls.iter().enumerate() {
        let (thousandths, of) = match *shift {
            Shift::Usual(thousandths) => (thousandths, usual),
            Shift::Period(thousandths) => (thousandths, longest),
        };
        now = now.saturating_add_signed(thousandths * of as i64 / 1_000);
        let [twin, script] = sides.each_ref().map(|side| side.perform(act, now));
        prop_assert_eq!(twin, script, "call {} of {}", i, policy);
        if i % COMPARED_EVERY == 0 || i + 1 == calls.len() {
            let [twin, script] = sides.each_ref().map(Side::stored);
            prop_assert!(twin == script, "state after call {} of {}", i, policy);
            let Some(value) = script else { continue };
            let (next, room) = ring(sides[0].limiter.policy(), &value);
            seen.largest.set(seen.largest.get().max(room));
            seen.wrapped.set(seen.wrapped.get() || next > room);
            seen.shrank.set(seen.shrank.get() || room < room_before);
            room_before = room;
        }
    }
    Ok(())
}

#[test]
fn long_logs_agree() {
    let agree = |name: &str, url: &str| {
        for (policy, usual) in POLICIES {
            let seen = Seen::default();
            let mut runner = random_cases(CASES);
            let calls = prop::collection::vec(call(), CALLS);
            let outcome = runner.run(&calls, |calls| play(url, policy, usual, &calls, &seen));
            outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
            let largest = seen.largest.get();
            assert!(largest > 300, "{policy} on {name}: no log was long, the longest had room for {largest}");
            assert!(seen.wrapped.get(), "{policy} on {name}: no ring wrapped");
            assert!(seen.shrank.get(), "{policy} on {name}: no ring shrank");
        }
    };
    std::thread::scope(|scope| {
        for (name, url) in servers() {
            scope.spawn(move || agree(&name, &url));
        }
    });
}
