//! A replay decides as the limiters of every store do, call by call, on the traffic of a real log.

use quotalock::{Policy, Replay, testing};
use quotalock_tests::{client, fresh_prefix, stores};

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/apache_access.log");
const POLICIES: [&str; 8] = [
    "10/minute",
    "calendar-window 20/hour",
    "sliding-window 12/minute",
    "token-bucket 6/minute capacity 9",
    "sliding-log 10/minute",
    "5/s;calendar-window 30/minute;token-bucket 100/hour",
    "sliding-log 3/s;sliding-window 20/minute;50/day",
    "sliding-log 3/s;sliding-log 25/hour",
];

/// Who came when, in microseconds; time does not go back.
fn requests() -> Vec<(Vec<u8>, u64)> {
    let mut now = 0;
    let text = std::fs::read(LOG).unwrap();
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let request = |line: &[u8]| {
        let line = String::from_utf8_lossy(line);
        let (key, rest) = line.split_once(' ').unwrap();
        // "17/May/2015:10:05:03", of one month.
        let time = rest.split_once('[').unwrap().1;
        let number = |from: usize| time[from..from + 2].parse::<u64>().unwrap();
        let (day, hour, minute, second) = (number(0), number(12), number(15), number(18));
        let seconds = 1_431_820_800 + ((day - 17) * 24 + hour) * 3_600 + minute * 60 + second;
        now = now.max(seconds * 1_000_000);
        (key.as_bytes().to_vec(), now)
    };
    lines.map(request).collect()
}

#[test]
fn a_replay_decides_as_every_store() {
    let requests = requests();
    assert_eq!(requests.len(), 10_000);
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("replay"));
        for (number, text) in POLICIES.iter().enumerate() {
            let policy = Policy::parse(text).unwrap();
            // Of one name it would take over what the last one counted.
            let limiter = client.limiter(&format!("replay-{number}"), policy.clone()).unwrap();
            let (mut replay, mut keys, mut denied) = (Replay::new(policy.clone()), Vec::new(), 0);
            // A server takes its time for each.
            let some = if name == "memory" { requests.len() } else { 2_000 };
            for (line, (key, now)) in requests.iter().take(some).enumerate() {
                testing::set_time(&client, Some(*now)).unwrap();
                let decision = limiter.consume(key, 1).unwrap().run().unwrap();
                let number = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                    keys.push(key);
                    keys.len() - 1
                });
                let replayed = replay.consume(number, *now, 1);
                let told = (replayed.allowed, replayed.retry_after, replayed.remaining);
                let wanted = (decision.allowed, decision.retry_after, decision.remaining);
                assert_eq!(told, wanted, "{text} on {name}, line {}", line + 1);
                let rule = &decision.rules[replayed.binds];
                assert_eq!((rule.retry_after, rule.remaining), (told.1, told.2), "{text} on {name}");
                denied += u64::from(!decision.allowed);
            }
            assert!(denied > 0, "{text} denies nobody: it shows nothing");
        }
    }
}

#[test]
fn a_replay_heals_a_time_that_goes_back() {
    let client = client("memory://replay", &fresh_prefix("replay"));
    for (number, text) in POLICIES.iter().enumerate() {
        let policy = Policy::parse(text).unwrap();
        let limiter = client.limiter(&format!("back-{number}"), policy.clone()).unwrap();
        let mut replay = Replay::new(policy);
        let start = 1_700_000_000_000_000_u64;
        for (step, ahead) in
            [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2, 2, 3, 70, 70, 1, 1, 4_000, 0, 1, 0].iter().enumerate()
        {
            let now = start + ahead * 1_000_000;
            testing::set_time(&client, Some(now)).unwrap();
            let decision = limiter.consume(b"k", 1).unwrap().run().unwrap();
            let replayed = replay.consume(0, now, 1);
            assert_eq!(
                (replayed.allowed, replayed.retry_after),
                (decision.allowed, decision.retry_after),
                "{text}, {step}"
            );
        }
    }
}
