//! The Rust twins against the Lua, in virtual time on real servers: the same answers and the same stored bytes, after
//! every one of at least 100,000 steps per server, with clock steps, foreign values, lost TTLs and changed policies.
//!
//! After a step the keys are compared that it may have touched; after a case all of them, those of requests included.

use std::cell::Cell;

use proptest::prelude::*;
use quotalock::testing::{self, TestValueKind};
use quotalock::{Charge, Client, Limiter, LimiterOptions, Policy, Unsettled};
use quotalock_tests::longer::{longer, random_cases};
use quotalock_tests::{client, fresh_prefix, servers};

const CASES: u32 = 105;
const STEPS: usize = 160;
/// The fewest that are worth the name of a proof, on each server.
const AT_LEAST: usize = 16_700;
const START: u64 = 1_700_000_000_000_000;
const KEYS: [&[u8]; 3] = [b"a", b"{b}%", b"\x00\xff"];

#[derive(Clone, Debug)]
enum Act {
    Consume(u64),
    Peek(u64),
    Refund(u64),
    Block(u64),
    Reset,
    Plant(Vec<u8>),
    /// Cuts a state of ours, or changes one of its bytes.
    Damage(usize, u8),
    Persist,
    UpTo(u64),
    /// Which id, estimate, microseconds, what becomes of it unsettled.
    Reserve(u8, u64, u64, Unsettled),
    /// Which id, actual amount.
    Settle(u8, u64),
    /// Which request, cost.
    Once(u8, u64),
    RefundOnce(u8, u64),
    /// For each charge: which limiter, key, cost; maybe which request.
    All(Vec<(usize, usize, u64)>, Option<u8>),
    /// Goes on with the next policy.
    Switch,
}

#[derive(Clone, Debug)]
struct Step {
    /// Microseconds to go forward, or back.
    shift: i64,
    key: usize,
    act: Act,
}

fn rule() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(quotalock::ALGORITHMS.map(|a| a.name()).to_vec());
    let limit = prop_oneof![4 => 1_u64..6, 1 => Just(1_u64 << 52), 1 => 6_u64..1000];
    let period =
        prop_oneof![Just("ms"), Just("7 ms"), Just("s"), Just("10 s"), Just("h"), Just("week"), Just("36500 d")];
    let capacity = prop_oneof![3 => Just(None), 1 => (1_u64..50).prop_map(Some)];
    let written =
        (algorithm, limit, period, capacity).prop_map(|(algorithm, limit, period, capacity)| match capacity {
            Some(capacity) if algorithm == "token-bucket" => {
                format!("{algorithm} {limit}/{period} capacity {capacity}")
            }
            _ => format!("{algorithm} {limit}/{period}"),
        });
    // A bucket so large that it cannot be counted exactly is refused.
    written.prop_filter("refused", |text| Policy::parse(text).is_ok())
}

fn policy() -> impl Strategy<Value = Policy> {
    // The usual cases of a script are those of one rule.
    let rules = prop_oneof![2 => prop::collection::vec(rule(), 1), 3 => prop::collection::vec(rule(), 1..6)];
    rules.prop_map(|rules| Policy::parse(&rules.join(";")).unwrap())
}

fn act() -> impl Strategy<Value = Act> {
    let foreign = prop_oneof![
        Just(b"-37412".to_vec()),
        Just(Vec::new()),
        Just(b"9999999999999999".to_vec()),
        Just(b"QL\x01".to_vec()),
        Just(b"QL\x02aaaaaaaaaaaaaaaaaaaaaaaaa".to_vec()),
        prop::collection::vec(any::<u8>(), 0..80),
        prop::collection::vec(any::<u8>(), 0..80).prop_map(|tail| [b"QL\x01", tail.as_slice()].concat()),
    ];
    let unsettled = prop_oneof![Just(Unsettled::Spent), Just(Unsettled::Returned)];
    let any_charges = prop::collection::btree_map((0_usize..3, 0..KEYS.len()), 1_u64..4, 1..4);
    // Those that have counted something already.
    let usual_charges = prop::collection::btree_map((0_usize..2, Just(0)), 1_u64..4, 2);
    let charges = prop_oneof![any_charges, usual_charges]
        .prop_map(|charges| charges.into_iter().map(|((limiter, key), cost)| (limiter, key, cost)).collect::<Vec<_>>());
    prop_oneof![
        20 => (0_u64..4).prop_map(Act::Consume),
        2 => (4_u64..1 << 52).prop_map(Act::Consume),
        4 => (0_u64..4).prop_map(Act::Peek),
        4 => (1_u64..5).prop_map(Act::Refund),
        1 => (1_000_u64..20_000_000).prop_map(Act::Block),
        1 => Just(Act::Reset),
        1 => foreign.prop_map(Act::Plant),
        2 => (0_usize..80, any::<u8>()).prop_map(|(at, byte)| Act::Damage(at, byte)),
        1 => Just(Act::Persist),
        3 => prop_oneof![1_u64..6, 1_u64..1 << 52].prop_map(Act::UpTo),
        4 => (0_u8..4, 1_u64..6, 1_000_u64..5_000_000, unsettled).prop_map(|(id, estimate, length, unsettled)| {
            Act::Reserve(id, estimate, length, unsettled)
        }),
        4 => (0_u8..4, prop_oneof![8 => 0_u64..8, 1 => Just(1_u64 << 52)]).prop_map(|(id, n)| Act::Settle(id, n)),
        3 => (0_u8..3, 1_u64..4).prop_map(|(id, cost)| Act::Once(id, cost)),
        1 => (0_u8..3, 1_u64..4).prop_map(|(id, amount)| Act::RefundOnce(id, amount)),
        8 => (charges, prop::option::weighted(0.3, 0_u8..3)).prop_map(|(charges, id)| Act::All(charges, id)),
        4 => Just(Act::Switch),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let shift = prop_oneof![
        10 => 0_i64..1_000,
        10 => 0_i64..2_000_000,
        3 => 0_i64..20_000_000,
        1 => 0_i64..5_000_000_000,
        2 => -2_000_000_i64..0,
        1 => -3_700_000_000_i64..0,
    ];
    (shift, 0..KEYS.len(), act()).prop_map(|(shift, key, act)| Step { shift, key, act })
}

struct Side {
    client: Client,
    /// One name, three policies that alternate.
    limiters: [Limiter; 3],
    /// Others that are charged together with these; the last is not enforced.
    others: [Limiter; 2],
}

/// What identifies a reservation or a request.
fn id(n: u8) -> String {
    format!("{n:032x}")
}

/// Where a request about a key is remembered.
fn request_key(redis_key: &[u8], verb: &str, id: &str) -> Vec<u8> {
    const KIND: &[u8] = b":limit:";
    let at = redis_key.windows(KIND.len()).position(|part| part == KIND).unwrap();
    let (prefix, rest) = (&redis_key[..at], &redis_key[at + KIND.len()..]);
    [prefix, b":request:", rest, b":", verb.as_bytes(), b":", id.as_bytes()].concat()
}

impl Side {
    fn new(url: &str, prefix: &str, policies: &[Policy; 3]) -> Side {
        let client = client(url, prefix);
        let limiters = policies.clone().map(|policy| client.limiter("twin", policy).unwrap());
        let options = |enforce| LimiterOptions { scope: Some(b"s}".to_vec()), enforce, prefetch: None };
        let other = |i: usize| client.limiter_with(["x", "y"][i], policies[i].clone(), options(i == 0)).unwrap();
        let others = [other(0), other(1)];
        Side { client, limiters, others }
    }

    /// The keys that a step may change.
    fn touched(&self, step: &Step, current: usize) -> Vec<Vec<u8>> {
        let chosen = [&self.limiters[current], &self.others[0], &self.others[1]];
        match &step.act {
            Act::All(charges, _) => {
                charges.iter().map(|(which, key, _)| chosen[*which].redis_key(KEYS[*key]).unwrap()).collect()
            }
            _ => vec![chosen[0].redis_key(KEYS[step.key]).unwrap()],
        }
    }

    /// Every key that a case may have left: those of the limiters, and those that its requests are remembered under.
    fn all(&self) -> [Vec<Vec<u8>>; 2] {
        let of = |limiter: &Limiter| KEYS.map(|key| limiter.redis_key(key).unwrap());
        let (own, others) = (of(&self.limiters[0]), self.others.each_ref().map(of).concat());
        let mut requests = Vec::new();
        for n in 0..3 {
            let id = id(n);
            for verb in ["consume", "refund"] {
                requests.extend(own.iter().map(|key| request_key(key, verb, &id)));
            }
            requests.extend(own.iter().chain(&others).map(|key| request_key(key, "consume_all", &id)));
        }
        [own.into_iter().chain(others).collect(), requests]
    }

    fn state(&self, redis_keys: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
        redis_keys.iter().map(|key| self.stored(key)).collect()
    }

    fn stored(&self, redis_key: &[u8]) -> Option<Vec<u8>> {
        testing::get(&self.client, redis_key).run().unwrap().map(|stored| stored.value)
    }

    /// Performs a step and shows all of its outcome but who answered.
    fn perform(&self, step: &Step, current: usize, now: u64) -> String {
        testing::set_time(&self.client, Some(now)).unwrap();
        let (limiter, key) = (&self.limiters[current], KEYS[step.key]);
        let redis_key = limiter.redis_key(key).unwrap();
        let decided = match &step.act {
            Act::Consume(cost) => limiter.consume(key, *cost).unwrap().run().unwrap(),
            Act::Peek(cost) => limiter.peek(key, *cost).unwrap().run().unwrap(),
            Act::Refund(amount) => limiter.refund(key, *amount).unwrap().run().unwrap(),
            Act::Block(duration) => limiter.block(key, *duration).unwrap().run().unwrap(),
            Act::UpTo(most) => limiter.consume_up_to(key, *most).unwrap().run().unwrap(),
            Act::Reserve(n, estimate, length, unsettled) => {
                testing::reserve(limiter, key, &id(*n), *estimate, *length, *unsettled).unwrap().run().unwrap()
            }
            Act::Settle(n, actual) => {
                let reservation = limiter.reservation(key, &id(*n)).unwrap();
                return format!("{}", reservation.settle(*actual).unwrap().run().unwrap());
            }
            Act::Once(n, cost) => limiter.consume_once(key, *cost, Some(id(*n).as_bytes())).unwrap().run().unwrap(),
            Act::RefundOnce(n, amount) => {
                limiter.refund_once(key, *amount, Some(id(*n).as_bytes())).unwrap().run().unwrap()
            }
            Act::All(charges, n) => {
                let chosen = [limiter, &self.others[0], &self.others[1]];
                let charge = |(which, key, cost): &(usize, usize, u64)| Charge {
                    limiter: chosen[*which],
                    key: KEYS[*key],
                    cost: *cost,
                };
                let charges: Vec<Charge> = charges.iter().map(charge).collect();
                let id = n.map(id);
                let op = self.client.consume_all(&charges, id.as_deref().map(str::as_bytes));
                // An id may have been used for another number of charges.
                let decided = match op.unwrap().run() {
                    Ok(decided) => decided,
                    Err(error) => return format!("{:?}", error.code()),
                };
                return format!("{decided:?}").replace(&format!("{:?}", decided.source), "");
            }
            Act::Reset => return format!("{}", limiter.reset(key).unwrap().run().unwrap()),
            Act::Plant(value) => {
                testing::put(&self.client, &redis_key, TestValueKind::Text, value).run().unwrap();
                return String::new();
            }
            Act::Damage(at, byte) => {
                let Some(mut value) = self.stored(&redis_key) else { return String::new() };
                match value.get_mut(*at) {
                    Some(place) => *place = *byte,
                    None => value.truncate(value.len() / 2),
                }
                testing::put(&self.client, &redis_key, TestValueKind::Text, &value).run().unwrap();
                return String::new();
            }
            Act::Persist => {
                testing::put(&self.client, &redis_key, TestValueKind::Persist, b"").run().unwrap();
                return String::new();
            }
            Act::Switch => return String::new(),
        };
        let source = decided.source;
        format!("{decided:?}").replace(&format!("{source:?}"), "")
    }
}

/// Plays random cases to a server and its twin, and returns how many steps that were.
fn steps_that_agree(name: &str, url: &str) -> usize {
    let mut runner = random_cases(CASES);
    let steps = prop::collection::vec(step(), STEPS);
    let (executed, remembered) = (Cell::new(0), Cell::new(0));
    let outcome = runner.run(&([policy(), policy(), policy()], steps), |(policies, steps)| {
        let prefix = fresh_prefix("twin");
        let sides = [Side::new("memory://", &prefix, &policies), Side::new(url, &prefix, &policies)];
        let (mut now, mut current) = (START, 0);
        for (i, step) in steps.iter().enumerate() {
            now = now.saturating_add_signed(step.shift);
            if matches!(step.act, Act::Switch) {
                current = (current + 1) % policies.len();
            }
            let [twin, script] = sides.each_ref().map(|side| side.perform(step, current, now));
            prop_assert_eq!(twin, script, "step {} on {}", i, name);
            let touched = sides[0].touched(step, current);
            let [twin, script] = sides.each_ref().map(|side| side.state(&touched));
            prop_assert_eq!(twin, script, "state after step {} on {}", i, name);
            executed.set(executed.get() + 1);
        }
        let [states, requests] = sides[0].all();
        let [twin, script] = sides.each_ref().map(|side| side.state(&states));
        prop_assert_eq!(twin, script, "states at the end on {}", name);
        let [twin, script] = sides.each_ref().map(|side| side.state(&requests));
        remembered.set(remembered.get() + script.iter().flatten().count());
        prop_assert_eq!(twin, script, "what is remembered of requests on {}", name);
        Ok(())
    });
    outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    assert!(remembered.get() > (CASES * longer()) as usize, "{name}: hardly a request was remembered");
    executed.get()
}

#[test]
fn twin_and_script_agree() {
    std::thread::scope(|scope| {
        for (name, url) in servers() {
            scope.spawn(move || {
                let executed = steps_that_agree(&name, &url);
                assert!(executed >= AT_LEAST * longer() as usize, "{name}: only {executed} steps");
                println!("{name}: {executed} steps");
            });
        }
    });
}
