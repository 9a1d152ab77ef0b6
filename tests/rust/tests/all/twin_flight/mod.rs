//! The Rust twins of caches and `once` against their Lua, in virtual time on real servers: the same answers and the same
//! stored bytes after every one of at least 50,000 steps per server, with clock steps, damaged values and lost TTLs.
//!
//! What a cache promises is checked as well, after every step, by a model of the test's own, which knows what was stored and
//! forgotten, who may load and until when, and nothing of headers.

mod act;
mod model;

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::Client;
use quotalock::testing::single_flight::{
    self, Claim, Claimed, Fail, Feature, Fill, Invalidate, Keys, LoadCounters, Look, LookProgress, Looked,
};
use quotalock::testing::{self, TestValueKind};
use quotalock_tests::twins::{Played, START, STEPS, agree, damage, put, stored};
use quotalock_tests::{client, fresh_prefix};

use act::{Act, ENTRIES, Step, id, step};
use model::{Load, Model, chosen, is_short, version_of};

/// How many are played to each server.
const CASES: u32 = 45;

/// A server forgets the list of those who wait after 2 s of real time; the twin, in virtual time, does not.
const LISTS_LAST: Duration = Duration::from_millis(1_700);

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

    /// The entries and the lists that a step may have touched; a list of another type is none.
    fn state(&self, entries: &[usize]) -> Vec<[Option<Vec<u8>>; 2]> {
        let list = |key: &[u8]| testing::get(&self.client, key).run().ok().flatten().map(|stored| stored.value);
        entries.iter().map(|n| [stored(&self.client, &self.keys[*n][0]), list(&self.keys[*n][1])]).collect()
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
                let call = Look {
                    entries,
                    id: id(*n),
                    ttl: *ttl,
                    channel,
                    luck,
                    load_when_away: false,
                    value_only: false,
                    shown,
                    feature: Feature::Cache,
                    progress: LookProgress::default(),
                };
                Done::Looked(single_flight::look(&self.client, call).run().unwrap())
            }
            Act::Fill { load, ttl, fresh, stale, value } => {
                let load = load.map(|load| chosen(loads, load));
                let value = value.map(|(byte, size)| vec![byte; size]);
                let (id, token) = load.map_or(([0; 16], None), |load| (id(load.id), Some(load.token)));
                let (ttl, fresh, stale) = (*ttl, *fresh, *stale);
                let call =
                    Fill { keys, id, token, ttl, fresh, stale, value, wake_prefix, shown, feature: Feature::Cache };
                Done::Flag(single_flight::fill(&self.client, call).run().unwrap())
            }
            Act::Fail { load, pause } => {
                let (id, error) = (id(chosen(loads, *load).id), "no such table".into());
                let call = Fail {
                    keys,
                    id,
                    pause: *pause,
                    error,
                    is_known: false,
                    wake_prefix,
                    shown,
                    feature: Feature::Cache,
                };
                Done::Flag(single_flight::fail(&self.client, call).run().unwrap())
            }
            Act::Invalidate(ttl) => {
                let call = Invalidate { keys, ttl: *ttl, wake_prefix, shown, feature: Feature::Cache };
                Done::Flag(single_flight::invalidate(&self.client, call).run().unwrap())
            }
            Act::Claim { id: n, ttl, value, again } => {
                let [key, _] = keys;
                let value = value.map(|byte| vec![byte; 3]);
                let call = Claim { key, id: id(*n), ttl: *ttl, value, shown, counters: LoadCounters::default() };
                if *again {
                    single_flight::claim(&self.client, call.clone()).run().unwrap();
                }
                Done::Claimed(single_flight::claim(&self.client, call).run().unwrap())
            }
            Act::Plant(value) => {
                put(&self.client, &keys[0], TestValueKind::Text, value);
                Done::Nothing
            }
            Act::PlantWaiters(kind, value) => {
                put(&self.client, &keys[1], *kind, value);
                Done::Nothing
            }
            Act::Damage(at, byte) => {
                damage(&self.client, &keys[0], *at, *byte);
                Done::Nothing
            }
            Act::Persist => {
                put(&self.client, &keys[0], TestValueKind::Persist, b"");
                Done::Nothing
            }
        }
    }
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq)]
enum Done {
    Looked(Vec<Looked>),
    Flag(bool),
    Claimed(Claimed),
    Nothing,
}

/// Counts the entries of either form, and those whose value stays while the form changes.
fn count_forms(played: &Played, before: &[[Option<Vec<u8>>; 2]], after: &[[Option<Vec<u8>>; 2]]) {
    for ([before, _], [after, _]) in before.iter().zip(after) {
        let Some(after) = after else { continue };
        played.count(if is_short(after) { "short" } else { "long" });
        let is_lengthened =
            |before: &Vec<u8>| is_short(before) && !is_short(after) && after[3] > 0 && before[36..] == after[116..];
        if before.as_ref().is_some_and(is_lengthened) {
            played.count("lengthened");
        }
    }
}

/// Plays one case to a server and its twin. Of entries that somebody damages nothing is promised but that the two agree.
fn play(played: &Played, damaged: bool, steps: &[Step]) -> TestCaseResult {
    let (name, prefix) = (&played.name, fresh_prefix("flight"));
    let sides = [Side::new("memory://", &prefix), Side::new(&played.url, &prefix)];
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
        let [twin, script] = sides.each_ref().map(|side| side.perform(step, model.loads(step.entry), now));
        prop_assert_eq!(&twin, &script, "step {} on {}", i, name);
        let [mut twin, mut after] = sides.each_ref().map(|side| side.state(&touched));
        if after.iter().any(|[_, list]| list.is_some()) {
            played.count("waiting");
        }
        if began.elapsed() > LISTS_LAST {
            twin.iter_mut().chain(&mut after).for_each(|[_, list]| *list = None);
        }
        prop_assert!(twin == after, "state after step {i} on {name}: {twin:?} and {after:?}");
        if damaged {
            model.note_loads(step, &script);
        } else {
            count_forms(played, &before, &after);
            model.check(step, now, &script, version_of(&after[0][0]), played)?;
        }
        model.check_stored(step, &touched, &before, &after, &sides[1], damaged)?;
        played.step();
    }
    Ok(())
}

#[test]
fn twin_and_script_agree() {
    // A third of the cases have entries that somebody damages, and in a third hardly anybody loads.
    let third = || prop::bool::weighted(1.0 / 3.0);
    let calm = |(is_calm, steps): (bool, Vec<Step>)| {
        if is_calm { steps.into_iter().map(Step::calm).collect() } else { steps }
    };
    let cases = || (third(), (third(), prop::collection::vec(step(), STEPS)).prop_map(calm));
    let expected = [
        "loads",
        "again",
        "refreshes",
        "early",
        "fresh",
        "stale",
        "busy",
        "errors",
        "stored",
        "late",
        "failed",
        "forgotten",
        "first",
        "first again",
        "second",
        "waiting",
        "short",
        "long",
        "lengthened",
    ];
    agree(CASES, cases, &expected, |played, (damaged, steps)| play(played, damaged, &steps));
}
