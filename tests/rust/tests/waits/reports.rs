//! What clients report to Redis, on real servers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use quotalock::reports::{MAX_REPORTS, Outcome, Report, Why, flush, redis_key};
use quotalock::{Client, Limiter, LimiterOptions, OnError, Options, Policy, Source};
use quotalock_tests::gate::Gate;
use quotalock_tests::operator::{ask, command, nodes};
use quotalock_tests::{ELSEWHERE, clusters, fresh_prefix, servers};

/// Longer than a machine stands still that is shared.
const PATIENCE: Duration = Duration::from_secs(30);
/// Held by who sends what all clients of the process have, and by who counts how often one sends.
static ALL: Mutex<()> = Mutex::new(());

fn reporting(url: &str, prefix: &str) -> Client {
    let options = Options {
        url: Some(url.into()),
        prefix: prefix.into(),
        timeout: Duration::from_secs(10),
        deny_cache_max: Duration::from_secs(60),
        report: true,
        ..Options::default()
    };
    Client::new(options).unwrap()
}

fn limiter(client: &Client, name: &str, policy: &str) -> Limiter {
    client.limiter(name, Policy::parse(policy).unwrap()).unwrap()
}

/// As bindings ask: who knows the answer at once, else by a call.
fn ask_for(limiter: &Limiter, key: &[u8]) -> bool {
    let at_once = limiter.consume_at_once(key, 1);
    at_once.unwrap_or_else(|| limiter.consume(key, 1).unwrap().run()).unwrap().allowed
}

enum Reply {
    Text(Vec<u8>),
    All(Vec<Reply>),
}

fn reply(stream: &mut impl BufRead) -> Reply {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    let (kind, rest) = line.trim_end().split_at(1);
    match kind {
        "*" => Reply::All((0..rest.parse().unwrap()).map(|_| reply(stream)).collect()),
        "$" => {
            let mut text = vec![0; rest.parse::<usize>().unwrap() + 2];
            stream.read_exact(&mut text).unwrap();
            text.truncate(text.len() - 2);
            Reply::Text(text)
        }
        // What another server of a cluster has.
        _ => Reply::All(Vec::new()),
    }
}

fn text(reply: &Reply) -> &[u8] {
    if let Reply::Text(text) = reply { text } else { panic!("no text") }
}

fn all(reply: &Reply) -> &[Reply] {
    if let Reply::All(all) = reply { all } else { panic!("no array") }
}

/// The reports that stand in the stream.
fn reports(url: &str, prefix: &str) -> Vec<Report> {
    let of_node = |url: String| {
        let mut stream = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
        let key = String::from_utf8(redis_key(prefix)).unwrap();
        stream.write_all(format!("XRANGE {key} - +\r\n").as_bytes()).unwrap();
        let entries = reply(&mut BufReader::new(stream));
        let read = |entry: &Reply| {
            let [id, fields] = all(entry) else { panic!("no entry") };
            let pairs: Vec<_> = all(fields).chunks(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
            Report::read(text(id), &pairs)
        };
        all(&entries).iter().filter_map(read).collect::<Vec<_>>()
    };
    nodes(url).into_iter().flat_map(of_node).collect()
}

/// Waits for reports that are enough.
fn when(url: &str, prefix: &str, enough: impl Fn(&[Report]) -> bool) -> Vec<Report> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let reports = reports(url, prefix);
        if enough(&reports) {
            return reports;
        }
        assert!(Instant::now() < give_up, "{reports:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn count(reports: &[Report], result: Outcome) -> u64 {
    reports.iter().map(|report| report.count(result)).sum()
}

fn decided(reports: &[Report]) -> u64 {
    Outcome::ALL.into_iter().map(|result| count(reports, result)).sum()
}

/// Every server and cluster.
fn everywhere() -> Vec<(String, String)> {
    let mut all = servers();
    all.extend(clusters());
    all
}

#[test]
fn a_burst_that_silence_follows_is_reported() {
    for (name, url) in everywhere() {
        let prefix = fresh_prefix("reports");
        let client = reporting(&url, &prefix);
        let (login, tried) = (limiter(&client, "login", "3/hour;20/day"), {
            let options = LimiterOptions { enforce: false, ..LimiterOptions::default() };
            client.limiter_with("tried", Policy::parse("1/hour").unwrap(), options).unwrap()
        });
        let before = Instant::now();
        let key = b"\x1b[2Jkey\xff\n{%}";
        assert_eq!((0..10).filter(|_| ask_for(&login, key)).count(), 3, "{name}");
        assert!((0..2).all(|_| ask_for(&tried, b"k")));
        let reports = when(&url, &prefix, |reports| decided(reports) == 12);
        let took = before.elapsed();
        assert_eq!(
            [Outcome::Allowed, Outcome::Denied, Outcome::WouldDeny].map(|result| count(&reports, result)),
            [4, 7, 1],
            "{name}"
        );
        for report in &reports {
            assert_eq!((report.process, report.by.split('/').next()), (u64::from(std::process::id()), Some("rust")));
            assert!(!report.host.is_empty() && report.lost == 0);
            assert!(report.covers >= 1_000_000 && report.covers <= took.as_micros() as u64, "{report:?}");
        }
        let last = reports.iter().rev().flat_map(|report| &report.limiters).find(|limiter| limiter.name == b"login");
        let denied = &last.unwrap().denied[0];
        assert_eq!((&*denied.key, &denied.why), (&key[..], &Why::Rule("3/hour".into())), "{name}");
        let left = denied.until.unwrap() - reports.last().unwrap().at;
        assert!((3_500_000_000..=3_600_000_000).contains(&left), "{name}: {left}");
        let from_memory = reports.iter().flat_map(|report| &report.limiters).flat_map(|limiter| &limiter.decisions);
        assert!(from_memory.into_iter().any(|decided| decided.source == Source::DenyCache), "{name}");
    }
}

#[test]
fn the_stream_ends_by_itself_and_keeps_only_so_many() {
    for (name, url) in servers() {
        if name == ELSEWHERE {
            continue;
        }
        let prefix = fresh_prefix("reports");
        let key = String::from_utf8(redis_key(&prefix)).unwrap();
        let old = "for i = 1, 100 do redis.call('XADD', KEYS[1], i .. '-1', 'v', '1') end return 1";
        command(&url, &["EVAL", old, "1", &key]);
        let many =
            format!("for i = 1, {} do redis.call('XADD', KEYS[1], '*', 'v', '1') end return 1", MAX_REPORTS + 900);
        command(&url, &["EVAL", &many, "1", &key]);
        let client = reporting(&url, &prefix);
        assert!(ask_for(&limiter(&client, "l", "9/hour"), b"k"));
        when(&url, &prefix, |reports| decided(reports) == 1);
        let number = |words: &[&str]| ask(&url, words)[1..].parse::<u64>().unwrap();
        let length = number(&["XLEN", &key]);
        assert!((MAX_REPORTS..=MAX_REPORTS + 100).contains(&length), "{name}: {length}");
        let ttl = number(&["PTTL", &key]);
        assert!((86_000_000..=86_400_000).contains(&ttl), "{name}: {ttl}");
        // Of a day before, nothing is left.
        assert!(ask(&url, &["XRANGE", &key, "-", "1000"]).starts_with("*0"), "{name}");
    }
}

#[test]
fn a_storm_of_denials_from_memory_is_counted_exactly_and_costs_a_call_a_second() {
    const STORM: u64 = 100_000;
    let (prefix, url) = (fresh_prefix("reports"), &servers()[0].1);
    let client = reporting(url, &prefix);
    let limiter = limiter(&client, "login", "5/hour");
    assert_eq!((0..6).filter(|_| ask_for(&limiter, b"k")).count(), 5);
    let before = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let storm =
                || (0..STORM / 4).for_each(|_| assert!(!limiter.consume_at_once(b"k", 1).unwrap().unwrap().allowed));
            scope.spawn(storm);
        }
    });
    let reports = when(url, &prefix, |reports| decided(reports) == STORM + 6);
    let seconds = before.elapsed().as_secs() as usize;
    assert!(reports.len() <= seconds + 1, "{} reports in {seconds} s", reports.len());
    assert_eq!((count(&reports, Outcome::Allowed), count(&reports, Outcome::Denied)), (5, STORM + 1));
    let keys = reports.iter().flat_map(|report| &report.limiters).flat_map(|limiter| &limiter.denied);
    assert_eq!(keys.map(|denied| denied.count).sum::<u64>(), STORM + 1);
}

#[test]
fn keys_as_long_as_may_be_are_told_and_many_of_them_take_bounded_room() {
    let (prefix, url) = (fresh_prefix("reports"), &servers()[0].1);
    let client = reporting(url, &prefix);
    let limiter = limiter(&client, &"n".repeat(1_024), "1/hour");
    let key = |number: usize| format!("{number:04}{}", "\u{1}".repeat(1_020)).into_bytes();
    for number in 0..500 {
        ask_for(&limiter, &key(number));
        (0..=number % 7).for_each(|_| assert!(!ask_for(&limiter, &key(number))));
    }
    (0..100).for_each(|_| assert!(!ask_for(&limiter, &key(499))));
    let reports = when(url, &prefix, |reports| count(reports, Outcome::Allowed) == 500);
    let denied: Vec<_> =
        reports.iter().flat_map(|report| &report.limiters).flat_map(|limiter| &limiter.denied).collect();
    assert!(denied.iter().any(|denied| denied.key == key(499)));
    assert!(denied.len() <= 4 * reports.len());
}

#[test]
fn closing_reports_what_is_left_and_so_does_the_end_of_a_process() {
    let _all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let url = &servers()[0].1;
    let closed = [
        |client: &Client| client.close(),
        |client: &Client| {
            assert!(client.close_elsewhere().unwrap().run().unwrap());
        },
    ];
    for close in closed {
        let prefix = fresh_prefix("reports");
        let client = reporting(url, &prefix);
        assert!(ask_for(&limiter(&client, "l", "9/hour"), b"k"));
        close(&client);
        assert_eq!(decided(&reports(url, &prefix)), 1);
        client.close();
        assert_eq!(reports(url, &prefix).len(), 1);
        // Also a stream that is never added to again is over some day.
        let ttl = ask(url, &["PTTL", &String::from_utf8(redis_key(&prefix)).unwrap()]);
        assert_ne!(ttl, ":-1");
    }
    let prefix = fresh_prefix("reports");
    let client = reporting(url, &prefix);
    let limiter = limiter(&client, "l", "9/hour");
    for turn in 1..=2 {
        assert!(ask_for(&limiter, b"k"));
        flush();
        assert_eq!(decided(&reports(url, &prefix)), turn);
    }
}

#[test]
fn a_client_that_was_let_go_of_reports_all_the_same() {
    let (prefix, url) = (fresh_prefix("reports"), &servers()[0].1);
    assert!(ask_for(&limiter(&reporting(url, &prefix), "l", "9/hour"), b"k"));
    when(url, &prefix, |reports| decided(reports) == 1);
}

#[test]
fn who_was_not_told_to_reports_nothing() {
    let (prefix, url) = (fresh_prefix("reports"), &servers()[0].1);
    let client = Client::new(Options { url: Some(url.clone()), prefix: prefix.clone(), ..Options::default() }).unwrap();
    assert!(
        client.limiter("l", Policy::parse("1/hour").unwrap()).unwrap().consume(b"k", 1).unwrap().run().unwrap().allowed
    );
    client.close();
    assert!(ask(url, &["EXISTS", &format!("{prefix}:reports")]).starts_with(":0"));
    let memory = reporting("memory://reports", &prefix);
    assert!(ask_for(&limiter(&memory, "l", "1/hour"), b"k"));
    assert!(memory.close_elsewhere().is_none());
}

#[test]
fn while_redis_is_away_reports_are_dropped_and_counted() {
    let (prefix, url) = (fresh_prefix("reports"), &servers()[0].1);
    let gate = Gate::before(url);
    let options = Options {
        url: Some(gate.url()),
        prefix: prefix.clone(),
        timeout: Duration::from_secs(2),
        on_error: OnError::Closed,
        report: true,
        ..Options::default()
    };
    let client = Client::new(options).unwrap();
    let limiter = limiter(&client, "l", "1000000/hour");
    assert!(ask_for(&limiter, b"k"));
    when(url, &prefix, |reports| decided(reports) == 1);
    gate.hang_up();
    let away = Instant::now();
    while away.elapsed() < Duration::from_millis(3_500) {
        assert!(!ask_for(&limiter, b"k"));
        std::thread::sleep(Duration::from_millis(10));
    }
    gate.reopen();
    let give_up = Instant::now() + PATIENCE;
    while !ask_for(&limiter, b"k") {
        assert!(Instant::now() < give_up);
        std::thread::sleep(Duration::from_millis(10));
    }
    let seconds = away.elapsed().as_secs();
    let reports = when(url, &prefix, |reports| count(reports, Outcome::Allowed) == 2);
    let lost: u64 = reports.iter().map(|report| report.lost).sum();
    assert!((1..=1 + seconds).contains(&lost), "{seconds} s: {reports:?}");
    assert_eq!(reports.first().map(|report| report.lost), Some(0));
}

#[test]
fn a_user_who_may_not_add_reports_decides_as_before() {
    let (name, url) = &servers()[0];
    if name == ELSEWHERE {
        return;
    }
    let _all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let prefix = fresh_prefix("reports");
    let rights = ["+eval", "+evalsha", "+time", "+getrange", "+set", "+del"];
    let keys = format!("~{prefix}:*");
    command(
        url,
        &[&["ACL", "SETUSER", &prefix, "on", ">secret", "resetkeys", &keys, "nocommands"][..], &rights].concat(),
    );
    let client = reporting(&url.replace("redis://", &format!("redis://{prefix}:secret@")), &prefix);
    let limiter = limiter(&client, "l", "1000000/hour");
    // Long enough for several reports; a refusal is answered by one try in a minute. One call after the other, so that some
    // are decided while the refusal is on its way.
    let before = Instant::now();
    while before.elapsed() < Duration::from_millis(3_500) {
        assert!(ask_for(&limiter, b"k"));
    }
    let log = ask(url, &["ACL", "LOG", "100"]);
    // Refusals that are alike are one entry, which begins with how many they are.
    let refused: Vec<&str> = log
        .split("\r\ncount\r\n:")
        .filter(|entry| entry.contains(&prefix) && entry.contains("\r\nxtrim\r\n"))
        .filter_map(|entry| entry.split("\r\n").next())
        .collect();
    assert_eq!(refused, ["1"], "{log}");
    assert!(reports(url, &prefix).is_empty());
}
