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

const CASES: u32 = 270;
const STEPS: usize = 200;
/// The fewest that are worth the name of a proof, on each server.
const AT_LEAST: usize = 50_000;
const START: u64 = 1_700_000_000_000_000;
const TABLES: usize = 3;
const IDS: u8 = 7;
/// Of leases, of tombstones and of the time between steps, so that some are met to the microsecond; the second is how
/// long a waiter is remembered.
const LENGTHS: [u64; 3] = [1_000, 1_500_000, 2_000_000];

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
    let ttl = || prop_oneof![2 => prop::sample::select(&LENGTHS[..]), 6 => 1_000_u64..5_000_000, 2 => 5_000_000_u64..4_000_000_000];
    let floor = prop_oneof![9 => Just(0_u64), 1 => START..START + 9_000_000_000, 1 => Just(MAX_FLOOR)];
    let weight =
        prop_oneof![5 => Just(Weight::Some(1)), 3 => (1_u64..6).prop_map(Weight::Some), 2 => Just(Weight::All)];
    let queue = prop_oneof![1 => Just(Queue::No), 2 => Just(Queue::Hint), 2 => Just(Queue::Order)];
    let who = prop_oneof![
        Just(Vec::new()),
        (0..IDS).prop_map(|n| [b"x", id(n).as_slice()].concat()),
        prop::collection::vec(any::<u8>(), 0..20),
        Just(vec![b'x'; 256])
    ];
    let acquire =
        (0..IDS, ttl(), floor, weight, queue, who, prop_oneof![3 => Just(None), 1 => (0..IDS).prop_map(Some)]);
    let cancel = prop_oneof![12 => Just(0_u64), 1 => prop::sample::select(&LENGTHS[..]), 4 => 1_u64..2_000_000, 1 => 1_u64..3_700_000_000];
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
        4 => prop::sample::select(&LENGTHS[..]).prop_map(|length| length as i64),
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

/// The values of some tables.
type State = Vec<Option<Vec<u8>>>;

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

    fn state(&self, tables: &[usize]) -> State {
        tables.iter().map(|n| self.stored(&self.keys[*n])).collect()
    }

    fn has_ttl(&self, table: usize) -> bool {
        let stored = testing::get(&self.client, &self.keys[table]).run().unwrap();
        stored.is_some_and(|stored| stored.ttl_ms.is_some())
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
                    // As another's id, which must not be taken for it.
                    channel: if *queue == Queue::No { [0; 16] } else { id((n + 1) % IDS) },
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

/// What the test knows of one table: what was promised to whom, by the answers alone.
#[derive(Default)]
struct Known {
    leases: BTreeMap<u8, Lease>,
    /// Until when an id is cancelled.
    cancelled: BTreeMap<u8, u64>,
    /// Ids that ever were: a tombstone may stand longer than it must.
    ever_cancelled: BTreeSet<u8>,
    token: u64,
    /// Whether it lost its TTL, and nothing was written since.
    persisted: bool,
}

/// What an id was granted and did not give back.
struct Lease {
    deadline: u64,
    ttl: u64,
    weight: u64,
    token: u64,
    /// Whether its time never passed at any step: it must hold. Else it may have been dropped.
    sure: bool,
}

impl Known {
    fn bring_to(&mut self, now: u64) {
        for lease in self.leases.values_mut() {
            lease.deadline = lease.deadline.min(now + lease.ttl);
            lease.sure &= lease.deadline > now;
        }
        self.cancelled.retain(|_, until| *until > now && *until <= now + 3_700_000_000);
    }

    fn held(&self) -> u64 {
        self.leases.values().filter(|lease| lease.sure).map(|lease| lease.weight).sum()
    }

    fn renew(&mut self, id: u8, now: u64, ttl: u64) {
        let lease = self.leases.get_mut(&id).expect("what never held was renewed");
        (lease.ttl, lease.sure) = (lease.ttl.max(ttl), true);
        lease.deadline = lease.deadline.max(now + ttl);
    }
}

/// How often things happened: a test in which they do not proves nothing.
#[derive(Default)]
struct Counted {
    granted: Cell<usize>,
    again: Cell<usize>,
    refused: Cell<usize>,
    cancelled: Cell<usize>,
    handed_over: Cell<usize>,
    freed: Cell<usize>,
    extended: Cell<usize>,
    healed: Cell<usize>,
    told: Cell<usize>,
}

fn count(counter: &Cell<usize>) {
    counter.set(counter.get() + 1);
}

struct Model {
    permits: u64,
    tables: [Known; TABLES],
}

impl Model {
    /// Whether an id holds in all of these tables, if that is certain.
    fn holds(&self, tables: &[usize], id: u8) -> Option<bool> {
        let mut leases = tables.iter().map(|n| self.tables[*n].leases.get(&id));
        if leases.clone().any(|lease| lease.is_none()) {
            return Some(false);
        }
        leases.all(|lease| lease.is_some_and(|lease| lease.sure)).then_some(true)
    }

    fn leave(&mut self, tables: &[usize], id: u8) {
        for n in tables {
            self.tables[*n].leases.remove(&id);
        }
    }

    /// Every table has a TTL once it was written, whatever took it away before.
    fn check_ttl(&mut self, step: &Step, before: &State, after: &State, side: &Side) -> Result<(), TestCaseError> {
        let raw = matches!(step.act, Act::Plant(_) | Act::Damage(..) | Act::Persist);
        for ((n, before), after) in step.tables.iter().zip(before).zip(after) {
            if raw {
                self.tables[*n].persisted |= *n == step.tables[0];
            } else if before != after {
                self.tables[*n].persisted = false;
            }
            let lost = after.is_some() && !self.tables[*n].persisted && !side.has_ttl(*n);
            prop_assert!(!lost, "table {} has no TTL", n);
        }
        Ok(())
    }

    /// Checks what was answered against what was promised, and learns from it.
    fn check(&mut self, step: &Step, now: u64, done: &Done, counted: &Counted) -> Result<(), TestCaseError> {
        self.tables.iter_mut().for_each(|table| table.bring_to(now));
        let tables = &step.tables;
        match (&step.act, done) {
            (Act::Acquire { id, ttl, floor, weight, instead_of, .. }, Done::Grant(grant)) => {
                prop_assert!(!grant.healed, "what nobody damaged was healed");
                let instead_of = instead_of.filter(|other| other != id);
                let left = instead_of.map_or(Some(false), |other| self.holds(tables, other));
                instead_of.iter().for_each(|other| self.leave(tables, *other));
                let held = self.holds(tables, *id);
                let (Outcome::Granted { released, .. }
                | Outcome::Cancelled { released }
                | Outcome::Refused { released, .. }) = &grant.outcome;
                prop_assert!(left.is_none_or(|left| left == *released), "a holder left unnoticed");
                if *released {
                    count(&counted.handed_over);
                }
                match &grant.outcome {
                    Outcome::Granted { token, .. } => {
                        count(&counted.granted);
                        self.granted(step, (*id, *ttl, *floor, *weight), *token, held, now, counted)?;
                    }
                    Outcome::Cancelled { .. } => {
                        count(&counted.cancelled);
                        prop_assert!(
                            tables.iter().any(|n| self.tables[*n].ever_cancelled.contains(id)),
                            "what nobody cancelled"
                        );
                    }
                    Outcome::Refused { .. } => {
                        count(&counted.refused);
                        prop_assert_ne!(held, Some(true), "what holds was refused");
                    }
                }
            }
            (Act::Release(id, cancel), Done::Flag(freed)) => {
                prop_assert!(self.holds(tables, *id).is_none_or(|held| held == *freed), "release said {}", freed);
                self.leave(tables, *id);
                if *freed {
                    count(&counted.freed);
                }
                if *cancel > 0 {
                    for n in tables {
                        self.tables[*n].cancelled.insert(*id, now + cancel);
                        self.tables[*n].ever_cancelled.insert(*id);
                    }
                }
            }
            (Act::Extend(id, ttl), Done::Flag(extended)) => {
                prop_assert!(self.holds(tables, *id).is_none_or(|held| held == *extended), "extend said {}", extended);
                if *extended {
                    count(&counted.extended);
                    tables.iter().for_each(|n| self.tables[*n].renew(*id, now, *ttl));
                }
            }
            (Act::ForceRelease, Done::Count(ended)) => {
                let sure = |n: &usize| self.tables[*n].leases.values().filter(|lease| lease.sure).count() as u64;
                let all = |n: &usize| self.tables[*n].leases.len() as u64;
                prop_assert!(*ended >= tables.iter().map(sure).sum() && *ended <= tables.iter().map(all).sum());
                for n in tables {
                    let leases = &mut self.tables[*n].leases;
                    // Where nobody holds nothing is written, so what is over may come back with the clock.
                    if leases.values().any(|lease| lease.sure) {
                        leases.clear();
                    }
                }
            }
            _ => {}
        }
        for table in &self.tables {
            prop_assert!(table.held() <= self.permits, "{} of {} permits are held", table.held(), self.permits);
        }
        Ok(())
    }

    fn granted(
        &mut self,
        step: &Step,
        (id, ttl, floor, weight): (u8, u64, u64, Weight),
        token: u64,
        held: Option<bool>,
        now: u64,
        counted: &Counted,
    ) -> Result<(), TestCaseError> {
        let weight = match weight {
            Weight::Some(weight) => weight,
            Weight::All => self.permits,
        };
        let recorded = |n: &usize| self.tables[*n].leases.get(&id).map(|lease| lease.token);
        let recorded: Option<Vec<u64>> = step.tables.iter().map(recorded).collect();
        let same = recorded.as_ref().is_some_and(|tokens| tokens.iter().max() == Some(&token));
        if same {
            count(&counted.again);
        } else {
            let above = |tokens: &Vec<u64>| tokens.iter().max().is_some_and(|token| *token > floor);
            prop_assert!(held != Some(true) || !recorded.as_ref().is_some_and(above), "a new token for what holds");
            prop_assert!(token > floor && token >= now, "token {} at {} with floor {}", token, now, floor);
        }
        for n in &step.tables {
            let table = &mut self.tables[*n];
            prop_assert!(!table.cancelled.contains_key(&id), "a cancelled id was granted");
            prop_assert!(same || token > table.token, "token {} after {}", token, table.token);
            table.token = table.token.max(token);
            let fresh = Lease { deadline: 0, ttl: 0, weight, token, sure: true };
            let lease = table.leases.entry(id).or_insert(fresh);
            // What may have been dropped since has either weight, if its token is another.
            if !same && !lease.sure {
                (lease.weight, lease.deadline, lease.ttl) = (lease.weight.min(weight), 0, 0);
            }
            lease.token = token;
            table.renew(id, now, ttl);
        }
        Ok(())
    }
}

/// How many waiters of a table were told.
fn told(value: &Option<Vec<u8>>) -> usize {
    let Some(value) = value else { return 0 };
    let number = |at: usize| usize::from(u16::from_le_bytes([value[at], value[at + 1]]));
    let (tombstones, waiters) = (number(11), number(15));
    (0..waiters).filter(|n| value[17 + tombstones + 53 * n + 36] >= 128).count()
}

/// Plays random cases to a server and its twin, and returns how many steps that were.
fn steps_that_agree(name: &str, url: &str) -> usize {
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let steps = prop::collection::vec(step(), STEPS);
    let (executed, counted) = (Cell::new(0), Counted::default());
    // Half of the cases have tables that somebody damages; of those nothing is promised but that twin and script agree.
    let outcome = runner.run(&(permits(), any::<bool>(), steps), |(permits, damaged, steps)| {
        let prefix = fresh_prefix("lease");
        let sides = [Side::new("memory://", &prefix, permits), Side::new(url, &prefix, permits)];
        let mut model = Model { permits, tables: Default::default() };
        let mut now = START;
        for (i, step) in steps.iter().enumerate() {
            if !damaged && matches!(step.act, Act::Plant(_) | Act::Damage(..)) {
                continue;
            }
            now = now.saturating_add_signed(step.shift);
            let before = sides[1].state(&step.tables);
            let [twin, script] = sides.each_ref().map(|side| side.perform(step, now));
            prop_assert_eq!(&twin, &script, "step {} on {}", i, name);
            let [twin, after] = sides.each_ref().map(|side| side.state(&step.tables));
            prop_assert!(twin == after, "state after step {i} on {name}: {twin:?} and {after:?}");
            model.check_ttl(step, &before, &after, &sides[1])?;
            match &script {
                Done::Grant(grant) if grant.healed => count(&counted.healed),
                _ => {}
            }
            if !damaged {
                if after.iter().zip(&before).any(|(after, before)| told(after) > told(before)) {
                    count(&counted.told);
                }
                model.check(step, now, &script, &counted)?;
            }
            executed.set(executed.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    let Counted { granted, again, refused, cancelled, handed_over, freed, extended, healed, told } = counted;
    let counts = [granted, again, refused, cancelled, handed_over, freed, extended, healed, told].map(Cell::into_inner);
    println!("{name}: granted, again, refused, cancelled, handed over, freed, extended, healed, told: {counts:?}");
    assert!(counts.iter().all(|times| *times >= 100), "{name}: {counts:?}");
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
