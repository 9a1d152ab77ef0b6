//! What the tests have in common that play random steps to a server and to its twin: the cases, what is counted, and the
//! raw values.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};
use quotalock::Client;
use quotalock::testing::{self, TestValueKind};

use crate::longer::longer;
use crate::{ELSEWHERE, servers};

/// How many steps a case has.
pub const STEPS: usize = 200;
/// The fewest steps that are worth the name of a proof, on each server, times [`longer`]: some cases leave steps out.
const AT_LEAST: usize = 8_400;
/// When a case begins, in microseconds.
pub const START: u64 = 1_700_000_000_000_000;
/// The fewest times that each thing must have happened, times [`longer`]: a test in which it does not proves nothing.
const OFTEN: usize = 17;

/// A server, and how often things happened there.
pub struct Played {
    /// What messages call it.
    pub name: String,
    /// Where it is.
    pub url: String,
    counted: RefCell<BTreeMap<&'static str, usize>>,
}

/// How often the cases are played at most until all that is expected has happened.
const ROUNDS: usize = 24;

impl Played {
    /// Counts a step.
    pub fn step(&self) {
        self.count("steps");
    }

    /// Counts a thing that happened.
    pub fn count(&self, what: &'static str) {
        *self.counted.borrow_mut().entry(what).or_default() += 1;
    }

    fn times(&self, what: &str) -> usize {
        self.counted.borrow().get(what).copied().unwrap_or(0)
    }
}

/// Plays so many random cases, times [`longer`], to all servers beside each other. On each there must be 8,400 steps, and
/// each thing that is `expected` must have happened 17 times. The slow server gets a tenth of the steps, in which each
/// thing must happen once. If something rare is missing, more cases are played.
///
/// # Panics
/// If a case fails, or too little happened.
pub fn agree<S: Strategy>(
    number: u32,
    cases: impl Fn() -> S + Sync,
    expected: &[&str],
    play: impl Fn(&Played, S::Value) -> TestCaseResult + Sync,
) {
    std::thread::scope(|scope| {
        for (name, url) in servers() {
            let (cases, play) = (&cases, &play);
            // The slow one gets a tenth of them, in which what is rare happens a few times or once.
            let times = longer();
            let (share, often) = if name == ELSEWHERE { (10, 1) } else { (1, OFTEN * times as usize) };
            scope.spawn(move || {
                let played = Played { name, url, counted: RefCell::default() };
                let cases_of_round = (number * times).div_ceil(share as u32);
                let config = Config { cases: cases_of_round, failure_persistence: None, ..Config::default() };
                for _ in 0..ROUNDS {
                    let outcome = TestRunner::new(config.clone()).run(&cases(), |case| play(&played, case));
                    outcome.unwrap_or_else(|error| panic!("{}: {error}", played.name));
                    if expected.iter().all(|what| played.times(what) >= often) {
                        break;
                    }
                }
                println!("{}: {:?}", played.name, played.counted.borrow());
                let steps = played.times("steps");
                assert!(steps >= AT_LEAST * times as usize / share, "{}: only {steps} steps", played.name);
                for what in expected {
                    let times = played.times(what);
                    assert!(times >= often, "{}: {what} happened {times} times", played.name);
                }
            });
        }
    });
}

/// The value at a key; none if there is none.
pub fn stored(client: &Client, key: &[u8]) -> Option<Vec<u8>> {
    testing::get(client, key).run().unwrap().map(|stored| stored.value)
}

/// Whether there is a key without a TTL.
pub fn is_for_ever(client: &Client, key: &[u8]) -> bool {
    testing::get(client, key).run().unwrap().is_some_and(|stored| stored.ttl_ms.is_none())
}

/// Puts a value in place of what is there, or takes its TTL away.
pub fn put(client: &Client, key: &[u8], kind: TestValueKind, value: &[u8]) {
    testing::put(client, key, kind, value).run().unwrap();
}

/// Changes a byte of a value, or cuts it if it is shorter.
pub fn damage(client: &Client, key: &[u8], at: usize, byte: u8) {
    let Some(mut value) = stored(client, key) else { return };
    match value.get_mut(at) {
        Some(place) => *place = byte,
        None => value.truncate(value.len().saturating_sub(at % 60)),
    }
    put(client, key, TestValueKind::Text, &value);
}
