//! Each way in which a decision comes about, and that it is heard of once.

use std::time::Duration;

use crate::client::{Client, Options};
use crate::limiter::decision::Decision;
use crate::limiter::policy::Policy;
use crate::limiter::{Charge, Limiter, LimiterOptions, Unsettled};
use wire::base::error::Code;
use wire::base::outcome::Outcome;
use wire::base::source::Source;
use wire::call::command::OnError;

/// A server that refuses connections.
const NOBODY: &str = "redis://127.0.0.1:1";

fn client(url: &str, on_error: OnError) -> Client {
    Client::new(Options { url: Some(url.into()), on_error, ..Options::default() }).unwrap()
}

fn limiter(client: &Client, name: &str, policy: &str) -> Limiter {
    client.limiter(name, Policy::parse(policy).unwrap()).unwrap()
}

fn watching(client: &Client, name: &str, policy: &str) -> Limiter {
    let options = LimiterOptions { enforce: false, ..LimiterOptions::default() };
    client.limiter_with(name, Policy::parse(policy).unwrap(), options).unwrap()
}

/// How often it allowed, denied, would have denied and failed, whoever was asked.
fn heard(limiter: &Limiter) -> [u64; 4] {
    [Outcome::Allowed, Outcome::Denied, Outcome::WouldDeny, Outcome::Error]
        .map(|outcome| Source::ALL.into_iter().map(|source| limiter.spec.counters.get(outcome, source)).sum())
}

#[test]
fn what_is_decided_at_once_is_heard_of_once() {
    let limiter = limiter(&client("memory://decided-at-once", OnError::Raise), "decided-at-once", "2/hour");
    let allowed = |decided: Option<crate::Result<crate::Decision>>| decided.unwrap().unwrap().allowed;
    assert!(allowed(limiter.consume_at_once(b"k", 1)) && allowed(limiter.require_at_once(b"k", 1)));
    assert!(!allowed(limiter.consume_at_once(b"k", 1)));
    assert_eq!(limiter.require_at_once(b"k", 1).unwrap().unwrap_err().code(), Code::Limited);
    // Who leaves errors to the call has decided nothing.
    assert!(limiter.decide_at_once(b"k", 1, true, Decision::clone).is_none());
    assert_eq!(heard(&limiter), [2, 2, 0, 0]);
    assert!(!limiter.decide_at_once(b"k", 1, false, Decision::clone).unwrap().allowed);
    assert!(limiter.decide_at_once(b"other", 1, true, Decision::clone).unwrap().allowed);
    assert_eq!(heard(&limiter), [3, 3, 0, 0]);
    assert_eq!(limiter.spec.counters.get(Outcome::Denied, Source::Memory), 3);
}

#[test]
fn a_call_is_heard_of_when_it_is_final() {
    let client = client("memory://decided-calls", OnError::Raise);
    let limiter = limiter(&client, "decided-calls", "3/hour");
    assert!(limiter.consume(b"k", 1).unwrap().run().unwrap().allowed);
    assert_eq!(limiter.consume_up_to(b"k", 5).unwrap().run().unwrap().cost, 2);
    assert_eq!(limiter.require(b"k", 1).unwrap().run().unwrap_err().code(), Code::Limited);
    assert!(limiter.reserve(b"other", 1, 1_000_000, Unsettled::Spent).unwrap().1.run().unwrap().allowed);
    assert_eq!(heard(&limiter), [3, 1, 0, 0]);
    // Denied now and again when it is woken: one decision.
    let short = client.limiter("decided-wait", Policy::parse("1/100 ms").unwrap()).unwrap();
    assert!(short.consume(b"k", 1).unwrap().run().unwrap().allowed);
    assert!(short.wait(b"k", 1, Duration::from_secs(5)).unwrap().run().unwrap().allowed);
    assert_eq!(heard(&short), [2, 0, 0, 0]);
}

#[test]
fn what_only_looks_or_gives_back_decides_nothing() {
    let limiter = limiter(&client("memory://decided-nothing", OnError::Raise), "decided-nothing", "1/hour");
    limiter.peek(b"k", 5).unwrap().run().unwrap();
    limiter.consume(b"k", 0).unwrap().run().unwrap();
    limiter.consume_at_once(b"k", 0).unwrap().unwrap();
    limiter.require_at_once(b"k", 0).unwrap().unwrap();
    limiter.require(b"k", 0).unwrap().run().unwrap();
    assert!(limiter.decide_at_once(b"k", 0, true, Decision::clone).unwrap().allowed);
    limiter.refund(b"k", 1).unwrap().run().unwrap();
    limiter.block(b"k", 1_000_000).unwrap().run().unwrap();
    limiter.reset(b"k").unwrap().run().unwrap();
    assert!(limiter.consume_at_once(b"", 1).unwrap().is_err(), "asked wrongly");
    assert_eq!(heard(&limiter), [0; 4]);
}

#[test]
fn what_is_not_enforced_says_what_it_would_deny() {
    let limiter = watching(&client("memory://decided-watching", OnError::Raise), "decided-watching", "1/hour");
    (0..3).for_each(|_| assert!(limiter.consume(b"k", 1).unwrap().run().unwrap().allowed));
    assert_eq!(heard(&limiter), [1, 0, 2, 0]);
}

#[test]
fn of_several_charges_those_that_decided_are_heard_of() {
    let client = client("memory://decided-all", OnError::Raise);
    // In the order of their keys and in that of the caller, these are at different places.
    let (wide, narrow) = (limiter(&client, "decided-b-wide", "9/hour"), limiter(&client, "decided-a-narrow", "1/hour"));
    let tried = watching(&client, "decided-c-tried", "1/hour");
    let charges = [&wide, &narrow, &tried].map(|limiter| Charge { limiter, key: b"k", cost: 1 });
    assert!(client.consume_all(&charges, None).unwrap().run().unwrap().allowed);
    assert!(!client.consume_all(&charges, None).unwrap().run().unwrap().allowed);
    assert_eq!([&wide, &narrow, &tried].map(heard), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]);
}

#[test]
fn what_nobody_decided_has_the_source_that_answered() {
    for (on_error, outcome, source) in [
        (OnError::Raise, Outcome::Error, Source::Redis),
        (OnError::Open, Outcome::Allowed, Source::Open),
        (OnError::Closed, Outcome::Denied, Source::Closed),
        (OnError::Local, Outcome::Allowed, Source::Local),
    ] {
        let client = client(NOBODY, on_error);
        let limiter = limiter(&client, &format!("decided-away-{on_error:?}"), "9/hour");
        let first = limiter.consume(b"k", 1).unwrap().run();
        assert_eq!(first.is_err(), on_error == OnError::Raise);
        let charge = Charge { limiter: &limiter, key: b"k", cost: 1 };
        assert_eq!(client.consume_all(&[charge], None).unwrap().run().is_err(), on_error == OnError::Raise);
        assert_eq!((limiter.spec.counters.get(outcome, source), heard(&limiter).iter().sum()), (2, 2), "{on_error:?}");
    }
}

#[test]
fn a_closed_client_is_an_error() {
    for (url, source) in [("memory://decided-closed", Source::Memory), (NOBODY, Source::Redis)] {
        let client = client(url, OnError::Raise);
        let limiter = limiter(&client, &format!("decided-closed-{source}"), "9/hour");
        client.close();
        assert_eq!(limiter.consume(b"k", 1).unwrap().run().unwrap_err().code(), Code::Closed);
        assert_eq!(limiter.spec.counters.get(Outcome::Error, source), 1);
    }
}
