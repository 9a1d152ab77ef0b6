//! What a cache does when Redis goes away in the midst: between look and store, before it can be listened to, and while many
//! wait.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use quotalock::driver::Loading;
use quotalock::{
    Cache, CacheOptions, Client, Code, Error, Got, MAX_VALUE_BYTES, OnceOptions, Part, Ticket, WhenAway, testing,
};
use quotalock_tests::caches::{WAYS, Way, get, run, ticket};
use quotalock_tests::futures::block_on;
use quotalock_tests::gate::Gate;
use quotalock_tests::own_server::OwnServer;
use quotalock_tests::{client, fresh_prefix, is_away, servers};

const LONG: Duration = Duration::from_secs(20);

fn options(when_away: WhenAway) -> CacheOptions {
    CacheOptions { when_away, ..CacheOptions::default() }
}

#[test]
fn who_loads_when_redis_is_away_keeps_its_value_when_redis_goes_away_meanwhile() {
    for (name, url) in servers() {
        let ends: [fn(&Gate); 2] = [Gate::hang_up, Gate::mute];
        for (way, end) in WAYS.into_iter().zip(ends.into_iter().cycle()) {
            let gate = Gate::before(&url);
            let client = gate.client(&fresh_prefix("fill"));
            let loads = client.cache("loads", CacheOptions { negative: Some(0), ..options(WhenAway::Load) }).unwrap();
            let raises = client.cache("raises", options(WhenAway::Raise)).unwrap();
            let once = client.once("once", OnceOptions::default()).unwrap();
            let keys: [&[u8]; 4] = [b"value", b"none", b"error", b"in place"];
            let tickets = keys.map(|key| ticket(get(way, &loads, key, Duration::ZERO)));
            let raising = ticket(get(way, &raises, b"x", Duration::ZERO));
            let running = ticket(once.begin(b"x", Duration::ZERO).unwrap().run());
            assert!(tickets.iter().all(|ticket| ticket.token() > 0), "{name}");
            end(&gate);
            let [value, none, error, _] = &tickets;
            assert!(!value.fill(Some(b"v".to_vec())).unwrap().run().unwrap(), "{name} {way:?}: it is not stored");
            assert!(!block_on(value.fill(Some(b"v".to_vec())).unwrap()).unwrap(), "{name} {way:?}");
            assert!(!none.fill(None).unwrap().run().unwrap(), "{name} {way:?}");
            assert!(!error.fail(Some("no such table")).run().unwrap(), "{name} {way:?}");
            // Who asked for errors has them, since nobody knows whether it is stored.
            for ticket in [&raising, &running] {
                let error = ticket.fill(Some(b"v".to_vec())).unwrap().run().err().unwrap();
                assert!(is_away(&error), "{name} {way:?}: {error}");
            }
        }
    }
}

#[test]
fn loading_in_place_returns_what_could_not_be_stored() {
    for (name, url) in servers() {
        for when_away in [WhenAway::Load, WhenAway::Raise] {
            let gate = Gate::before(&url);
            let cache = gate.client(&fresh_prefix("with")).cache("home", options(when_away)).unwrap();
            let load = || {
                gate.hang_up();
                Ok::<_, Error>(Some(b"v".to_vec()))
            };
            let got = Loading::from(cache.get(b"x", Duration::ZERO).unwrap()).run_with(load);
            match when_away {
                WhenAway::Load => assert_eq!(got.unwrap().unwrap().as_slice(), b"v", "{name}"),
                _ => assert!(is_away(&got.err().unwrap()), "{name}"),
            }
        }
    }
}

/// The tickets of keys that nobody has loaded.
fn tickets(cache: &Cache, keys: &[String]) -> Vec<Ticket> {
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let parts = cache.get_many(&keys, Duration::ZERO).unwrap().run().unwrap();
    let load = |part| if let Part::Got(got) = part { ticket(Ok(got)) } else { panic!("no ticket but {part:?}") };
    parts.into_iter().map(load).collect()
}

#[test]
fn several_values_are_stored_together_whatever_becomes_of_the_connection() {
    for own in OwnServer::each() {
        let (name, url) = (own.name(), own.url());
        let gate = Gate::before(url);
        let cache = gate.client(&fresh_prefix("together")).cache("home", CacheOptions::default()).unwrap();
        let happens: [&dyn Fn(); 3] = [&|| {}, &|| gate.cut(), &|| {
            own.command(&["SCRIPT", "FLUSH"]);
        }];
        for (turn, what) in happens.into_iter().enumerate() {
            let keys: Vec<String> = (0..300).map(|key| format!("{turn}:{key}")).collect();
            let loaded = tickets(&cache, &keys).into_iter().zip(keys.iter().map(|key| Some(key.clone().into_bytes())));
            let loaded = loaded.collect();
            what();
            Ticket::fill_all(loaded, &mut || false).unwrap();
            for key in &keys {
                let seen = cache.peek(key.as_bytes()).unwrap().run().unwrap();
                let value = seen.and_then(|seen| seen.value).map(|value| value.to_vec());
                assert_eq!(value, Some(key.clone().into_bytes()), "{name}");
            }
        }
        let keys: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let values = [Some(b"x".to_vec()), Some(vec![0; MAX_VALUE_BYTES + 1]), None];
        let refused = Ticket::fill_all(tickets(&cache, &keys).into_iter().zip(values).collect(), &mut || false);
        assert_eq!(refused.err().unwrap().code(), Code::InvalidArgument, "{name}");
        let found = |key: &[u8]| cache.peek(key).unwrap().run().unwrap().is_some();
        assert!(found(b"a") && !found(b"b") && found(b"c"), "{name}");
        drop(ticket(cache.get(b"b", Duration::ZERO).unwrap().run()));
        // What cannot be told ends by itself; nobody waits for it one by one.
        let keys: Vec<String> = (0..100).map(|key| format!("muted:{key}")).collect();
        let (failing, filling) = (tickets(&cache, &keys[..50]), tickets(&cache, &keys[50..]));
        gate.mute();
        let began = Instant::now();
        Ticket::fail_all(&failing, Some("no such table"), &mut || false);
        let loaded = filling.into_iter().map(|ticket| (ticket, None)).collect();
        assert!(is_away(&Ticket::fill_all(loaded, &mut || false).err().unwrap()), "{name}");
        drop(failing);
        assert!(began.elapsed() < Duration::from_secs(4), "{name}: {:?}", began.elapsed());
    }
}

#[test]
fn who_cannot_listen_loads_or_raises() {
    for (name, url) in servers() {
        let (name, url) = (&name, &url);
        std::thread::scope(|scope| {
            for (way, when_away) in WAYS.into_iter().flat_map(|way| [(way, WhenAway::Load), (way, WhenAway::Raise)]) {
                scope.spawn(move || {
                    let (gate, prefix) = (Gate::before(url), fresh_prefix("deaf"));
                    let another = client(url, &prefix).cache("home", CacheOptions::default()).unwrap();
                    let _loading = ticket(another.get(b"x", Duration::ZERO).unwrap().run());
                    let cache = gate.client(&prefix).cache("home", options(when_away)).unwrap();
                    // Connected, but no further.
                    std::mem::forget(get(way, &cache, b"other", Duration::ZERO));
                    block_on(cache.peek(b"x").unwrap()).unwrap();
                    gate.close();
                    let began = Instant::now();
                    let got = get(way, &cache, b"x", LONG);
                    match when_away {
                        WhenAway::Load => assert_eq!(ticket(got).token(), 0, "{name} {way:?}"),
                        _ => assert!(is_away(&got.err().unwrap()), "{name} {way:?}"),
                    }
                    assert!(began.elapsed() < LONG / 2, "{name} {way:?}: {:?}", began.elapsed());
                });
            }
        });
    }
}

#[test]
fn who_waits_is_told_also_after_its_connections_were_cut() {
    for (name, url) in servers() {
        let (gate, prefix) = (Gate::before(&url), fresh_prefix("cut"));
        let another = client(&url, &prefix).cache("home", CacheOptions::default()).unwrap();
        let mine = ticket(another.get(b"x", Duration::ZERO).unwrap().run());
        let cache = gate.client(&prefix).cache("home", CacheOptions::default()).unwrap();
        let waiters = WAYS.map(|way| {
            let cache = cache.clone();
            std::thread::spawn(move || (get(way, &cache, b"x", LONG), Instant::now()))
        });
        std::thread::sleep(Duration::from_millis(300));
        gate.cut();
        std::thread::sleep(Duration::from_millis(500));
        assert!(mine.fill(Some(b"v".to_vec())).unwrap().run().unwrap(), "{name}");
        let filled = Instant::now();
        for (way, waiter) in WAYS.into_iter().zip(waiters) {
            let (got, at) = waiter.join().unwrap();
            assert!(matches!(got, Ok(Got::Found(_))), "{name} {way:?}: {got:?}");
            assert!(at.saturating_duration_since(filled) < Duration::from_secs(3), "{name} {way:?}");
        }
    }
}

/// Waits until the server lists so many channels of clients that wait, at each of these keys.
fn until_listed(client: &Client, keys: &BTreeSet<Vec<u8>>, count: usize) {
    const CHANNEL_BYTES: usize = 16;
    let give_up = Instant::now() + LONG;
    for key in keys {
        while testing::get(client, key).run().unwrap().is_none_or(|list| list.value.len() < count * CHANNEL_BYTES) {
            assert!(Instant::now() < give_up, "not all wait at {}", String::from_utf8_lossy(key));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn who_waits_outlasts_a_server_that_is_away_for_a_moment() {
    for (name, url) in servers() {
        for when_away in [WhenAway::Load, WhenAway::Raise] {
            let (gate, prefix) = (Gate::before(&url), fresh_prefix("moment"));
            let another = client(&url, &prefix);
            let mut listed = BTreeSet::new();
            let mine = ticket(another.cache("home", CacheOptions::default()).unwrap().get(b"x", LONG).unwrap().run());
            let runs = ticket(another.once("job", OnceOptions::default()).unwrap().begin(b"x", LONG).unwrap().run());
            let mut waiters = Vec::new();
            for way in WAYS {
                // The server lists each client that waits, once.
                let own = gate.client(&prefix);
                let cache = own.cache("home", options(when_away)).unwrap();
                let once = own.once("job", OnceOptions::default()).unwrap();
                for key in [cache.redis_key(b"x").unwrap(), once.redis_key(b"x").unwrap()] {
                    listed.insert([&*key, b":wait"].concat());
                }
                waiters.push((format!("{way:?}"), std::thread::spawn(move || get(way, &cache, b"x", LONG))));
                let begins = move || run(way, once.begin(b"x", LONG).unwrap());
                waiters.push((format!("once {way:?}"), std::thread::spawn(begins)));
            }
            until_listed(&another, &listed, WAYS.len());
            gate.hang_up();
            std::thread::sleep(Duration::from_millis(400));
            gate.open();
            for ticket in [mine, runs] {
                assert!(ticket.fill(Some(b"v".to_vec())).unwrap().run().unwrap(), "{name}");
            }
            for (way, waiter) in waiters {
                let got = waiter.join().unwrap();
                assert!(matches!(got, Ok(Got::Found(_))), "{name} {when_away:?} {way}: {got:?}");
            }
        }
    }
}

#[test]
fn all_who_wait_hear_at_the_same_time_that_redis_stays_away() {
    const WAITERS: usize = 40;
    for (name, url) in servers() {
        for when_away in [WhenAway::Load, WhenAway::Raise] {
            let (gate, prefix) = (Gate::before(&url), fresh_prefix("mute"));
            let another = client(&url, &prefix).cache("home", CacheOptions::default()).unwrap();
            let _loading = ticket(another.get(b"x", Duration::ZERO).unwrap().run());
            let cache = gate.client(&prefix).cache("home", options(when_away)).unwrap();
            let waiters: Vec<_> = (0..WAITERS)
                .map(|_| {
                    let cache = cache.clone();
                    std::thread::spawn(move || (get(Way::Awaited, &cache, b"x", LONG), Instant::now()))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(300));
            gate.mute();
            let muted = Instant::now();
            for waiter in waiters {
                let (got, at) = waiter.join().unwrap();
                // A rest of a second, what they outlast, and the timeout of one question, not of one for each.
                assert!(at - muted < Duration::from_secs(8), "{name} {when_away:?}: after {:?}", at - muted);
                match when_away {
                    WhenAway::Load => assert_eq!(ticket(got).token(), 0, "{name}"),
                    _ => assert!(is_away(&got.err().unwrap()), "{name}"),
                }
            }
        }
    }
}

/// Looks at many keys, never hears the answer, and tells whether others may load them soon after.
fn frees_what_it_never_heard_of(url: &str, when_away: WhenAway, awaited: bool) -> bool {
    let (gate, prefix) = (Gate::before(url), fresh_prefix("unheard"));
    let unheard = gate.client(&prefix).cache("home", options(when_away)).unwrap();
    let cache = client(url, &prefix).cache("home", CacheOptions::default()).unwrap();
    let keys: Vec<String> = (0..300).map(|key| format!("{key}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let many = |keys: &[&[u8]]| unheard.get_many(keys, Duration::ZERO).unwrap();
    // It is connected, and the scripts are known.
    let known = many(&[b"known"]);
    drop(if awaited { block_on(known) } else { known.run() }.unwrap());
    gate.deafen();
    let parts = if awaited { block_on(many(&keys)) } else { many(&keys).run() };
    assert_eq!(parts.is_ok(), when_away == WhenAway::Load, "{parts:?}");
    let is_free = |key: &&[u8]| cache.get(key, Duration::ZERO).unwrap().run().is_ok();
    let give_up = Instant::now() + Duration::from_secs(3);
    while !keys.iter().all(is_free) {
        if Instant::now() > give_up {
            return false;
        }
    }
    true
}

#[test]
fn who_never_heard_of_its_leases_frees_the_way() {
    for (name, url) in servers() {
        for (when_away, awaited) in [(WhenAway::Raise, false), (WhenAway::Raise, true), (WhenAway::Load, false)] {
            // There is little time for it, which a busy machine may not have.
            let frees = (0..5).any(|_| frees_what_it_never_heard_of(&url, when_away, awaited));
            assert!(frees, "{name} {awaited} {when_away:?}: leases are left");
        }
    }
}

#[test]
fn what_cannot_be_stored_costs_its_caller_one_timeout_however_many_there_are() {
    for (name, url) in servers() {
        let gate = Gate::before(&url);
        let cache = gate.client(&fresh_prefix("hanging")).cache("home", CacheOptions::default()).unwrap();
        let keys: Vec<String> = (0..100).map(|key| format!("{key}")).collect();
        let loaded = tickets(&cache, &keys).into_iter().map(|ticket| (ticket, None)).collect();
        gate.mute();
        let began = Instant::now();
        assert!(is_away(&Ticket::fill_all(loaded, &mut || false).err().unwrap()), "{name}");
        assert!(began.elapsed() < Duration::from_secs(3), "{name}: {:?}", began.elapsed());
    }
}
