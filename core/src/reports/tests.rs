//! The form of a report, and what has room in one.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::buffer::{Buffer, Whose};
use super::*;
use crate::limiter::decision::{Decision, RuleDecision};
use wire::base::error::{Code, Error};
use wire::base::source::Source;

const ID: &[u8] = b"1700000000123-4";
const AT: u64 = 1_700_000_000_123_000;

/// What a rule of so many a minute says, whose key waits for so many microseconds.
fn rule(quota: u64, wait: u64) -> RuleDecision {
    RuleDecision {
        allowed: wait == 0,
        limit: quota,
        remaining: 0,
        retry_after: Some(wait),
        reset_after: wait,
        algorithm: "fixed-window",
        quota,
        period: 60_000_000,
        capacity: quota,
    }
}

/// What a limiter of 10 a minute says.
fn decision(name: &Arc<str>, wait: u64, block: u64, source: Source) -> Decision {
    Decision::combine(name, [rule(10, wait)], block, 1, false, source)
}

struct Told {
    buffer: Buffer,
    now: Instant,
}

impl Told {
    fn new() -> Told {
        let now = Instant::now();
        Told { buffer: Buffer::new(now), now }
    }

    fn add(&mut self, name: &str, key: &[u8], wait: u64, block: u64, source: Source) {
        let name: Arc<str> = name.into();
        let decision = decision(&name, wait, block, source);
        let whose = Whose { name: &name, scope: None, asks: Source::Redis };
        self.buffer.add(&whose, || Cow::Borrowed(key), Ok(&decision), self.now);
    }

    /// What a reader of the stream gets, and how many bytes it is.
    fn read(self) -> (Report, usize) {
        let by = ("web-3".into(), 4711, "python/1.0.0".into());
        let report = self.buffer.into_report(by, 2, self.now + Duration::from_millis(1_000));
        let fields = report.fields();
        let size = fields.iter().map(Vec::len).sum();
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = fields.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        (Report::read(ID, &pairs).unwrap(), size)
    }
}

#[test]
fn a_report_is_read_as_it_was_told() {
    let mut told = Told::new();
    for _ in 0..3 {
        told.add("login", b"203.0.113.7", 5_000_000, 0, Source::DenyCache);
    }
    told.add("login", b"10.0.0.1", 0, 0, Source::Redis);
    told.add("login", b"\x1b[2J\n, {}\xff", 0, 9_000_000, Source::Redis);
    told.add("api", b"k", 500_000, 0, Source::Closed);
    let login: Arc<str> = "login".into();
    let whose = Whose { name: &login, scope: None, asks: Source::Redis };
    let error = Error::new(Code::Timeout, "no answer");
    told.buffer.add(&whose, || panic!("nobody asks for the key"), Err(&error), told.now);

    let (report, _) = told.read();
    assert_eq!((report.at, report.covers, report.lost), (AT, 1_000_000, 2));
    assert_eq!((&*report.host, report.process, &*report.by), ("web-3", 4711, "python/1.0.0"));
    assert_eq!((report.count(Outcome::Denied), report.count(Outcome::Error)), (5, 1));
    let [login, api] = &report.limiters[..] else { panic!("{report:?}") };
    assert_eq!((&*login.name, &*api.name), (&b"login"[..], &b"api"[..]), "the one that denies most is the first");
    let decided = |result, source, count| Decided { result, source, count };
    assert_eq!(
        login.decisions,
        [
            decided(Outcome::Allowed, Source::Redis, 1),
            decided(Outcome::Denied, Source::Redis, 1),
            decided(Outcome::Denied, Source::DenyCache, 3),
            decided(Outcome::Error, Source::Redis, 1)
        ]
    );
    // A second has passed since, and of what waits less nothing is left.
    let denied = |key: &[u8], count, why, left| DeniedKey {
        key: key.to_vec(),
        scope: None,
        count,
        over: 0,
        why,
        until: Some(AT + left),
    };
    let rule = || Why::Rule("10/minute".into());
    assert_eq!(
        login.denied,
        [denied(b"203.0.113.7", 3, rule(), 4_000_000), denied(b"\x1b[2J\n, {}\xff", 1, Why::Blocked, 8_000_000)]
    );
    assert_eq!(api.denied, [denied(b"k", 1, Why::Closed, 0)]);
}

#[test]
fn the_rule_that_denies_longest_is_the_reason() {
    let name = Arc::<str>::from("login");
    for rules in [[rule(10, 2_000_000), rule(20, 9_000_000)], [rule(20, 9_000_000), rule(10, 2_000_000)]] {
        let mut told = Told::new();
        let decision = Decision::combine(&name, rules, 0, 1, false, Source::Redis);
        let whose = Whose { name: &name, scope: None, asks: Source::Redis };
        told.buffer.add(&whose, || Cow::Borrowed(b"k"), Ok(&decision), told.now);
        let denied = &told.read().0.limiters[0].denied[0];
        assert_eq!((denied.why.as_str(), denied.until), ("20/minute", Some(AT + 8_000_000)));
    }
}

#[test]
fn scopes_and_what_is_never_admitted_are_told() {
    let (mut told, name) = (Told::new(), Arc::<str>::from("bulk"));
    let mut never = decision(&name, 1, 0, Source::Redis);
    never.rules[0].retry_after = None;
    never.retry_after = None;
    for scope in [None, Some(&b"a"[..]), Some(b"b")] {
        let whose = Whose { name: &name, scope, asks: Source::Redis };
        told.buffer.add(&whose, || Cow::Borrowed(b"k"), Ok(&never), told.now);
    }
    let (report, _) = told.read();
    let denied = &report.limiters[0].denied;
    let mut scopes: Vec<_> = denied.iter().map(|denied| denied.scope.as_deref()).collect();
    scopes.sort();
    assert_eq!(scopes, [None, Some(&b"a"[..]), Some(b"b")]);
    assert!(denied.iter().all(|denied| denied.until.is_none() && denied.why.as_str() == "10/minute"));
}

#[test]
fn what_has_no_room_is_added_up_or_left_out() {
    let mut told = Told::new();
    let long = |number: usize| format!("{number:04}{}", "x".repeat(1_020));
    for number in 0..100 {
        for _ in 0..=number {
            told.add(&long(number), long(number).as_bytes(), 1_000_000, 0, Source::Redis);
        }
    }
    let (report, size) = told.read();
    assert!(size < 10_000, "{size} bytes");
    assert_eq!(report.count(Outcome::Denied), 5_050, "every decision is counted");
    let (others, named) = report.limiters.split_last().unwrap();
    // The first 64 that came are counted by name; of these the busiest have room.
    assert_eq!((&*others.name, &*named[0].name), (&b""[..], long(63).as_bytes()));
    let denied: Vec<_> = named.iter().flat_map(|limiter| &limiter.denied).collect();
    assert_eq!((&*denied[0].key, denied[0].count), (long(99).as_bytes(), 100), "the key that is denied most has room");
    assert!(denied.len() < 5 && named.iter().any(|limiter| limiter.name == long(99).as_bytes()));

    let mut told = Told::new();
    for number in 0..1_000_u32 {
        (0..number / 40).for_each(|_| told.add("l", format!("k{number}").as_bytes(), 1, 0, Source::Redis));
    }
    let (report, _) = told.read();
    assert_eq!(report.limiters[0].denied.len(), MAX_DENIED);
}

#[test]
fn what_is_damaged_or_of_others_is_left_out() {
    let read = |fields: &[(&str, &str)]| Report::read(ID, fields);
    assert_eq!(read(&[]), None);
    assert_eq!(read(&[("e", "stock")]), None);
    assert_eq!(read(&[("v", "2")]), None);
    for id in [&b""[..], b"x-1", b"99999999999999999999-0", b"18446744073709551615-0", b"\xff"] {
        assert_eq!(Report::read(id, &[("v", "1")]), None);
    }
    let whole = [
        ("v", "1"),
        ("host", "h"),
        ("pid", "-1"),
        ("new", "field"),
        ("ms", "18446744073709551615"),
        ("decisions", "allowed redis 1"),
        ("limiter", "a"),
        ("denied", "1 0 5 10/minute"),
        ("decisions", "allowed redis 1, allowed redis 9, allowed mars 1, maybe redis 1, denied redis, denied redis -1"),
        ("key", "k"),
        ("denied", "1 0 18446744073709551615 10/minute"),
        ("key", "k"),
        ("denied", "1 0 5"),
        ("key", "left"),
        ("limiter", "b"),
        ("denied", "1 0 5 10/minute"),
        ("key", "k"),
        ("denied", "1 0 5 words  of\ta later version"),
    ];
    let report = read(&whole).unwrap();
    assert_eq!((report.process, report.covers), (0, u64::MAX));
    let [a, b] = &report.limiters[..] else { panic!("{report:?}") };
    assert_eq!(a.decisions, [Decided { result: Outcome::Allowed, source: Source::Redis, count: 1 }]);
    assert_eq!((a.denied.len(), b.denied.len()), (0, 1));
    assert_eq!(b.denied[0].why, Why::Rule("words  of\ta later version".into()));
    // Any byte may be another one.
    for at in 0..whole.len() {
        let (field, value) = whole[at];
        for place in 0..field.len() + value.len() {
            let (mut field, mut value) = (field.as_bytes().to_vec(), value.as_bytes().to_vec());
            match place.checked_sub(field.len()) {
                Some(place) => value[place] ^= 0x80,
                None => field[place] = b'9',
            }
            let mut damaged = whole.map(|(field, value)| (field.as_bytes().to_vec(), value.as_bytes().to_vec()));
            damaged[at] = (field, value);
            Report::read(ID, &damaged);
            Report::read(ID, &damaged[at..]);
        }
    }
}
