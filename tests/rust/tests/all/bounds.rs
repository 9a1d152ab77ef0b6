//! What a limit promises to those behind it: no window of any kind admits more than its algorithm's bound, and nothing
//! drifts in a million calls.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::{Client, Limiter, Policy, Rule, testing};
use quotalock_tests::longer::{is_played, longer, random_cases};
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
        let mut runner = random_cases(if name == "memory" { 167 } else { 10 });
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

/// Whether two rules share a count (see docs/guide/changing-policies.md).
fn share_a_count(one: &Rule, other: &Rule) -> bool {
    one.algorithm() == other.algorithm() && one.period() == other.period() && one.algorithm().name() != "token-bucket"
}

/// The first admitted call opens a window: none of its length that begins so admits more than the limit.
fn check_own_windows(rule: &Rule, admissions: &Admissions) -> TestCaseResult {
    let (mut end, mut sum) = (0, 0);
    for (at, cost) in admissions {
        if *at >= end {
            (end, sum) = (at + rule.period(), 0);
        }
        sum += cost;
        prop_assert!(sum <= rule.limit(), "{} in the window that ends at {}", sum, end);
    }
    Ok(())
}

/// Plays calls under several policies of one name to one key, and checks each rule's bound for the calls under its policy.
fn alternate(url: &str, texts: &[String], calls: &[(usize, Gap, u64)]) -> TestCaseResult {
    let client = client(url, &fresh_prefix("alternate"));
    let policies: Vec<Policy> = texts.iter().map(|text| Policy::parse(text).unwrap()).collect();
    let limiters: Vec<Limiter> =
        policies.iter().map(|policy| client.limiter("bound", policy.clone()).unwrap()).collect();
    let mut admissions = vec![Vec::new(); texts.len()];
    let (mut now, mut denied) = (START, None);
    for (which, gap, cost) in calls {
        let which = which % texts.len();
        let rule = policies[which].rules()[0];
        let (who, wait, asked) = denied.unwrap_or((which, 0, 0));
        now += match gap {
            Gap::Micros(micros) => *micros,
            Gap::Usual(thousandths) => rule.period() * thousandths / 1_000 / rule.limit(),
            Gap::Before(micros) => (rule.period() - now % rule.period()).saturating_sub(*micros),
            Gap::Until => wait,
        };
        let most = policies[which].rules().iter().map(Rule::capacity).min().unwrap();
        let again = matches!(gap, Gap::Until) && denied.is_some() && who == which;
        let cost = if again { asked } else { (*cost).min(most) };
        let decision = consume(&client, &limiters[which], now, cost);
        prop_assert!(!again || decision.allowed, "{} of {} at {}: told to come then", cost, texts[which], now);
        denied = (!decision.allowed).then(|| (which, decision.retry_after.unwrap(), cost));
        if decision.allowed {
            admissions[which].push((now, cost));
        }
    }
    for (which, admitted) in admissions.iter().enumerate() {
        for rule in policies[which].rules() {
            check_bound(rule, admitted)?;
            let others = policies.iter().enumerate().filter(|(other, _)| *other != which);
            let shared = others.flat_map(|(_, policy)| policy.rules()).any(|other| share_a_count(rule, other));
            if rule.algorithm().name() == "fixed-window" && !shared && policies[which].rules().len() == 1 {
                check_own_windows(rule, admitted)?;
            }
        }
    }
    Ok(())
}

/// Every algorithm with two periods, and what differs in its limit or capacity alone.
const ALTERNATING: [&str; 16] = [
    "fixed-window 9/7ms",
    "fixed-window 3/7ms",
    "fixed-window 4/40ms",
    "calendar-window 9/7ms",
    "calendar-window 3/7ms",
    "calendar-window 4/40ms",
    "sliding-window 9/7ms",
    "sliding-window 3/7ms",
    "sliding-window 4/40ms",
    "sliding-log 9/7ms",
    "sliding-log 3/7ms",
    "sliding-log 4/40ms",
    "token-bucket 9/7ms",
    "token-bucket 9/7ms capacity 3",
    "token-bucket 4/40ms",
    "sliding-log 5/20ms;fixed-window 7/20ms",
];

/// Two calls under each policy in turn, sometimes when the last denied one was told to come, sometimes a pause.
fn in_turn(count: usize) -> Vec<(usize, Gap, u64)> {
    let calls = (0..90).map(|n| {
        let gap = match n % 7 {
            1 | 4 => Gap::Until,
            5 => Gap::Usual(400 * (n as u64 % 5)),
            6 => Gap::Before(n as u64 % 3),
            _ => Gap::Micros(n as u64 % 2),
        };
        (n / 2 % count, gap, 1 + n as u64 % 3)
    });
    calls.collect()
}

#[test]
fn no_policy_weakens_another_of_its_name() {
    for (name, url) in stores() {
        let (mut number, mut played) = (0, 0);
        // In memory all pairs; what decides there is the script's twin.
        let mut play = |texts: &[&str]| {
            number += 1;
            if !(is_played(number) || name == "memory" && texts.len() == 2) {
                return;
            }
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            alternate(&url, &texts, &in_turn(texts.len())).unwrap_or_else(|e| panic!("{name}: {texts:?}: {e}"));
            played += 1;
        };
        for one in ALTERNATING {
            for other in ALTERNATING.iter().filter(|other| **other != one) {
                play(&[one, other]);
                if name == "memory" {
                    let third = ALTERNATING.iter().filter(|third| **third != one && third != &other);
                    third.for_each(|third| play(&[one, other, third]));
                }
            }
        }
        let pairs = ALTERNATING.len() * (ALTERNATING.len() - 1);
        let expected = if name == "memory" { pairs } else { (1..=pairs).filter(|number| is_played(*number)).count() };
        assert!(played >= expected && played > 30, "{name}: {played}");
    }
}

#[test]
fn whatever_policies_alternate_each_keeps_its_bound() {
    for (name, url) in stores() {
        let mut runner = random_cases(if name == "memory" { 250 } else { 7 });
        let policy = prop::collection::vec(rule(), 1..3).prop_map(|rules| rules.join(";"));
        let calls = prop::collection::vec((0_usize..6, gap(), prop_oneof![3 => 1_u64..4, 1 => 1_u64..30]), 150);
        let outcome =
            runner.run(&(prop::collection::vec(policy, 2..6), calls), |(texts, calls)| alternate(&url, &texts, &calls));
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// What the busy policy counts is handed over once for each of its rules, whoever calls first: never again after a rest.
#[test]
fn a_policy_that_rests_is_admitted_at_each_visit() {
    const SECOND: u64 = 1_000_000;
    let pairs = [
        ("fixed-window 5000/day", "fixed-window 5/minute"),
        ("calendar-window 5000/day", "calendar-window 5/minute"),
        ("sliding-window 5000/day", "sliding-window 5/minute"),
        ("token-bucket 5000/day", "token-bucket 5/minute"),
        ("fixed-window 90000/day;fixed-window 1000/hour", "fixed-window 5/minute"),
    ];
    for (name, url) in stores() {
        for (busy, rare) in pairs {
            for rare_is_first in [false, true] {
                let client = client(&url, &fresh_prefix("rest"));
                let [busy, rare] = [busy, rare].map(|text| Policy::parse(text).unwrap());
                let limiters = [&busy, &rare].map(|policy| client.limiter("bound", policy.clone()).unwrap());
                if rare_is_first {
                    assert!(consume(&client, &limiters[1], START, 1).allowed, "{name}: {rare}");
                }
                let (mut visits, mut denied) = (0, 0);
                // The busy one calls every 20 seconds, the other one every 200 seconds, once the first one counts much.
                for call in 0..400 {
                    let now = START + call * 20 * SECOND;
                    assert!(consume(&client, &limiters[0], now, 1).allowed, "{name}: {busy}");
                    if call >= 50 && call % 10 == 0 {
                        visits += 1;
                        denied += usize::from(!consume(&client, &limiters[1], now, 1).allowed);
                    }
                }
                let most = busy.rules().len();
                assert!(
                    denied <= most && visits > 30,
                    "{name}: {rare} denied {denied} of {visits} times beside {busy}"
                );
            }
        }
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

/// How many permits are counted, times [`longer`]: a million in `make test-long`.
const PERMITS: u64 = 167_000;

/// Rules of whose limits the second has no whole microseconds for a permit, and is spent and filled again meanwhile.
fn that_could_drift(algorithm: &str) -> [String; 3] {
    let of_a_day = if longer() > 1 { 999_983 } else { 99_991 };
    ["7/s", &format!("{of_a_day}/day"), "3/7ms"].map(|limit| format!("{algorithm} {limit}"))
}

#[test]
fn a_bucket_does_not_drift() {
    let permits = PERMITS * u64::from(longer());
    for text in that_could_drift("token-bucket") {
        let policy = Policy::parse(&text).unwrap();
        let rule = policy.rules()[0];
        let client = client("memory://", &fresh_prefix("drift"));
        let limiter = client.limiter("drift", policy).unwrap();
        let (mut now, mut admitted) = (START, 0_u64);
        while admitted < permits {
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
/// `(limit - 1) * into / period >= n`: again `limit - 1`, and so on for ever. So any number of permits is the ideal
/// `limit + (windows - 1) * (limit - 1)`, not one more or less.
#[test]
fn a_sliding_window_does_not_drift() {
    let permits = PERMITS * u64::from(longer());
    for text in that_could_drift("sliding-window") {
        let policy = Policy::parse(&text).unwrap();
        let (limit, period) = (policy.rules()[0].limit(), policy.rules()[0].period());
        let client = client("memory://", &fresh_prefix("drift"));
        let limiter = client.limiter("drift", policy).unwrap();
        let start = START / period * period;
        let (mut now, mut admitted, mut ended) = (start, 0_u64, 0);
        while admitted < permits || (now - start) / period == ended {
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
