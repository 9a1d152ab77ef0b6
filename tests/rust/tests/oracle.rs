//! The definitions themselves as judges: each oracle keeps every admission and decides by counting anew, without any of
//! the arithmetic that it judges. Also: `retry_after` is true to the microsecond, and nothing drifts.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quotalock::testing;
use quotalock::{Decision, Limiter, Policy, Rule};
use quotalock_tests::{client, fresh_prefix, servers, stores};

const START: u64 = 1_700_000_000_123_457;

/// Every admission of one key: when, and how much.
type History = Vec<(u64, u64)>;

/// Whether the definition admits `cost` at `now` after this history.
fn admits(rule: &Rule, history: &History, now: u64, cost: u64) -> bool {
    let (limit, period) = (u128::from(rule.limit()), rule.period());
    let sum = |from: u64, to: u64| {
        history.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, q)| u128::from(*q)).sum()
    };
    match rule.algorithm().name() {
        "fixed-window" => {
            // Windows open at the first admission that lies in none.
            let (mut end, mut count) = (0, 0);
            for (at, cost) in history {
                if *at >= end {
                    (end, count) = (at + period, 0);
                }
                count += u128::from(*cost);
            }
            let count = if now < end { count } else { 0 };
            count + u128::from(cost) <= limit
        }
        "calendar-window" => {
            let window = now / period * period;
            let count: u128 = sum(window, window + period);
            count + u128::from(cost) <= limit
        }
        "sliding-window" => {
            let window = now / period * period;
            let (previous, current): (u128, u128) = (sum(window - period, window), sum(window, window + period));
            let (into, period) = (u128::from(now - window), u128::from(period));
            previous * (period - into) + (current + u128::from(cost)) * period <= limit * period
        }
        "sliding-log" => {
            let used: u128 = sum((now + 1).saturating_sub(period), now + 1);
            used + u128::from(cost) <= limit
        }
        "token-bucket" => {
            // A bucket with a level, in units of 1/period token: it fills by `limit` of them a microsecond.
            let (period, full) = (u128::from(period), u128::from(rule.capacity()) * u128::from(period));
            let (mut level, mut last) = (full, START);
            let mut fill = |level: &mut u128, to: u64| {
                *level = full.min(*level + u128::from(to - last) * limit);
                last = to;
            };
            for (at, cost) in history {
                fill(&mut level, *at);
                level -= u128::from(*cost) * period;
            }
            fill(&mut level, now);
            level >= u128::from(cost) * period
        }
        other => panic!("no oracle for {other}: write one"),
    }
}

fn at(limiter: &Limiter, client: &quotalock::Client, now: u64, cost: u64, charge: bool) -> Decision {
    testing::set_time(client, Some(now)).unwrap();
    let op = if charge { limiter.consume(b"k", cost) } else { limiter.peek(b"k", cost) };
    op.unwrap().run().unwrap()
}

/// Checks a decision's numbers against the definition: the most that fits, and the first moment that admits.
fn check(rule: &Rule, history: &History, now: u64, cost: u64, decision: &Decision) -> Result<(), TestCaseError> {
    let left = decision.remaining;
    prop_assert!(left == 0 || admits(rule, history, now, left), "remaining {} is too much", left);
    prop_assert!(left >= rule.capacity() || !admits(rule, history, now, left + 1), "remaining {} is too little", left);
    match decision.retry_after {
        Some(0) => prop_assert!(decision.allowed),
        Some(wait) => {
            prop_assert!(!admits(rule, history, now + wait - 1, cost), "admitted a microsecond before retry_after");
            prop_assert!(admits(rule, history, now + wait, cost), "denied at retry_after");
        }
        None => prop_assert!(cost > rule.capacity()),
    }
    let reset = decision.reset_after;
    prop_assert!(admits(rule, history, now + reset, rule.capacity()), "not as new at reset_after");
    Ok(())
}

fn rule() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(quotalock::ALGORITHMS.map(|a| a.name()).to_vec());
    let period = prop_oneof![Just("1 ms"), Just("7 ms"), Just("s"), Just("90 s"), Just("h"), Just("day")];
    let capacity = prop_oneof![2 => Just(None), 1 => (1_u64..40).prop_map(Some)];
    (algorithm, 1_u64..30, period, capacity).prop_map(|(algorithm, limit, period, capacity)| match capacity {
        Some(capacity) if algorithm == "token-bucket" => format!("{algorithm} {limit}/{period} capacity {capacity}"),
        _ => format!("{algorithm} {limit}/{period}"),
    })
}

#[test]
fn every_decision_is_the_definitions() {
    for (name, url) in stores() {
        let cases = if name == "memory" { 1_500 } else { 60 };
        let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
        let calls = prop::collection::vec((0_u64..400, 0_u64..1 << 20, 1_u64..6), 60);
        let outcome = runner.run(&(rule(), calls), |(text, calls)| {
            let policy = Policy::parse(&text).unwrap();
            let rule = policy.rules()[0];
            let client = client(&url, &fresh_prefix("oracle"));
            let limiter = client.limiter("oracle", policy).unwrap();
            let (mut now, mut history) = (START, History::new());
            for (thousandths, jitter, cost) in calls {
                now += rule.period() * thousandths / 1_000 / rule.limit() + jitter % 3;
                let expected = admits(&rule, &history, now, cost);
                let decision = at(&limiter, &client, now, cost, true);
                prop_assert_eq!(decision.allowed, expected, "{} at {} after {:?}", &text, now, &history);
                if expected {
                    history.push((now, cost));
                }
                check(&rule, &history, now, cost, &decision)?;
            }
            Ok(())
        });
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn a_million_permits_do_not_drift() {
    for text in ["token-bucket 7/s", "token-bucket 999983/day", "token-bucket 3/7ms"] {
        let policy = Policy::parse(text).unwrap();
        let rule = policy.rules()[0];
        let client = client("memory://", &fresh_prefix("drift"));
        let limiter = client.limiter("drift", policy).unwrap();
        let (mut now, mut admitted) = (START, 0_u64);
        while admitted < 1_000_000 {
            let decision = at(&limiter, &client, now, 1, true);
            admitted += u64::from(decision.allowed);
            now += decision.retry_after.unwrap();
        }
        // The bucket was full at the start and empty at the end, whose last permit came at `now`.
        let ideal = u128::from(rule.capacity())
            + u128::from(now - START) * u128::from(rule.limit()) / u128::from(rule.period());
        assert!(u128::from(admitted).abs_diff(ideal) <= 1, "{text}: {admitted} admitted, {ideal} ideal");
    }
}

#[test]
fn a_server_drifts_no_more_than_the_twin() {
    let (name, url) = servers().swap_remove(0);
    for text in ["token-bucket 7/s", "token-bucket 3/7ms", "sliding-window 7/s"] {
        let outcomes = ["memory://", &url].map(|url| {
            let client = client(url, &fresh_prefix("drift"));
            let limiter = client.limiter("drift", Policy::parse(text).unwrap()).unwrap();
            let mut now = START;
            for _ in 0..10_000 {
                now += at(&limiter, &client, now, 1, true).retry_after.unwrap();
            }
            now
        });
        assert_eq!(outcomes[0], outcomes[1], "{text} on {name}");
    }
}
