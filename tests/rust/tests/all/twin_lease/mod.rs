//! The Rust twins of locks against their Lua, in virtual time on real servers: the same answers and the same stored
//! bytes after every one of at least 50,000 steps per server, with clock steps, damaged values and lost TTLs.
//!
//! What a lock promises is checked as well, after every step, by a model of the test's own: it knows who was granted and
//! until when, and nothing of tables.

mod act;
mod model;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::Client;
use quotalock::testing::lease::{Acquire, Adopt, ExtendLease, ForceRelease, Grant, Inspect, QueueMode, Release};
use quotalock::testing::{self, TestValueKind, lease};
use quotalock_tests::twins::{Played, START, STEPS, agree, damage, is_for_ever, put, stored};
use quotalock_tests::{client, fresh_prefix};

use act::{Act, IDS, Step, TABLES, id, permits, step};
use model::Model;

/// How many are played to each server.
const CASES: u32 = 57;

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

    fn state(&self, tables: &[usize]) -> State {
        tables.iter().map(|n| stored(&self.client, &self.keys[*n])).collect()
    }

    fn is_for_ever(&self, table: usize) -> bool {
        is_for_ever(&self.client, &self.keys[table])
    }

    fn perform(&self, step: &Step, now: u64) -> Done {
        testing::set_time(&self.client, Some(now)).unwrap();
        let (keys, shown): (_, Arc<str>) = (self.chosen(&step.tables), "lock \"it\"".into());
        let (permits, wake_prefix): (_, Arc<[u8]>) = (self.permits, b"wake:".as_slice().into());
        match &step.act {
            Act::Acquire { id: n, ttl, floor, weight, queue, who, instead_of, waited, token } => {
                let call = Acquire {
                    keys,
                    id: id(*n),
                    ttl: *ttl,
                    floor: *floor,
                    permits,
                    weight: weight.of(self.permits),
                    queue: *queue,
                    // As another's id, which must not be taken for it.
                    channel: if *queue == QueueMode::No { [0; 16] } else { id((n + 1) % IDS) },
                    wake_prefix,
                    who: who.as_slice().into(),
                    instead_of: instead_of.filter(|other| other != n).map(id),
                    waited: *waited,
                    token: *token,
                    shown,
                };
                Done::Grant(lease::acquire(&self.client, call).run().unwrap())
            }
            Act::Release(n, cancel) => {
                let call = Release { keys, id: id(*n), cancel: *cancel, permits, wake_prefix, shown };
                Done::Flag(lease::release(&self.client, call).run().unwrap())
            }
            Act::Extend(n, ttl) => {
                let call = ExtendLease { keys, id: id(*n), ttl: *ttl, shown };
                Done::Flag(lease::extend(&self.client, call).run().unwrap())
            }
            Act::Adopt(n, heir, ttl, exact, who) => {
                let (id, heir, who) = (id(*n), id(*heir), who.as_slice().into());
                let call = Adopt { keys, id, heir, ttl: *ttl, exact: *exact, who, shown };
                Done::Token(lease::adopt(&self.client, call).run().unwrap())
            }
            Act::ForceRelease => {
                let call = ForceRelease { keys, permits, wake_prefix, shown };
                Done::Count(lease::force_release(&self.client, call).run().unwrap())
            }
            Act::Inspect => {
                Done::Text(format!("{:?}", lease::inspect(&self.client, Inspect { keys, shown }).run().unwrap()))
            }
            Act::Plant(value) => {
                put(&self.client, &keys[0], TestValueKind::Text, value);
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
    Grant(Grant),
    Flag(bool),
    Count(u64),
    Token(Option<u64>),
    Text(String),
    Nothing,
}

/// How many waiters of a table were told.
fn told(value: &Option<Vec<u8>>) -> usize {
    let Some(value) = value else { return 0 };
    let number = |at: usize| usize::from(u16::from_le_bytes([value[at], value[at + 1]]));
    let (tombstones, waiters) = (number(11), number(15));
    (0..waiters).filter(|n| value[17 + tombstones + 53 * n + 36] >= 128).count()
}

/// Plays one case to a server and its twin. Of tables that somebody damages nothing is promised but that the two agree.
fn play(played: &Played, permits: u64, damaged: bool, steps: &[Step]) -> TestCaseResult {
    let (name, prefix) = (&played.name, fresh_prefix("lease"));
    let sides = [Side::new("memory://", &prefix, permits), Side::new(&played.url, &prefix, permits)];
    let (mut model, mut now) = (Model::new(permits), START);
    for (i, step) in steps.iter().enumerate() {
        if !damaged && matches!(step.act, Act::Plant(_) | Act::Damage(..)) {
            continue;
        }
        // An heir is new: its id is random.
        if !damaged && matches!(&step.act, Act::Adopt(id, heir, ..) if id == heir || model.knows(*heir)) {
            continue;
        }
        now = now.saturating_add_signed(step.shift);
        let before = sides[1].state(&step.tables);
        let [twin, script] = sides.each_ref().map(|side| side.perform(step, now));
        prop_assert_eq!(&twin, &script, "step {} on {}", i, name);
        let [twin, after] = sides.each_ref().map(|side| side.state(&step.tables));
        prop_assert!(twin == after, "state after step {i} on {name}: {twin:?} and {after:?}");
        model.check_ttl(step, &before, &after, &sides[1])?;
        if matches!(&script, Done::Grant(grant) if grant.healed) {
            played.count("healed");
        }
        if !damaged {
            if after.iter().zip(&before).any(|(after, before)| told(after) > told(before)) {
                played.count("told");
            }
            model.check(step, now, &script, played)?;
        }
        played.step();
    }
    Ok(())
}

#[test]
fn twin_and_script_agree() {
    let cases = || (permits(), any::<bool>(), prop::collection::vec(step(), STEPS));
    let expected = [
        "granted",
        "again",
        "refused",
        "cancelled",
        "handed over",
        "freed",
        "extended",
        "adopted",
        "healed",
        "told",
        "known elsewhere",
    ];
    agree(CASES, cases, &expected, |played, (permits, damaged, steps)| play(played, permits, damaged, &steps));
}
