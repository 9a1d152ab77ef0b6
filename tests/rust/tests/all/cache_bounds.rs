//! Looks at more than one call may answer: several calls serve them, and the caller is told as by one.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use quotalock::testing::single_flight::{self, Feature, Keys, Look, LookProgress, Looked};
use quotalock::{CacheOptions, Got, Options, Part, WhenAway, testing};
use quotalock_tests::futures::block_on;
use quotalock_tests::own_server::OwnServer;
use quotalock_tests::{client, fresh_prefix, stores};

const NOW: Duration = Duration::ZERO;
const START: u64 = 1_700_000_000_000_000;
/// Sizes of values, of which none is a key that has none: together with what is next to each, more and less than a mebibyte,
/// and exactly one.
const SIZES: [Option<usize>; 16] = [
    Some(400 << 10),
    None,
    Some(400 << 10),
    Some(400 << 10),
    Some(3 << 20),
    None,
    None,
    Some(2 << 20),
    Some(1 << 20),
    Some(0),
    Some(1),
    Some((1 << 20) - 1),
    Some(1),
    Some(1),
    Some(100),
    None,
];

/// How many calls those take: none answers more than a mebibyte, but for one value.
const CALLS: u64 = 8;

/// Every store, where nobody else calls; the servers end when they are dropped.
fn own_stores() -> (Vec<OwnServer>, Vec<(String, String)>) {
    let servers: Vec<OwnServer> = OwnServer::each().collect();
    let memory = [("memory".to_owned(), "memory://".to_owned())].into_iter();
    let all = memory.chain(servers.iter().map(|server| (server.name().to_owned(), server.url().to_owned()))).collect();
    (servers, all)
}

/// How often this server was called so far; memory is not asked.
fn calls(url: &str) -> u64 {
    let Some(address) = url.strip_prefix("redis://") else { return 0 };
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(b"INFO commandstats\r\nPING\r\n").unwrap();
    let lines = BufReader::new(connection).lines().map(Result::unwrap).take_while(|line| line != "+PONG");
    let counts = lines.filter_map(|line| line.strip_prefix("cmdstat_evalsha:calls=").map(str::to_owned));
    counts.map(|counts| counts.split(',').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn value(at: usize, size: usize) -> Vec<u8> {
    (0..size).map(|n| (n * 31 + at) as u8).collect()
}

#[test]
fn what_takes_several_calls_is_told_as_by_one() {
    let (_servers, stores) = own_stores();
    for (name, url) in stores {
        for awaited in [false, true] {
            let client = client(&url, &fresh_prefix("large"));
            let cache = client.cache("home", CacheOptions { beta: 0.0, ..CacheOptions::default() }).unwrap();
            let names: Vec<String> = (0..SIZES.len()).map(|n| format!("key:{n}")).collect();
            let keys: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            for (at, size) in SIZES.iter().enumerate() {
                if let Some(size) = size {
                    assert!(cache.put(keys[at], Some(value(at, *size))).unwrap().run().unwrap(), "{name}");
                }
            }
            // The last one is loaded by another.
            let busy = cache.get(keys[15], NOW).unwrap().run().unwrap();
            let before = calls(&url);
            let many = cache.get_many(&keys, NOW).unwrap();
            let parts = if awaited { block_on(many) } else { many.run() }.unwrap();
            assert_eq!(calls(&url) - before, if name == "memory" { 0 } else { CALLS }, "{name}");
            assert_eq!(parts.len(), SIZES.len(), "{name}");
            let mut tickets = Vec::new();
            for (at, part) in parts.into_iter().enumerate() {
                match (part, SIZES[at]) {
                    (Part::Got(Got::Found(seen)), Some(size)) => {
                        assert!(*seen.value.unwrap() == value(at, size), "{name}: {at}");
                    }
                    (Part::Got(Got::Load(ticket)), None) => tickets.push((at, ticket)),
                    (Part::Waits(_), None) if at == 15 => {}
                    (other, _) => panic!("{name}: {at} is {other:?}"),
                }
            }
            assert_eq!(tickets.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1, 5, 6], "{name}");
            for (at, ticket) in tickets {
                assert!(ticket.token() > 0 && ticket.fill(Some(vec![b'x'])).unwrap().run().unwrap(), "{name}: {at}");
            }
            drop(busy);
        }
    }
}

#[test]
fn a_thousand_keys_are_looked_at_in_their_order() {
    let (_servers, stores) = own_stores();
    for (name, url) in stores {
        let client = client(&url, &fresh_prefix("thousand"));
        let cache = client.cache("home", CacheOptions::default()).unwrap();
        let names: Vec<String> = (0..1_000).map(|n| format!("{{t}}{n}")).collect();
        let keys: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        for at in (0..1_000).step_by(7) {
            cache.put(keys[at], Some(names[at].clone().into())).unwrap().run().unwrap();
        }
        let before = calls(&url);
        let parts = cache.get_many(&keys, NOW).unwrap().run().unwrap();
        assert_eq!(calls(&url) - before, if name == "memory" { 0 } else { 4 }, "{name}");
        assert_eq!(parts.len(), 1_000);
        for (at, part) in parts.iter().enumerate() {
            match part {
                Part::Got(Got::Found(seen)) if at % 7 == 0 => {
                    assert_eq!(seen.value.as_ref().unwrap().as_slice(), keys[at], "{name}");
                }
                Part::Got(Got::Load(ticket)) if at % 7 != 0 => assert!(ticket.token() > 0, "{name}"),
                other => panic!("{name}: {at} is {other:?}"),
            }
        }
        // Nothing of it is left when nobody loads.
        drop(parts);
        assert!(cache.get_many(&keys, NOW).unwrap().run().unwrap().iter().all(|part| matches!(part, Part::Got(_))));
    }
}

#[test]
fn twin_and_script_tell_the_same_of_what_is_large() {
    let sides: Vec<_> = stores().into_iter().map(|(name, url)| (name, client(&url, &fresh_prefix("later")))).collect();
    let told: Vec<_> = sides
        .iter()
        .map(|(_, client)| {
            testing::set_time(client, Some(START)).unwrap();
            let cache = client.cache("home", CacheOptions::default()).unwrap();
            let keys: Vec<Keys> = (0..SIZES.len())
                .map(|n| {
                    let entry = cache.redis_key(format!("key:{n}").as_bytes()).unwrap();
                    let waiters = [entry.as_slice(), b":wait"].concat();
                    [entry, waiters]
                })
                .collect();
            for (at, size) in SIZES.iter().enumerate() {
                let put = |size| cache.put(format!("key:{at}").as_bytes(), Some(value(at, size))).unwrap().run();
                size.map(put).transpose().unwrap();
            }
            let look = |id: u8, ttl| Look {
                entries: keys.as_slice().into(),
                id: [id; 16],
                ttl,
                channel: Some([id; 16]),
                luck: vec![0; keys.len()],
                load_when_away: false,
                value_only: false,
                shown: "it".into(),
                feature: Feature::Cache,
                progress: LookProgress::default(),
            };
            let told: Vec<Vec<Looked>> = [(1, 0), (1, 10_000_000), (2, 10_000_000), (1, 10_000_000)]
                .map(|(id, ttl)| single_flight::look(client, look(id, ttl)).run().unwrap())
                .into();
            let stored: Vec<_> = keys
                .iter()
                .flatten()
                .map(|key| testing::get(client, key).run().unwrap().map(|stored| stored.value))
                .collect();
            (told, stored)
        })
        .collect();
    for (at, (name, _)) in sides.iter().enumerate() {
        assert!(told[at] == told[0], "{name}");
    }
    let busy = told[0].0[2].iter().filter(|looked| matches!(looked, Looked::Busy { .. })).count();
    assert_eq!(busy, SIZES.iter().filter(|size| size.is_none()).count());
}

#[test]
fn who_loads_without_redis_loads_all_of_it() {
    let options = Options { url: Some("redis://127.0.0.1:1".into()), ..Options::default() };
    let client = quotalock::Client::new(options).unwrap();
    let cache = client.cache("home", CacheOptions { when_away: WhenAway::Load, ..CacheOptions::default() }).unwrap();
    let names: Vec<String> = (0..600).map(|n| n.to_string()).collect();
    let keys: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    let parts = cache.get_many(&keys, NOW).unwrap().run().unwrap();
    let loads = |part: &Part| matches!(part, Part::Got(Got::Load(ticket)) if ticket.token() == 0);
    assert!(parts.len() == 600 && parts.iter().all(loads));
}
