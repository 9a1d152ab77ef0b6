//! What a limit promises to those behind it: no window of any kind admits more than its algorithm's bound, and nothing
//! drifts in a million calls.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};
use quotalock::{Client, Limiter, Policy, Rule, testing};
use quotalock_tests::{client, fresh_prefix, servers, stores};

const START: u64 = 1_700_000_000_123_457;

/// Admissions of one key: when, and how much.
type Admissions = [(u64, u64)];

/// The time before a call.
#[derive(Clone, Debug)]
enum Gap {
    Micros(u64),
    /// Thousandths of the time in which the rule admits one.
    Usual(u64),
    /// To the next multiple of the period, so many microseconds earlier.
    Before(u64),
    /// To the moment at which the last denied call would be admitted.
    Until,
}

fn rule() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(quotalock::ALGORITHMS.map(|a| a.name()).to_vec());
    let period = prop_oneof![Just("1 ms"), Just("7 ms"), Just("s"), Just("h")];
    let capacity = prop_oneof![1 => Just(None), 1 => (1_u64..40).prop_map(Some)];
    (algorithm, 1_u64..30, period, capacity).prop_map(|(algorithm, limit, period, capacity)| match capacity {
        Some(capacity) if algorithm == "token-bucket" => format!("{algorithm} {limit}/{period} capacity {capacity}"),
        _ => format!("{algorithm} {limit}/{period}"),
    })
}

fn gap() -> impl Strategy<Value = Gap> {
    prop_oneof![
        4 => (0_u64..3).prop_map(Gap::Micros),
        4 => (0_u64..2_000).prop_map(Gap::Usual),
        1 => (0_u64..3).prop_map(Gap::Before),
        6 => Just(Gap::Until),
    ]
}

fn consume(client: &Client, limiter: &Limiter, now: u64, cost: u64) -> quotalock::Decision {
    testing::set_time(client, Some(now)).unwrap();
    limiter.consume(b"k", cost).unwrap().run().unwrap()
}

/// The sum of what was admitted in `(end - period, end]`, for the end at each admission: any other window of that length
/// has no more than one of these.
fn windows(period: u64, admissions: &Admissions) -> impl Iterator<Item = (u64, u64)> {
    admissions.iter().enumerate().map(move |(last, (end, _))| {
        let inside = admissions[..=last].iter().rev().take_while(|(at, _)| at + period > *end);
        // Calls of the same microsecond that come later are counted with the last of them.
        (*end, inside.map(|(_, cost)| cost).sum())
    })
}

fn check_bound(rule: &Rule, admissions: &Admissions) -> TestCaseResult {
    let (limit, period) = (rule.limit(), rule.period());
    match rule.algorithm().name() {
        "sliding-log" => {
            for (end, sum) in windows(period, admissions) {
                prop_assert!(sum <= limit, "{} in the window that ends at {}", sum, end);
            }
        }
        // A window of one period meets two of the algorithm's.
        "fixed-window" | "calendar-window" => {
            for (end, sum) in windows(period, admissions) {
                prop_assert!(sum <= 2 * limit, "{} in the window that ends at {}", sum, end);
            }
        }
        // The last admission, `into` a window, saw `previous * (period - into) + current * period <= limit * period`. All
        // that lies in its last period was counted in one of them, so it is at most `previous + current`, which is at most
        // `limit + previous * into / period`, and `previous <= limit`.
        "sliding-window" => {
            for (end, sum) in windows(period, admissions) {
                let bound = u128::from(limit) * u128::from(period + end % period);
                prop_assert!(u128::from(sum) * u128::from(period) <= bound, "{} in that which ends at {}", sum, end);
            }
        }
        // Of any length: what was there and what came in meanwhile.
        "token-bucket" => {
            for (first, (begin, _)) in admissions.iter().enumerate() {
                let mut sum = 0;
                for (end, cost) in &admissions[first..] {
                    sum += u128::from(*cost) * u128::from(period);
                    let filled = u128::from(limit) * u128::from(end - begin);
                    let bound = u128::from(rule.capacity()) * u128::from(period) + filled;
                    prop_assert!(sum <= bound, "{} to {}", begin, end);
                }
            }
        }
        other => panic!("no bound of {other}: derive one"),
    }
    Ok(())
}

#[test]
fn no_window_admits_more_than_its_bound() {
    for (name, url) in stores() {
        let cases = if name == "memory" { 1_000 } else { 60 };
        let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
        let calls = prop::collection::vec((gap(), prop_oneof![3 => 1_u64..4, 1 => 1_u64..30]), 150);
        let outcome = runner.run(&(rule(), calls), |(text, calls)| {
            let policy = Policy::parse(&text).unwrap();
            let rule = policy.rules()[0];
            let client = client(&url, &fresh_prefix("bound"));
            let limiter = client.limiter("bound", policy).unwrap();
            let (mut now, mut wait, mut admissions) = (START, 0, Vec::new());
            for (gap, cost) in calls {
                now += match gap {
                    Gap::Micros(micros) => micros,
                    Gap::Usual(thousandths) => rule.period() * thousandths / 1_000 / rule.limit(),
                    Gap::Before(micros) => (rule.period() - now % rule.period()).saturating_sub(micros),
                    Gap::Until => wait,
                };
                let cost = cost.min(rule.capacity());
                let decision = consume(&client, &limiter, now, cost);
                wait = decision.retry_after.unwrap();
                if decision.allowed {
                    admissions.push((now, cost));
                }
            }
            prop_assert!(!admissions.is_empty());
            check_bound(&rule, &admissions)
        });
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn the_bound_of_a_sliding_window_is_reached() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("bound"));
        let limiter = client.limiter("bound", Policy::parse("sliding-window 1000/s").unwrap()).unwrap();
        let second = 1_700_000_000_000_000;
        // All at the end of one window, and all that fits at the end of the next, a microsecond less than a period later.
        assert!(consume(&client, &limiter, second + 999_999, 1_000).allowed, "{name}");
        let end = second + 1_999_998;
        assert!(!consume(&client, &limiter, end, 1_000).allowed, "{name}");
        assert!(consume(&client, &limiter, end, 999).allowed, "{name}");
        // limit + limit * into / period, whole permits: 1000 + floor(999.998).
        assert_eq!(1_000 + 999, 1_000 * (1_000_000 + end % 1_000_000) / 1_000_000);
    }
}

#[test]
fn a_bucket_does_not_drift_in_a_million_permits() {
    for text in ["token-bucket 7/s", "token-bucket 999983/day", "token-bucket 3/7ms"] {
        let policy = Policy::parse(text).unwrap();
        let rule = policy.rules()[0];
        let client = client("memory://", &fresh_prefix("drift"));
        let limiter = client.limiter("drift", policy).unwrap();
        let (mut now, mut admitted) = (START, 0_u64);
        while admitted < 1_000_000 {
            let decision = consume(&client, &limiter, now, 1);
            admitted += u64::from(decision.allowed);
            now += decision.retry_after.unwrap();
        }
        // The bucket was full at the start and empty at the end, whose last permit came at `now`.
        let ideal = u128::from(rule.capacity())
            + u128::from(now - START) * u128::from(rule.limit()) / u128::from(rule.period());
        assert!(u128::from(admitted).abs_diff(ideal) <= 1, "{text}: {admitted} admitted, {ideal} ideal");
    }
}

/// Who calls whenever a sliding window admits, from the start of one on, gets the whole limit at once in the first. In the
/// second, permit `n` has to wait for `limit * into / period >= n`: the last one falls on the window's end, which is the
/// next window's. There the previous count is `limit - 1`, so the first permit comes at once and `n + 1` of them when
/// `(limit - 1) * into / period >= n`: again `limit - 1`, and so on for ever. So a million permits are the ideal
/// `limit + (windows - 1) * (limit - 1)`, not one more or less.
#[test]
fn a_sliding_window_does_not_drift_in_a_million_permits() {
    for text in ["sliding-window 7/s", "sliding-window 999983/day", "sliding-window 3/7ms"] {
        let policy = Policy::parse(text).unwrap();
        let (limit, period) = (policy.rules()[0].limit(), policy.rules()[0].period());
        let client = client("memory://", &fresh_prefix("drift"));
        let limiter = client.limiter("drift", policy).unwrap();
        let start = START / period * period;
        let (mut now, mut admitted, mut ended) = (start, 0_u64, 0);
        while admitted < 1_000_000 || (now - start) / period == ended {
            let windows = (now - start) / period;
            if windows > ended {
                let ideal = limit + (windows - 1) * (limit - 1);
                assert_eq!(admitted, ideal, "{text} after {windows} windows");
                ended = windows;
            }
            let decision = consume(&client, &limiter, now, 1);
            admitted += u64::from(decision.allowed);
            now += decision.retry_after.unwrap();
        }
        assert!(ended > 0);
    }
}

#[test]
fn a_server_drifts_no_more_than_the_twin() {
    let (name, url) = servers().swap_remove(0);
    for text in ["token-bucket 7/s", "token-bucket 3/7ms", "sliding-window 7/s", "sliding-log 7/s"] {
        let outcomes = ["memory://", &url].map(|url| {
            let client = client(url, &fresh_prefix("drift"));
            let limiter = client.limiter("drift", Policy::parse(text).unwrap()).unwrap();
            let mut now = START;
            for _ in 0..10_000 {
                now += consume(&client, &limiter, now, 1).retry_after.unwrap();
            }
            now
        });
        assert_eq!(outcomes[0], outcomes[1], "{text} on {name}");
    }
}
