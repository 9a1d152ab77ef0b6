//! How much of the random tests is played: `make test` plays the share that turned red for every known fault, `make test-long` all.

use proptest::test_runner::{Config, TestRunner};

/// Of so many steps of a list one is played in `make test`, and all of them in `make test-long`; no power of two, so that each
/// bit of a byte has its turn.
const STRIDE: usize = 7;

/// The environment variable that says how many times as much is played.
pub const LONGER: &str = "QUOTALOCK_TEST_LONGER";

/// How many times as many random cases are played as in `make test`: what [`LONGER`] says, or once.
///
/// # Panics
/// If [`LONGER`] is no number from 1 on.
pub fn longer() -> u32 {
    let Ok(given) = std::env::var(LONGER) else { return 1 };
    let times: f64 = given.parse().unwrap_or(0.0);
    assert!(times >= 1.0, "{LONGER} is {given}: set it to a number from 1 on");
    times as u32
}

/// Whether the step of this number is played: of every seven [`longer`] of them, and all from six times on.
pub fn is_played(number: usize) -> bool {
    let times = longer() as usize;
    times + 1 >= STRIDE || number % STRIDE < times
}

/// Plays so many random cases, times [`longer`].
pub fn random_cases(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases: cases * longer(), failure_persistence: None, ..Config::default() })
}
