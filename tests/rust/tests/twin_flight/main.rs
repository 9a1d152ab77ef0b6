//! The Rust twins of caches and `once` against their Lua, in virtual time on real servers: the same answers and the same
//! stored bytes after every one of at least 50,000 steps per server, with clock steps, damaged values and lost TTLs.
//!
//! What a cache promises is checked as well, after every step, by a model of the test's own, which knows what was stored and
//! forgotten, who may load and until when, and nothing of headers.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quotalock::Client;
use quotalock::testing::flight::{
    self, Claim, Claimed, Fail, Fill, Invalidate, Keys, Look, Looked, MAX_FRESH, MAX_LEASE, MAX_LUCK, Seen,
};
use quotalock::testing::{self, Kind};
use quotalock_tests::{client, fresh_prefix, servers};

const CASES: u32 = 270;
const STEPS: usize = 200;
/// The fewest that are worth the name of a proof, on each server.
const AT_LEAST: usize = 50_000;
const START: u64 = 1_700_000_000_000_000;
const ENTRIES: usize = 3;
const IDS: u8 = 6;
/// Of leases, values and the time between steps, so that some ends are met to the microsecond.
const LENGTHS: [u64; 3] = [10_000, 500_000, 2_000_000];
/// A server forgets the list of those who wait after 2 s of real time; the twin, in virtual time, does not.
const LISTS_LAST: Duration = Duration::from_millis(1_700);

#[derive(Clone, Debug)]
enum Act {
    Look {
        entries: Vec<usize>,
        id: u8,
        ttl: u64,
        channel: Option<u8>,
        luck: Vec<u64>,
    },
    /// With the token of which of the last loads; none is a put.
    Fill {
        load: Option<usize>,
        ttl: u64,
        fresh: u64,
        stale: u64,
        value: Option<(u8, usize)>,
    },
    Fail {
        load: usize,
        pause: u64,
    },
    Invalidate(u64),
    Claim {
        id: u8,
        ttl: u64,
        value: Option<u8>,
    },
    Plant(Vec<u8>),
    /// A list of those who wait that is none of ours.
    PlantWaiters(Kind, Vec<u8>),
    /// Cuts a value, or changes one of its bytes.
    Damage(usize, u8),
    Persist,
}

#[derive(Clone, Debug)]
struct Step {
    /// Microseconds to go forward, or back.
    shift: i64,
    entry: usize,
    act: Act,
}

fn act() -> impl Strategy<Value = Act> {
    let foreign = prop_oneof![
        Just(Vec::new()),
        Just(b"-37412".to_vec()),
        Just(b"QC\x01".to_vec()),
        (0_usize..3, 0_usize..3).prop_map(|(less, more)| [b"QC\x01".as_slice(), &vec![0; 113 - less + more]].concat()),
        prop::collection::vec(any::<u8>(), 100..150).prop_map(|tail| [b"QC\x01\x01", tail.as_slice()].concat()),
        Just(vec![b'x'; 5_000]),
    ];
    let length = || prop_oneof![2 => prop::sample::select(&LENGTHS[..]), 6 => 1_000_u64..3_000_000, 1 => 1_000_u64..4_000_000_000];
    let lease =
        || prop_oneof![4 => prop::sample::select(&LENGTHS[..]), 4 => 10_000_u64..5_000_000, 1 => Just(MAX_LEASE)];
    let fresh = prop_oneof![9 => length(), 1 => Just(MAX_FRESH)];
    let stale = prop_oneof![3 => Just(0), 6 => length(), 1 => Just(MAX_FRESH)];
    // Some are longer than what is read at once.
    let size = prop_oneof![20 => 0_usize..30, 1 => 3_970_usize..3_990, 1 => 4_000_usize..9_000];
    let value = prop_oneof![1 => Just(None), 5 => (any::<u8>(), size).prop_map(Some)];
    let entries = prop_oneof![
        4 => (0..ENTRIES).prop_map(|entry| vec![entry]),
        1 => prop::sample::subsequence((0..ENTRIES).collect::<Vec<_>>(), 2..=ENTRIES),
    ];
    let luck = prop_oneof![3 => Just(0), 3 => 0_u64..5_000, 1 => Just(MAX_LUCK)];
    let luck = prop::collection::vec(luck, ENTRIES);
    let look = (entries, 0..IDS, prop_oneof![1 => Just(0), 6 => lease()], prop::option::of(0..IDS), luck);
    let load = prop_oneof![6 => (0_usize..2).prop_map(Some), 2 => (0_usize..6).prop_map(Some), 1 => Just(None)];
    let list = prop::sample::select(vec![0_usize, 5, 16, 33, 16_384, 16_400]);
    prop_oneof![
        24 => look.prop_map(|(entries, id, ttl, channel, luck)| Act::Look { entries, id, ttl, channel, luck }),
        12 => (load, lease(), fresh, stale, value).prop_map(|(load, ttl, fresh, stale, value)| {
            Act::Fill { load, ttl, fresh, stale, value }
        }),
        5 => (0_usize..3, prop_oneof![1 => Just(0), 2 => length()]).prop_map(|(load, pause)| Act::Fail { load, pause }),
        3 => lease().prop_map(Act::Invalidate),
        4 => (0..IDS, length(), prop::option::of(any::<u8>())).prop_map(|(id, ttl, value)| Act::Claim { id, ttl, value }),
        1 => foreign.prop_map(Act::Plant),
        1 => (any::<bool>(), list).prop_map(|(text, size)| {
            Act::PlantWaiters(if text { Kind::Text } else { Kind::List }, vec![b'7'; size])
        }),
        1 => (0_usize..200, any::<u8>()).prop_map(|(at, byte)| Act::Damage(at, byte)),
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
        1 => 0_i64..40_000_000_000,
        1 => -2_000_000_i64..0,
        1 => -3_600_000_000_i64..0,
    ];
    (shift, 0..ENTRIES, act()).prop_map(|(shift, entry, act)| Step { shift, entry, act })
}

fn id(n: u8) -> [u8; 16] {
    [n + 1; 16]
}

/// The version that an undamaged value tells; 0 of none.
fn version_of(value: &Option<Vec<u8>>) -> u64 {
    value.as_ref().map_or(0, |value| u64::from_le_bytes(value[20..28].try_into().unwrap()))
}

/// One who was told to load.
#[derive(Clone, Copy, Debug)]
struct Load {
    id: u8,
    token: u64,
}

struct Side {
    client: Client,
    keys: Vec<Keys>,
}

impl Side {
    fn new(url: &str, prefix: &str) -> Side {
        let key = |n: usize| format!("{prefix}:cache:it:{{{n}}}").into_bytes();
        let keys = (0..ENTRIES).map(|n| [key(n), [key(n).as_slice(), b":wait"].concat()]).collect();
        Side { client: client(url, prefix), keys }
    }

    fn stored(&self, redis_key: &[u8]) -> Option<Vec<u8>> {
        testing::get(&self.client, redis_key).run().unwrap().map(|stored| stored.value)
    }

    /// The entries and the lists that a step may have touched; a list of another type is none.
    fn state(&self, entries: &[usize]) -> Vec<[Option<Vec<u8>>; 2]> {
        let list = |key: &[u8]| testing::get(&self.client, key).run().ok().flatten().map(|stored| stored.value);
        entries.iter().map(|n| [self.stored(&self.keys[*n][0]), list(&self.keys[*n][1])]).collect()
    }

    fn perform(&self, step: &Step, loads: &[Load], now: u64) -> Done {
        testing::set_time(&self.client, Some(now)).unwrap();
        let (shown, wake_prefix): (Arc<str>, Arc<[u8]>) = ("it".into(), b"wake:".as_slice().into());
        let keys = self.keys[step.entry].clone();
        match &step.act {
            Act::Look { entries, id: n, ttl, channel, luck } => {
                let luck = luck[..entries.len()].to_vec();
                let entries = entries.iter().map(|entry| self.keys[*entry].clone()).collect();
                let channel = channel.map(id);
                let call = Look { entries, id: id(*n), ttl: *ttl, channel, luck, load_when_away: false, shown };
                Done::Looked(flight::look(&self.client, call).run().unwrap())
            }
            Act::Fill { load, ttl, fresh, stale, value } => {
                let load = load.map(|load| chosen(loads, load));
                let value = value.map(|(byte, size)| vec![byte; size]);
                let (id, token) = load.map_or(([0; 16], None), |load| (id(load.id), Some(load.token)));
                let (ttl, fresh, stale) = (*ttl, *fresh, *stale);
                let call = Fill { keys, id, token, ttl, fresh, stale, value, wake_prefix, shown };
                Done::Flag(flight::fill(&self.client, call).run().unwrap())
            }
            Act::Fail { load, pause } => {
                let (id, error) = (id(chosen(loads, *load).id), "no such table".into());
                let call = Fail { keys, id, pause: *pause, error, is_known: false, wake_prefix, shown };
                Done::Flag(flight::fail(&self.client, call).run().unwrap())
            }
            Act::Invalidate(ttl) => {
                let call = Invalidate { keys, ttl: *ttl, wake_prefix, shown };
                Done::Flag(flight::invalidate(&self.client, call).run().unwrap())
            }
            Act::Claim { id: n, ttl, value } => {
                let [key, _] = keys;
                let value = value.map(|byte| vec![byte; 3]);
                let call = Claim { key, id: id(*n), ttl: *ttl, value, shown };
                Done::Claimed(flight::claim(&self.client, call).run().unwrap())
            }
            Act::Plant(value) => self.put(&keys[0], Kind::Text, value),
            Act::PlantWaiters(kind, value) => self.put(&keys[1], *kind, value),
            Act::Damage(at, byte) => match self.stored(&keys[0]) {
                Some(mut value) => {
                    match value.get_mut(*at) {
                        Some(place) => *place = *byte,
                        None => value.truncate(value.len().saturating_sub(at % 60)),
                    }
                    self.put(&keys[0], Kind::Text, &value)
                }
                None => Done::Nothing,
            },
            Act::Persist => self.put(&keys[0], Kind::Persist, b""),
        }
    }

    fn put(&self, key: &[u8], kind: Kind, value: &[u8]) -> Done {
        testing::put(&self.client, key, kind, value).run().unwrap();
        Done::Nothing
    }
}

/// One of the last loads; one that never was, if there were none.
fn chosen(loads: &[Load], which: usize) -> Load {
    loads.len().checked_sub(which + 1).map_or(Load { id: 0, token: 12_345 }, |at| loads[at])
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
enum Done {
    Looked(Vec<Looked>),
    Flag(bool),
    Claimed(Claimed),
    Nothing,
}

/// What the test knows of one entry: what was promised, by the answers alone.
#[derive(Default)]
struct Known {
    /// What was stored last and not forgotten, when, and for how long it is fresh and then stale.
    value: Option<(Option<Vec<u8>>, u64, u64, u64)>,
    /// The token of what was stored or forgotten last.
    version: u64,
    /// Whoever may load, if that is certain.
    lease: Option<Lease>,
    /// The last token.
    last: u64,
    /// The loads of this entry, the last last.
    loads: Vec<Load>,
    /// Whether it lost its TTL, and nothing was written since.
    persisted: bool,
    /// The version that stands in Redis.
    written: u64,
}

struct Lease {
    id: u8,
    token: u64,
    deadline: u64,
    ttl: u64,
}

impl Known {
    fn bring_to(&mut self, now: u64) {
        if let Some(lease) = &mut self.lease {
            lease.deadline = lease.deadline.min(now + lease.ttl);
        }
        self.lease.take_if(|lease| lease.deadline <= now);
    }

    /// A value that was seen is the last that was stored, and not over.
    fn check_seen(&self, seen: &Seen, now: u64) -> Result<(), TestCaseError> {
        let Some((value, made, fresh, stale)) = &self.value else {
            return Err(TestCaseError::fail(format!("{seen:?}, where nothing was stored or all was forgotten")));
        };
        prop_assert!(seen.value.as_deref() == value.as_ref(), "{:?} in place of {:?}", seen, value);
        prop_assert!(now < made + fresh + stale, "a value that is over");
        prop_assert!(seen.stale || now < made + fresh, "a stale value is called fresh");
        prop_assert!(seen.age <= now.saturating_sub(*made) || now < *made || seen.stale || seen.age <= now);
        Ok(())
    }

    fn store(&mut self, token: u64, value: Option<Vec<u8>>, now: u64, (fresh, stale): (u64, u64)) {
        self.version = token;
        self.last = self.last.max(token);
        self.value = Some((value, now, fresh, stale));
    }
}

/// How often things happened: a test in which they do not proves nothing.
#[derive(Default)]
struct Counted {
    loads: Cell<usize>,
    again: Cell<usize>,
    refreshes: Cell<usize>,
    early: Cell<usize>,
    fresh: Cell<usize>,
    stale: Cell<usize>,
    busy: Cell<usize>,
    errors: Cell<usize>,
    stored: Cell<usize>,
    late: Cell<usize>,
    failed: Cell<usize>,
    forgotten: Cell<usize>,
    first: Cell<usize>,
    second: Cell<usize>,
    waiting: Cell<usize>,
}

fn count(counter: &Cell<usize>) {
    counter.set(counter.get() + 1);
}

#[derive(Default)]
struct Model {
    entries: [Known; ENTRIES],
}

impl Model {
    /// Checks what was answered, and the version that stands in Redis now, against what was promised, and learns from it.
    fn check(
        &mut self,
        step: &Step,
        now: u64,
        done: &Done,
        version: u64,
        counted: &Counted,
    ) -> Result<(), TestCaseError> {
        self.entries.iter_mut().for_each(|entry| entry.bring_to(now));
        if let (Act::Look { entries, id, ttl, .. }, Done::Looked(looked)) = (&step.act, done) {
            prop_assert_eq!(entries.len(), looked.len());
            for (n, looked) in entries.iter().zip(looked) {
                self.looked(*n, *id, *ttl, looked, now, counted)?;
            }
            return Ok(());
        }
        let known = &mut self.entries[step.entry];
        match (&step.act, done) {
            (Act::Fill { load, ttl, fresh, stale, value }, Done::Flag(stored)) => {
                let token = load.map(|load| chosen(&known.loads, load).token);
                let lived = token.is_none_or(|token| now <= token + 10 * ttl);
                let newer = token.is_none_or(|token| token > known.version);
                prop_assert_eq!(*stored, newer && lived || token == Some(known.version), "token {:?}", token);
                let id = load.map(|load| chosen(&known.loads, load).id);
                known.lease.take_if(|lease| id.is_none_or(|id| id == lease.id));
                if newer && lived {
                    count(&counted.stored);
                    // What is put has a token that only the server knows, larger than all before.
                    let token = token.unwrap_or_else(|| now.max(known.last + 1));
                    known.store(token, value.map(|(byte, size)| vec![byte; size]), now, (*fresh, *stale));
                } else if !*stored {
                    count(&counted.late);
                }
            }
            (Act::Fail { load, .. }, Done::Flag(ended)) => {
                let id = chosen(&known.loads, *load).id;
                let is_certain = known.lease.as_ref().is_some_and(|lease| lease.id == id);
                prop_assert!(*ended || !is_certain, "a lease was not ended");
                if *ended {
                    count(&counted.failed);
                    known.lease = None;
                }
            }
            (Act::Invalidate(_), Done::Flag(_)) => {
                count(&counted.forgotten);
                let token = now.max(known.last + 1);
                (known.value, known.lease, known.version, known.last) = (None, None, token, token);
            }
            (Act::Claim { ttl, value, .. }, Done::Claimed(claimed)) => {
                let value = value.map(|byte| vec![byte; 3]);
                // Whether it is a claim of its own, or what was claimed or loaded before, only the version tells.
                if version != known.written {
                    let token = now.max(known.last + 1);
                    prop_assert!(known.lease.is_none(), "a claim beside one who runs");
                    prop_assert!(claimed.first && claimed.left == *ttl && claimed.age == 0);
                    prop_assert!(claimed.value.as_deref() == value.as_ref() && version == token);
                    count(&counted.first);
                    known.store(token, value, now, (*ttl, 0));
                } else if claimed.running {
                    prop_assert!(!claimed.first && claimed.value.is_none());
                    count(&counted.second);
                } else {
                    let Some((stored, made, fresh, stale)) = &known.value else {
                        return Err(TestCaseError::fail("claimed by nobody"));
                    };
                    prop_assert!(claimed.value.as_deref() == stored.as_ref() && now < made + fresh + stale);
                    count(&counted.second);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn looked(
        &mut self,
        n: usize,
        id: u8,
        ttl: u64,
        looked: &Looked,
        now: u64,
        counted: &Counted,
    ) -> Result<(), TestCaseError> {
        let known = &mut self.entries[n];
        match looked {
            Looked::Load { token, left, at_hand } => {
                if let Some(seen) = at_hand {
                    known.check_seen(seen, now)?;
                    count(if seen.stale { &counted.refreshes } else { &counted.early });
                }
                match &known.lease {
                    Some(lease) => {
                        prop_assert_eq!(lease.id, id, "two may load");
                        prop_assert_eq!(*token, lease.token);
                        count(&counted.again);
                    }
                    None if known.loads.iter().any(|load| load.id == id && load.token == *token) => {
                        // A clock that went back made a lease live again.
                        known.lease = Some(Lease { id, token: *token, deadline: now + left, ttl: *left });
                    }
                    None => {
                        prop_assert!(*token > known.last && *token >= now && *left == ttl, "token {}", token);
                        count(&counted.loads);
                        known.last = *token;
                        known.loads.push(Load { id, token: *token });
                        known.lease = Some(Lease { id, token: *token, deadline: now + ttl, ttl });
                    }
                }
            }
            Looked::Seen(seen) => {
                known.check_seen(seen, now)?;
                count(if seen.stale { &counted.stale } else { &counted.fresh });
            }
            Looked::Failed { error, left } => {
                prop_assert!(error == "no such table" && *left > 0);
                count(&counted.errors);
            }
            Looked::Busy { left } => {
                prop_assert!(*left > 0 && ttl > 0);
                prop_assert!(known.lease.as_ref().is_none_or(|lease| lease.id != id), "one who loads is to wait");
                count(&counted.busy);
            }
            Looked::Nothing => prop_assert_eq!(ttl, 0),
        }
        Ok(())
    }

    /// Every key has a TTL once it was written, and the version in it only grows.
    fn check_stored(
        &mut self,
        step: &Step,
        touched: &[usize],
        before: &[[Option<Vec<u8>>; 2]],
        after: &[[Option<Vec<u8>>; 2]],
        side: &Side,
        damaged: bool,
    ) -> Result<(), TestCaseError> {
        let raw = matches!(step.act, Act::Plant(_) | Act::Damage(..) | Act::Persist);
        for ((n, before), after) in touched.iter().zip(before).zip(after) {
            let known = &mut self.entries[*n];
            if raw {
                known.persisted = true;
            } else if before[0] != after[0] {
                known.persisted = false;
            }
            let stored = testing::get(&side.client, &side.keys[*n][0]).run().unwrap();
            let lost = stored.is_some_and(|stored| stored.ttl_ms.is_none()) && !known.persisted;
            prop_assert!(!lost, "entry {} has no TTL", n);
            if !damaged && let Some(value) = &after[0] {
                let version = version_of(&Some(value.clone()));
                prop_assert!(version >= known.written, "version {} after {}", version, known.written);
                prop_assert_eq!(version, known.version, "of what was stored or forgotten last");
                known.written = version;
            }
        }
        Ok(())
    }
}

/// Plays random cases to a server and its twin, and returns how many steps that were.
fn steps_that_agree(name: &str, url: &str) -> usize {
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let steps = prop::collection::vec(step(), STEPS);
    let (executed, counted) = (Cell::new(0), Counted::default());
    // A third of the cases have entries that somebody damages; of those nothing is promised but that twin and script agree.
    let outcome = runner.run(&(0..3, steps), |(kind, steps)| {
        let damaged = kind == 0;
        let prefix = fresh_prefix("flight");
        let sides = [Side::new("memory://", &prefix), Side::new(url, &prefix)];
        let (mut model, mut now, began) = (Model::default(), START, Instant::now());
        for (i, step) in steps.iter().enumerate() {
            if !damaged && matches!(step.act, Act::Plant(_) | Act::Damage(..)) {
                continue;
            }
            now = now.saturating_add_signed(step.shift);
            let touched = match &step.act {
                Act::Look { entries, .. } => entries.clone(),
                _ => vec![step.entry],
            };
            let before = sides[1].state(&touched);
            let loads = model.entries[step.entry].loads.clone();
            let [twin, script] = sides.each_ref().map(|side| side.perform(step, &loads, now));
            prop_assert_eq!(&twin, &script, "step {} on {}", i, name);
            let [mut twin, mut after] = sides.each_ref().map(|side| side.state(&touched));
            if after.iter().any(|[_, list]| list.is_some()) {
                count(&counted.waiting);
            }
            if began.elapsed() > LISTS_LAST {
                twin.iter_mut().chain(&mut after).for_each(|[_, list]| *list = None);
            }
            prop_assert!(twin == after, "state after step {i} on {name}: {twin:?} and {after:?}");
            if !damaged {
                model.check(step, now, &script, version_of(&after[0][0]), &counted)?;
            } else if let (Act::Look { entries, id, .. }, Done::Looked(looked)) = (&step.act, &script) {
                for (n, looked) in entries.iter().zip(looked) {
                    if let Looked::Load { token, .. } = looked {
                        model.entries[*n].loads.push(Load { id: *id, token: *token });
                    }
                }
            }
            model.check_stored(step, &touched, &before, &after, &sides[1], damaged)?;
            executed.set(executed.get() + 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    let c = counted;
    let seen = [c.loads, c.again, c.refreshes, c.early, c.fresh, c.stale, c.busy, c.errors].map(Cell::into_inner);
    let done = [c.stored, c.late, c.failed, c.forgotten, c.first, c.second, c.waiting].map(Cell::into_inner);
    println!("{name}: loads, again, refreshes, early, fresh, stale, busy, errors: {seen:?}");
    println!("{name}: stored, late, failed, forgotten, first, second, waiting: {done:?}");
    assert!(seen.iter().chain(&done).all(|times| *times >= 100), "{name}: {seen:?} {done:?}");
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
