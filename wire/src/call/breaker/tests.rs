//! What breakers let through, and when.

use super::*;
use crate::base::error::Code;

fn down() -> Error {
    Error::new(Code::Unavailable, "down")
}

#[test]
fn one_probe_at_a_time_and_none_for_ever() {
    let breaker = Breaker::default();
    // Longer than a machine stands still that is shared.
    let lease = Duration::from_millis(2_000);
    assert!(breaker.admit(lease).is_ok());
    breaker.failure(Duration::from_millis(400), &down());
    let refused = breaker.admit(lease).unwrap_err();
    assert_eq!(refused.error.unwrap().message(), "down");
    std::thread::sleep(refused.retry_after);
    assert!(breaker.admit(lease).is_ok(), "the probe");
    assert!(breaker.admit(lease).is_err(), "one at a time");
    std::thread::sleep(lease);
    assert!(breaker.admit(lease).is_ok(), "a probe that vanished is followed by another");
    breaker.success();
    assert!(breaker.admit(lease).is_ok() && breaker.admit(lease).is_ok());
}

#[test]
fn a_server_that_answers_another_connection_is_not_down() {
    let breaker = Breaker::default();
    let (dialed, longer) = (Duration::from_millis(1_900), Duration::from_millis(2_000));
    std::thread::sleep(longer);
    breaker.success();
    breaker.failure(dialed, &down());
    assert!(breaker.admit(Duration::ZERO).is_ok(), "answered while the other was dialed");
    std::thread::sleep(longer);
    breaker.failure(dialed, &down());
    assert!(breaker.admit(Duration::ZERO).is_err(), "answered before that");
}

#[test]
fn the_pause_is_in_proportion_to_the_cost() {
    let pause = |cost| {
        let breaker = Breaker::default();
        breaker.failure(cost, &down());
        breaker.admit(Duration::ZERO).err().map(|refused| refused.retry_after)
    };
    // So short that it may be over.
    assert!(pause(Duration::ZERO).is_none_or(|shortest| shortest <= SHORTEST));
    let middle = pause(Duration::from_millis(400)).unwrap();
    assert!(middle > SHORTEST && middle <= Duration::from_millis(800));
    assert!(pause(Duration::from_secs(60)).unwrap() <= LONGEST);
}

#[test]
fn it_is_open_from_a_failure_to_the_next_success() {
    let breaker = Breaker::default();
    let state = || (breaker.is_open(), breaker.has_answered());
    assert_eq!(state(), (false, false));
    breaker.failure(Duration::ZERO, &down());
    assert_eq!(state(), (true, false));
    breaker.success();
    assert_eq!(state(), (false, true));
}

#[test]
fn the_pause_is_twice_the_cost() {
    let breaker = Breaker::default();
    breaker.failure(LONGEST / 2, &down());
    let pause = breaker.admit(Duration::ZERO).unwrap_err().retry_after;
    // Some of it has passed.
    assert!(pause > LONGEST / 4 && pause <= LONGEST, "{pause:?}");
}

/// Longer than a machine stands still that is shared.
const LEASE: Duration = Duration::from_secs(2);

fn refusing(scope: Scope) -> RefusalBreaker {
    let refusal_breaker = RefusalBreaker::default();
    refusal_breaker.refused(scope, &Error::new(Code::Unavailable, "full"));
    refusal_breaker
}

fn probe(refusal_breaker: &RefusalBreaker) {
    while let Err(refused) = refusal_breaker.admit(true, LEASE) {
        std::thread::sleep(refused.retry_after);
    }
}

#[test]
fn after_a_refusal_one_probe_at_a_time_and_none_for_ever() {
    let refusal_breaker = refusing(Scope::All);
    probe(&refusal_breaker);
    let refused = refusal_breaker.admit(false, LEASE).unwrap_err();
    assert_eq!(refused.error.unwrap().message(), "full");
    std::thread::sleep(LEASE);
    assert_eq!(
        refusal_breaker.admit(true, LEASE).ok(),
        Some(Pass::Probe),
        "a probe that vanished is followed by another"
    );
    refusal_breaker.ran(false, false);
    assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Usual));
}

#[test]
fn a_script_that_read_does_not_show_that_writes_work() {
    let refusal_breaker = refusing(Scope::Writes);
    assert_eq!(refusal_breaker.admit(false, LEASE).ok(), Some(Pass::Usual), "reads go on");
    refusal_breaker.ran(false, false);
    probe(&refusal_breaker);
    assert!(refusal_breaker.admit(true, LEASE).is_err(), "a read that went well is no news");
    refusal_breaker.ran(true, false);
    assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Probe));
    assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Probe), "nobody waits for another's proof");
    refusal_breaker.ran(true, true);
    assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Usual));
}

#[test]
fn the_pause_grows_to_a_bound() {
    let refusal_breaker = refusing(Scope::Writes);
    for _ in 0..40 {
        refusal_breaker.refused(Scope::Writes, &Error::new(Code::Unavailable, "full"));
    }
    let pause = refusal_breaker.admit(true, LEASE).unwrap_err().retry_after;
    assert!(pause > LONGEST_REFUSAL / 2 && pause <= LONGEST_REFUSAL, "{pause:?}");
}

#[test]
fn it_is_on_until_a_script_has_run() {
    let refusal_breaker = RefusalBreaker::default();
    assert!(!refusal_breaker.is_on());
    refusal_breaker.refused(Scope::Keys, &Error::new(Code::Unavailable, "a slot"));
    assert!(!refusal_breaker.is_on(), "a slot says nothing about the server");
    refusal_breaker.refused(Scope::All, &Error::new(Code::Unavailable, "full"));
    assert!(refusal_breaker.is_on());
    refusal_breaker.ran(true, true);
    assert!(!refusal_breaker.is_on());
}
