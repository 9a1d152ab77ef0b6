//! The Rust twins of locks against their Lua, in virtual time on real servers: the same answers and the same stored
//! bytes after every one of at least 50,000 steps per server, with clock steps, damaged values and lost TTLs.
//!
//! What a lock promises is checked as well, after every step, by a model of the test's own: it knows who was granted and
//! until when, and nothing of tables.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quotalock::Client;
use quotalock::testing::lease::{
    ALL_PERMITS, Acquire, Extend, ForceRelease, Grant, Id, Inspect, MAX_FLOOR, Outcome, Queue, Release,
};
use quotalock::testing::{self, Kind, lease};
use quotalock_tests::{client, fresh_prefix, servers};

const CASES: u32 = 260;
const STEPS: usize = 200;
/// The fewest that are worth the name of a proof, on each server.
const AT_LEAST: usize = 50_000;
const START: u64 = 1_700_000_000_000_000;
const TABLES: usize = 3;
const IDS: u8 = 7;

#[derive(Clone, Debug)]
enum Act {
    Acquire {
        id: u8,
        ttl: u64,
        floor: u64,
        weight: Weight,
        queue: Queue,
        who: Vec<u8>,
        instead_of: Option<u8>,
    },
    /// Whose, and for how long it stays cancelled.
    Release(u8, u64),
    Extend(u8, u64),
    ForceRelease,
    Inspect,
    Plant(Vec<u8>),
    /// Cuts a table, or changes one of its bytes.
    Damage(usize, u8),
    Persist,
}

#[derive(Clone, Copy, Debug)]
enum Weight {
    Some(u64),
    All,
}

#[derive(Clone, Debug)]
struct Step {
    /// Microseconds to go forward, or back.
    shift: i64,
    /// Which tables, each once.
    tables: Vec<usize>,
    act: Act,
}

fn permits() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(1_u64), 4 => 2_u64..6, 3 => Just(ALL_PERMITS)]
}

fn act() -> impl Strategy<Value = Act> {
    let foreign = prop_oneof![
        Just(Vec::new()),
        Just(b"-37412".to_vec()),
        Just(b"QK\x01".to_vec()),
        Just(b"QK\x02aaaaaaaaaaaaaaaaaaaaaaaaa".to_vec()),
        prop::collection::vec(any::<u8>(), 0..120).prop_map(|tail| [b"QK\x01", tail.as_slice()].concat()),
        // A head that says nothing of the kind of what follows.
        (0_u8..3, 0_u8..3, prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(tombstones, waiters, tail)| {
            let head = [b"QK\x01\x05\0\0\0\0\0\0\0".as_slice(), &[tombstones * 24, 0, 0, 0, waiters, 0]].concat();
            [head, tail].concat()
        }),
    ];
    let ttl = || prop_oneof![1 => Just(1_000_u64), 6 => 1_000_u64..5_000_000, 2 => 5_000_000_u64..4_000_000_000];
    let floor = prop_oneof![9 => Just(0_u64), 1 => START..START + 9_000_000_000, 1 => Just(MAX_FLOOR)];
    let weight =
        prop_oneof![5 => Just(Weight::Some(1)), 3 => (1_u64..6).prop_map(Weight::Some), 2 => Just(Weight::All)];
    let queue = prop_oneof![1 => Just(Queue::No), 2 => Just(Queue::Hint), 2 => Just(Queue::Order)];
    let who = prop_oneof![Just(Vec::new()), prop::collection::vec(any::<u8>(), 0..20), Just(vec![b'x'; 256])];
    let acquire =
        (0..IDS, ttl(), floor, weight, queue, who, prop_oneof![3 => Just(None), 1 => (0..IDS).prop_map(Some)]);
    let cancel = prop_oneof![2 => Just(0_u64), 1 => 1_u64..20_000_000, 1 => 1_u64..3_700_000_000];
    prop_oneof![
        24 => acquire.prop_map(|(id, ttl, floor, weight, queue, who, instead_of)| {
            Act::Acquire { id, ttl, floor, weight, queue, who, instead_of }
        }),
        12 => (0..IDS, cancel).prop_map(|(id, cancel)| Act::Release(id, cancel)),
        5 => (0..IDS, ttl()).prop_map(|(id, ttl)| Act::Extend(id, ttl)),
        1 => Just(Act::ForceRelease),
        2 => Just(Act::Inspect),
        1 => foreign.prop_map(Act::Plant),
        1 => (0_usize..400, any::<u8>()).prop_map(|(at, byte)| Act::Damage(at, byte)),
        1 => Just(Act::Persist),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let shift = prop_oneof![
        4 => Just(0_i64),
        10 => 0_i64..1_000,
        10 => 0_i64..400_000,
        3 => 0_i64..3_000_000,
        1 => 0_i64..5_000_000_000,
        1 => -2_000_000_i64..0,
        1 => -3_600_000_000_i64..0,
    ];
    let tables = prop_oneof![
        6 => (0..TABLES).prop_map(|table| vec![table]),
        1 => prop::sample::subsequence((0..TABLES).collect::<Vec<_>>(), 2..=TABLES),
        1 => prop::sample::subsequence((0..TABLES).collect::<Vec<_>>(), 2..=TABLES).prop_shuffle(),
    ];
    (shift, tables, act()).prop_map(|(shift, tables, act)| Step { shift, tables, act })
}

fn id(n: u8) -> Id {
    // Bytes that also stand elsewhere in a table, and ids of which one ends as another begins.
    std::array::from_fn(|i| if i < 8 { n } else { n + 1 })
}

struct Side {
    client: Client,
    keys: Vec<Vec<u8>>,
    permits: u64,
}

impl Side {
    fn new(url: &str, prefix: &str, permits: u64) -> Side {
        let keys = (0..TABLES).map(|n| format!("{prefix}:lock:{{{n}}}").into_bytes()).collect();
        Side { client: client(url, prefix), keys, permits }
    }

    fn chosen(&self, tables: &[usize]) -> Arc<[Vec<u8>]> {
        tables.iter().map(|n| self.keys[*n].clone()).collect()
    }

    fn stored(&self, redis_key: &[u8]) -> Option<Vec<u8>> {
        testing::get(&self.client, redis_key).run().unwrap().map(|stored| stored.value)
    }

    fn state(&self, tables: &[usize]) -> Vec<Option<Vec<u8>>> {
        tables.iter().map(|n| self.stored(&self.keys[*n])).collect()
    }

    /// Whether every table of these has a TTL.
    fn have_ttl(&self, tables: &[usize]) -> bool {
        let ttl = |n: &usize| testing::get(&self.client, &self.keys[*n]).run().unwrap();
        tables.iter().filter_map(ttl).all(|stored| stored.ttl_ms.is_some())
    }

    fn perform(&self, step: &Step, now: u64) -> Done {
        testing::set_time(&self.client, Some(now)).unwrap();
        let (keys, shown): (_, Arc<str>) = (self.chosen(&step.tables), "lock \"it\"".into());
        let (permits, wake_prefix): (_, Arc<[u8]>) = (self.permits, b"wake:".as_slice().into());
        match &step.act {
            Act::Acquire { id: n, ttl, floor, weight, queue, who, instead_of } => {
                let call = Acquire {
                    keys,
                    id: id(*n),
                    ttl: *ttl,
                    floor: *floor,
                    permits,
                    weight: self.weight(*weight),
                    queue: *queue,
                    channel: if *queue == Queue::No { [0; 16] } else { *b"0123456789abcdef" },
                    wake_prefix,
                    who: who.as_slice().into(),
                    instead_of: instead_of.filter(|other| other != n).map(id),
                    shown,
                };
                Done::Grant(lease::acquire(&self.client, call).run().unwrap())
            }
            Act::Release(n, cancel) => {
                let call = Release { keys, id: id(*n), cancel: *cancel, permits, wake_prefix, shown };
                Done::Flag(lease::release(&self.client, call).run().unwrap())
            }
            Act::Extend(n, ttl) => {
                let call = Extend { keys, id: id(*n), ttl: *ttl, shown };
                Done::Flag(lease::extend(&self.client, call).run().unwrap())
            }
            Act::ForceRelease => {
                let call = ForceRelease { keys, permits, wake_prefix, shown };
                Done::Count(lease::force_release(&self.client, call).run().unwrap())
            }
            Act::Inspect => {
                Done::Text(format!("{:?}", lease::inspect(&self.client, Inspect { keys, shown }).run().unwrap()))
            }
            Act::Plant(value) => self.put(&keys[0], Kind::Text, value),
            Act::Damage(at, byte) => match self.stored(&keys[0]) {
                Some(mut value) => {
                    match value.get_mut(*at) {
                        Some(place) => *place = *byte,
                        None => value.truncate(value.len().saturating_sub(at % 60)),
                    }
                    self.put(&keys[0], Kind::Text, &value)
                }
                None => Done::Text(String::new()),
            },
            Act::Persist => self.put(&keys[0], Kind::Persist, b""),
        }
    }

    fn weight(&self, weight: Weight) -> u64 {
        match weight {
            Weight::Some(weight) => weight,
            Weight::All => self.permits,
        }
    }

    fn put(&self, key: &[u8], kind: Kind, value: &[u8]) -> Done {
        testing::put(&self.client, key, kind, value).run().unwrap();
        Done::Text(String::new())
    }
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
enum Done {
    Grant(Grant),
    Flag(bool),
    Count(u64),
    Text(String),
}

/// Plays random cases to a server and its twin, and returns how many steps that were.
fn steps_that_agree(name: &str, url: &str) -> usize {
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let steps = prop::collection::vec(step(), STEPS);
    let executed = Cell::new(0);
    let outcome = runner.run(&(permits(), steps), |(permits, steps)| {
        let prefix = fresh_prefix("lease");
        let sides = [Side::new("memory://", &prefix, permits), Side::new(url, &prefix, permits)];
        let mut now = START;
        for (i, step) in steps.iter().enumerate() {
            now = now.saturating_add_signed(step.shift);
            let [twin, script] = sides.each_ref().map(|side| side.perform(step, now));
            prop_assert_eq!(&twin, &script, "step {} on {}", i, name);
            let [twin, script] = sides.each_ref().map(|side| side.state(&step.tables));
            prop_assert_eq!(twin, script, "state after step {} on {}", i, name);
            executed.set(executed.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    executed.get()
}

#[test]
fn twin_and_script_agree() {
    std::thread::scope(|scope| {
        for (name, url) in servers() {
            scope.spawn(move || {
                let executed = steps_that_agree(&name, &url);
                assert!(executed >= AT_LEAST, "{name}: only {executed} steps");
                println!("{name}: {executed} steps");
            });
        }
    });
}
