//! What a cache does on a server that takes nothing more, and what it costs a server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use quotalock::driver;
use quotalock::{Answer, Cache, CacheOptions, Code, Got, MAX_VALUE_BYTES, Part, Result, Seen};
use quotalock_tests::caches::ticket;
use quotalock_tests::elsewhere::{sink, submit};
use quotalock_tests::own_server::OwnServer;
use quotalock_tests::{client, fresh_prefix, stores};

const LONG: Duration = Duration::from_secs(20);

fn get(cache: &Cache, key: &[u8]) -> Result<Got> {
    cache.get(key, Duration::ZERO).unwrap().run()
}

fn text(got: Result<Got>) -> Option<String> {
    match got {
        Ok(Got::Found(Seen { value, .. })) => value.map(|value| String::from_utf8(value.to_vec()).unwrap()),
        other => panic!("no value but {other:?}"),
    }
}

#[test]
fn a_full_server_refuses_to_begin_but_lets_everything_end() {
    for server in OwnServer::each() {
        let (name, url) = (server.name(), server.url());
        let client = client(url, &fresh_prefix("full"));
        let options = CacheOptions { stale: 60_000_000, error_ttl: 60_000_000, ..CacheOptions::default() };
        let cache = client.cache("home", options).unwrap();
        let (filled, failed) = (ticket(get(&cache, b"x")), ticket(get(&cache, b"y")));
        let ready = ticket(get(&cache, b"z"));
        assert!(ready.fill(Some(b"v".to_vec())).unwrap().run().unwrap());
        let brief = CacheOptions { fresh: 1_000, stale: 60_000_000, ..CacheOptions::default() };
        let brief = client.cache("brief", brief).unwrap();
        assert!(brief.put(b"old", Some(b"v".to_vec())).unwrap().run().unwrap());
        std::thread::sleep(Duration::from_millis(2));
        let served = || assert_eq!(text(get(&brief, b"old")).as_deref(), Some("v"), "{name}: nobody can refresh it");
        // Redis before 7 has scripts write all the same.
        if name != "redis-6.2" {
            server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
            served();
            server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
        }
        server.command(&["CONFIG", "SET", "maxmemory", "1"]);
        served();
        let many = brief.get_many(&[b"old"], Duration::ZERO).unwrap().run().unwrap();
        assert!(matches!(many[..], [Part::Got(Got::Found(_))]), "{name}: {many:?}");
        let error = filled.fill(Some(b"v".to_vec())).unwrap().run().err().unwrap();
        assert!(error.code() == Code::Unavailable && error.message().contains("full"), "{name}: {error}");
        assert_eq!(get(&cache, b"new").err().unwrap().code(), Code::Unavailable, "{name}");
        assert_eq!(text(get(&cache, b"z")).as_deref(), Some("v"), "{name}: what is there is served");
        drop(filled);
        let again = get(&cache, b"x").err().unwrap();
        assert!(again.message().contains("full"), "{name}: nobody loads it, and nobody can: {again}");
        assert!(failed.fail(Some("full")).run().unwrap(), "{name}");
        assert_eq!(get(&cache, b"y").err().unwrap().code(), Code::LoadFailed, "{name}");
        assert!(cache.invalidate(b"z").unwrap().run().unwrap(), "{name}");
        assert!(cache.peek(b"z").unwrap().run().unwrap().is_none(), "{name}");
    }
}

#[test]
fn large_values_come_back_whole_and_larger_ones_are_refused() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("large"));
        let cache = client.cache("home", CacheOptions { lease: 60_000_000, ..CacheOptions::default() }).unwrap();
        let large: Vec<u8> = (0..MAX_VALUE_BYTES).map(|at| (at % 251) as u8).collect();
        for by_the_thread in [false, true] {
            let (sink, told) = sink();
            let began = Instant::now();
            let mine = ticket(get(&cache, b"large"));
            let op = mine.fill(Some(large.clone())).unwrap();
            let stored = match by_the_thread {
                false => op.run().map(Answer::new),
                true => match driver::submit(vec![(0, op.erased())], &sink).pop() {
                    Some((_, answer)) => answer,
                    None => told.recv_timeout(LONG).unwrap().1,
                },
            };
            assert!(stored.as_ref().is_ok_and(|done| done.get() == Some(&true)), "{name}: {stored:?}");
            let filled = began.elapsed();
            let found = match by_the_thread {
                false => get(&cache, b"large"),
                true => {
                    submit(cache.get(b"large", Duration::ZERO).unwrap(), 1, &sink);
                    told.recv_timeout(LONG).unwrap().1.and_then(Answer::take)
                }
            };
            let Ok(Got::Found(seen)) = found else { panic!("{name}: {:?}", found.err()) };
            assert!(seen.value.as_deref() == Some(&large), "{name}");
            println!("{name}: 64 MiB filled in {filled:?}, read in {:?}", began.elapsed() - filled);
            assert!(cache.invalidate(b"large").unwrap().run().unwrap());
        }
        let mine = ticket(get(&cache, b"x"));
        let refused = mine.fill(Some(vec![0; MAX_VALUE_BYTES + 1])).err().unwrap();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains("\"x\"") && refused.message().contains("67108865"), "{refused}");
        // Nothing is done: the ticket is as good as before.
        assert!(mine.fill(Some(b"x".to_vec())).unwrap().run().unwrap(), "{name}");
    }
}

/// How many scripts a server has run.
fn scripts_run(url: &str) -> u64 {
    let mut stream = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.write_all(b"INFO commandstats\r\nQUIT\r\n").unwrap();
    let mut stats = String::new();
    stream.read_to_string(&mut stats).unwrap();
    let calls = |line: &str| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next()?.parse().ok();
    stats.lines().find_map(calls).unwrap()
}

#[test]
fn who_finds_a_value_asks_once_and_a_crowd_asks_as_often_as_there_are_processes() {
    for server in OwnServer::each() {
        let (name, url) = (server.name(), server.url());
        let client = client(url, &fresh_prefix("calls"));
        let stale = client.cache("home", CacheOptions { fresh: 1_000, stale: 60_000_000, ..CacheOptions::default() });
        let stale = stale.unwrap();
        assert!(stale.put(b"x", Some(b"v".to_vec())).unwrap().run().unwrap());
        std::thread::sleep(Duration::from_millis(2));
        let loads = ticket(get(&stale, b"x"));
        let before = scripts_run(url);
        (0..200).for_each(|_| assert_eq!(text(get(&stale, b"x")).as_deref(), Some("v")));
        assert_eq!(scripts_run(url) - before, 200, "{name}");
        drop(loads);
        // A hundred futures of one process wait: once it was told, one of them asks for all.
        let loads = ticket(get(&stale, b"y"));
        let (sink, told) = sink();
        for number in 0..100 {
            submit(stale.get(b"y", LONG).unwrap(), number, &sink);
        }
        std::thread::sleep(Duration::from_millis(300));
        let before = scripts_run(url);
        assert!(loads.fill(Some(b"v".to_vec())).unwrap().run().unwrap());
        (0..100).for_each(|_| told.recv_timeout(LONG).unwrap().1.map(drop).unwrap());
        let asked = scripts_run(url) - before;
        // The fill, the one, and those whose rest was over just then.
        assert!((2..10).contains(&asked), "{name}: {asked}");
    }
}
