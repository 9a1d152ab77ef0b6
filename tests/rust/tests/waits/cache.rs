//! Caches and `once` through their handles: one loads, the others wait, are served what is stale, or hear of the failure.

use std::future::IntoFuture;
use std::task::Context;
use std::time::{Duration, Instant};

use quotalock::driver::{self, Loading, LoopLink};
use quotalock::{Answer, CacheOptions, Client, Code, Error, Got, OnceOptions, Options, Part, WhenAway, testing};
use quotalock_tests::caches::{WAYS, Way, fill, found, get, text, ticket};
use quotalock_tests::elsewhere::{sink, submit};
use quotalock_tests::futures::{block_on, waker};
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{client, fresh_prefix, stores};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);

fn options(fresh_ms: u64, stale_ms: u64, lease_ms: u64) -> CacheOptions {
    CacheOptions {
        fresh: fresh_ms * 1_000,
        stale: stale_ms * 1_000,
        lease: lease_ms * 1_000,
        ..CacheOptions::default()
    }
}

#[test]
fn one_loads_and_the_others_get_it() {
    for (name, url) in stores() {
        for way in WAYS {
            let client = client(&url, &fresh_prefix("cache"));
            let cache = client.cache("home", options(60_000, 0, 10_000)).unwrap();
            let mine = ticket(get(way, &cache, b"x", NOW));
            assert!(mine.token() > 0 && mine.at_hand().is_none(), "{name}");
            let late = get(way, &cache, b"x", NOW).err().unwrap();
            assert_eq!(late.code(), Code::Timeout, "{name}: {late}");
            assert!(
                late.message().contains("cache \"home\" for \"x\"") && late.message().contains("at once"),
                "{late}"
            );
            let waiter = {
                let cache = cache.clone();
                std::thread::spawn(move || {
                    let got = get(way, &cache, b"x", LONG);
                    (found(got), Instant::now())
                })
            };
            std::thread::sleep(Duration::from_millis(150));
            let (stalls, filled) = (Stalls::watch(), Instant::now());
            assert!(fill(&mine, "hello"), "{name}");
            let (seen, at) = waiter.join().unwrap();
            assert_eq!((text(&seen), seen.stale), (Some("hello"), false), "{name}");
            let bound = Duration::from_millis(500) + stalls.lost();
            assert!(at - filled < bound, "{name} {way:?}: woken after {:?}", at - filled);
            assert_eq!(text(&found(get(way, &cache, b"x", NOW))), Some("hello"));
            assert_eq!(text(&cache.peek(b"x").unwrap().run().unwrap().unwrap()), Some("hello"));
            assert!(cache.invalidate(b"x").unwrap().run().unwrap(), "{name}");
            assert!(!cache.invalidate(b"x").unwrap().run().unwrap(), "{name}");
            assert!(cache.peek(b"x").unwrap().run().unwrap().is_none(), "{name}");
            drop(ticket(get(way, &cache, b"x", NOW)));
        }
    }
}

#[test]
fn what_is_stale_is_served_at_once_and_refreshed_by_one() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("stale"));
        let cache = client.cache("home", options(50, 60_000, 10_000)).unwrap();
        assert!(fill(&ticket(get(Way::Here, &cache, b"x", NOW)), "old"));
        std::thread::sleep(Duration::from_millis(80));
        let mine = ticket(get(Way::Here, &cache, b"x", NOW));
        assert_eq!(mine.at_hand().map(text), Some(Some("old")), "{name}");
        for way in WAYS {
            let seen = found(get(way, &cache, b"x", LONG));
            assert_eq!((text(&seen), seen.stale), (Some("old"), true), "{name}");
            assert!(seen.age >= 80_000, "{name}: {}", seen.age);
        }
        assert!(fill(&mine, "new"));
        assert_eq!(
            cache.peek(b"x").unwrap().run().unwrap().map(|seen| text(&seen).map(str::to_owned)),
            Some(Some("new".into()))
        );
    }
}

#[test]
fn a_failure_reaches_those_who_wait_and_for_a_while_those_who_come() {
    for (name, url) in stores() {
        for way in WAYS {
            let client = client(&url, &fresh_prefix("fail"));
            let cache =
                client.cache("home", CacheOptions { error_ttl: 60_000_000, ..options(60_000, 0, 10_000) }).unwrap();
            let mine = ticket(get(way, &cache, b"x", NOW));
            let waiter = {
                let cache = cache.clone();
                std::thread::spawn(move || get(way, &cache, b"x", LONG))
            };
            std::thread::sleep(Duration::from_millis(100));
            assert!(mine.fail(Some("no such table")).run().unwrap(), "{name}");
            let theirs = waiter.join().unwrap().err().unwrap();
            assert_eq!(theirs.code(), Code::LoadFailed, "{name} {way:?}: {theirs}");
            assert!(theirs.message().contains("no such table"), "{theirs}");
            assert_eq!(get(way, &cache, b"x", NOW).err().unwrap().code(), Code::LoadFailed, "{name}");
            let soon = client.cache("soon", CacheOptions { error_ttl: 50_000, ..options(60_000, 0, 10_000) }).unwrap();
            assert!(ticket(get(way, &soon, b"x", NOW)).fail(Some("no such table")).run().unwrap(), "{name}");
            std::thread::sleep(Duration::from_millis(60));
            drop(ticket(get(way, &soon, b"x", NOW)));
        }
    }
}

#[test]
fn a_ticket_that_is_dropped_frees_the_way() {
    for (name, url) in stores() {
        for way in WAYS {
            let client = client(&url, &fresh_prefix("drop"));
            let cache = client.cache("home", options(60_000, 0, 60_000)).unwrap();
            drop(ticket(get(way, &cache, b"x", NOW)));
            let again = ticket(get(way, &cache, b"x", LONG));
            assert!(fill(&again, "x"), "{name}");
        }
    }
}

#[test]
fn a_late_loader_does_not_overwrite_what_is_newer() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("late"));
        // A token is good for ten leases: longer than a machine stands still.
        let cache = client.cache("home", options(60_000, 0, 500)).unwrap();
        let slow = ticket(get(Way::Here, &cache, b"x", NOW));
        let second = ticket(get(Way::Here, &cache, b"x", LONG));
        assert!(second.token() > slow.token(), "{name}");
        assert!(fill(&second, "newer"));
        assert!(!fill(&slow, "older"), "{name}");
        assert_eq!(text(&found(get(Way::Here, &cache, b"x", NOW))), Some("newer"));
        assert!(fill(&second, "newer"), "{name}: what is stored again under its token is stored");
        // What is being loaded when the key is invalidated is not stored.
        let late = ticket(get(Way::Here, &client.cache("other", options(60_000, 0, 10_000)).unwrap(), b"x", NOW));
        let other = client.cache("other", options(60_000, 0, 10_000)).unwrap();
        assert!(other.invalidate(b"x").unwrap().run().unwrap());
        assert!(!fill(&late, "older"), "{name}");
        assert!(!late.fail(Some("x")).run().unwrap());
        assert!(other.put(b"x", Some(b"put".to_vec())).unwrap().run().unwrap());
        assert_eq!(text(&found(get(Way::Here, &other, b"x", NOW))), Some("put"));
    }
}

#[test]
fn several_keys_are_one_look() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("many"));
        let cache = client.cache("home", options(60_000, 0, 10_000)).unwrap();
        let busy = ticket(get(Way::Here, &cache, b"busy", NOW));
        assert!(cache.put(b"there", Some(b"1".to_vec())).unwrap().run().unwrap());
        for awaited in [false, true] {
            let keys: [&[u8]; 3] = [b"there", b"busy", if awaited { b"new" } else { b"other" }];
            let many = cache.get_many(&keys, LONG).unwrap();
            let parts = if awaited { block_on(many) } else { many.run() }.unwrap();
            let [Part::Got(Got::Found(there)), Part::Waits(_), Part::Got(Got::Load(mine))] = &parts[..] else {
                panic!("{name}: {parts:?}");
            };
            assert_eq!(text(there), Some("1"), "{name}");
            assert!(fill(mine, "2"));
        }
        let getting = match cache.get_many(&[b"busy"], LONG).unwrap().run().unwrap().pop() {
            Some(Part::Waits(getting)) => getting,
            other => panic!("{name}: {other:?}"),
        };
        let waiter = std::thread::spawn(move || getting.run());
        std::thread::sleep(Duration::from_millis(30));
        assert!(fill(&busy, "3"));
        assert_eq!(text(&found(waiter.join().unwrap())), Some("3"), "{name}");
        assert!(busy.fail(Some("late")).run().is_ok_and(|ended| !ended));
    }
}

#[test]
fn a_hundred_waiters_of_a_loop_get_it_at_once() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("loop"));
        let cache = client.cache("home", options(60_000, 0, 30_000)).unwrap();
        let mine = ticket(get(Way::Here, &cache, b"x", NOW));
        let (sink, told) = sink();
        let mut link: LoopLink<u64> = LoopLink::new(|_| true).unwrap();
        for number in 0..100 {
            let get = cache.get(b"x", LONG).unwrap();
            // Half ask first on a connection of their own.
            match number % 2 {
                0 => link.submit(get.erased(), number),
                _ => submit(get, number, &sink),
            }
        }
        let (mut waiting, began) = (0, Instant::now());
        while waiting < 50 {
            assert!(began.elapsed() < LONG, "{name}: {waiting} wait");
            link.wake();
            assert!(link.take_done().is_empty(), "{name}");
            waiting += link.take_waiting().count();
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(100));
        assert!(told.try_recv().is_err(), "{name}");
        let (stalls, filled) = (Stalls::watch(), Instant::now());
        assert!(fill(&mine, "hello"));
        let mut numbers = Vec::new();
        while numbers.len() < 100 {
            link.wake();
            for (number, answer) in told.try_iter().chain(link.take_done()) {
                let got: Got = answer.and_then(Answer::take).unwrap();
                assert_eq!(text(&found(Ok(got))), Some("hello"), "{name}");
                numbers.push(number);
            }
            assert!(filled.elapsed() < LONG, "{name}: only {numbers:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = filled.elapsed();
        assert!(took < Duration::from_millis(500) + stalls.lost(), "{name}: {took:?}");
        numbers.sort_unstable();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_waiter_that_is_taken_back_leaves_nothing() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("cancel"));
        let cache = client.cache("home", options(60_000, 0, 30_000)).unwrap();
        let mine = ticket(get(Way::Here, &cache, b"x", NOW));
        let (sink, told) = sink();
        submit(cache.get(b"x", LONG).unwrap(), 1, &sink);
        submit(cache.get(b"x", LONG).unwrap(), 2, &sink);
        std::thread::sleep(Duration::from_millis(100));
        driver::cancel(1, &sink);
        let (number, answer) = told.recv_timeout(LONG).unwrap();
        assert_eq!((number, answer.err().unwrap().code()), (1, Code::Closed), "{name}");
        // A future that is dropped leaves; one that is told to load does not keep the others waiting.
        let waker = waker();
        let mut future = cache.get(b"x", LONG).unwrap().into_future();
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        std::thread::sleep(Duration::from_millis(50));
        drop(future);
        for among_threads in [false, true] {
            let mut asked = 0;
            let mut interrupted = || {
                asked += 1;
                asked > 2
            };
            let getting = cache.get(b"x", LONG).unwrap();
            let stopped = match among_threads {
                true => getting.run_among_threads(&mut interrupted),
                false => getting.run_interruptibly(&mut interrupted),
            };
            assert_eq!(stopped.err().unwrap().code(), Code::Internal, "{name}");
        }
        assert!(mine.fail(None).run().unwrap(), "{name}");
        let (number, answer) = told.recv_timeout(LONG).unwrap();
        let Ok(Got::Load(ticket)) = answer.and_then(Answer::take) else { panic!("{name}: nothing to load") };
        assert_eq!(number, 2);
        assert!(fill(&ticket, "v"), "{name}");
        cache.invalidate(b"x").unwrap().run().unwrap();
        let mine = self::ticket(get(Way::Here, &cache, b"x", NOW));
        submit(cache.get(b"x", LONG).unwrap(), 3, &sink);
        std::thread::sleep(Duration::from_millis(50));
        client.close();
        let (number, answer) = told.recv_timeout(LONG).unwrap();
        assert_eq!((number, answer.err().unwrap().code()), (3, Code::Closed), "{name}");
        assert_eq!(mine.fill(None).unwrap().run().err().unwrap().code(), Code::Closed, "{name}");
    }
}

#[test]
fn what_is_nearly_stale_is_refreshed_by_one_while_the_others_are_served() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("early"));
        // It took 200 ms, so with beta 100 nobody is lucky enough to find it fresh for seconds.
        let cache = client.cache("home", CacheOptions { beta: 100.0, ..options(10_000, 0, 10_000) }).unwrap();
        let mine = ticket(get(Way::Here, &cache, b"x", NOW));
        std::thread::sleep(Duration::from_millis(200));
        assert!(fill(&mine, "old"));
        let give_up = Instant::now() + Duration::from_millis(8_000);
        let early = loop {
            match get(Way::Here, &cache, b"x", NOW).unwrap() {
                Got::Load(ticket) => break ticket,
                Got::Found(seen) => assert!(!seen.stale, "{name}"),
            }
            assert!(Instant::now() < give_up, "{name}: nobody refreshes");
        };
        let at_hand = early.at_hand().unwrap();
        assert_eq!((text(at_hand), at_hand.stale), (Some("old"), false), "{name}");
        for way in WAYS {
            assert_eq!(text(&found(get(way, &cache, b"x", NOW))), Some("old"), "{name}");
        }
        assert!(fill(&early, "new"), "{name}");
        let never = client.cache("home", CacheOptions { beta: 0.0, ..options(10_000, 0, 10_000) }).unwrap();
        (0..50).for_each(|_| assert_eq!(text(&found(get(Way::Here, &never, b"x", NOW))), Some("new")));
    }
}

#[test]
fn what_is_over_is_kept_only_for_tokens_that_may_still_be_used() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("kept"));
        let cache = client.cache("home", options(1_000, 1_000, 3_600_000)).unwrap();
        // The seconds that a key has left.
        let kept = |key: &[u8]| {
            let stored = testing::get(&client, &cache.redis_key(key).unwrap()).run().unwrap();
            stored.and_then(|stored| stored.ttl_ms).unwrap() / 1_000
        };
        let mine = ticket(get(Way::Here, &cache, b"used", NOW));
        assert!((35_900..=36_060).contains(&kept(b"used")), "{name}: {} while it is loaded", kept(b"used"));
        assert!(fill(&mine, "v"));
        assert!((50..=62).contains(&kept(b"used")), "{name}: {}", kept(b"used"));
        assert!(cache.put(b"put", Some(b"v".to_vec())).unwrap().run().unwrap());
        assert!((50..=62).contains(&kept(b"put")), "{name}: {}", kept(b"put"));
        drop(ticket(get(Way::Here, &cache, b"left", NOW)));
        assert!((50..=60).contains(&kept(b"left")), "{name}: {}", kept(b"left"));
        // What was put, or forgotten, while one loads must be remembered for as long as that one may come.
        let _slow = ticket(get(Way::Here, &cache, b"slow", NOW));
        assert!(cache.put(b"slow", Some(b"v".to_vec())).unwrap().run().unwrap());
        assert!((35_900..=36_060).contains(&kept(b"slow")), "{name}: {}", kept(b"slow"));
        let short = client.cache("home", options(1_000, 0, 500)).unwrap();
        let _slow = ticket(get(Way::Here, &cache, b"again", NOW));
        cache.invalidate(b"again").unwrap().run().unwrap();
        assert!(fill(&ticket(get(Way::Here, &short, b"again", LONG)), "v"), "{name}");
        assert!((35_900..=36_060).contains(&kept(b"again")), "{name}: {}", kept(b"again"));
    }
}

#[test]
fn the_defaults_are_those_of_the_spec() {
    let text = std::fs::read_to_string(quotalock_tests::spec::root().join("tests/spec/api.json")).unwrap();
    let api: serde_json::Value = serde_json::from_str(&text).unwrap();
    let ms = |of: &str, name: &str| api["defaults"][of][name].as_u64().map(|ms| ms * 1_000);
    let CacheOptions { fresh, stale, lease, negative, error_ttl, beta, when_away } = CacheOptions::default();
    assert_eq!([ms("cache", "fresh_ms"), ms("cache", "stale_ms")], [Some(fresh), Some(stale)]);
    assert_eq!([ms("cache", "lease_ms"), ms("cache", "error_ttl_ms")], [Some(lease), Some(error_ttl)]);
    assert_eq!(ms("cache", "negative_ms"), negative);
    assert_eq!(api["defaults"]["cache"]["beta"].as_f64(), Some(beta));
    assert_eq!(WhenAway::parse(api["defaults"]["cache"]["when_away"].as_str().unwrap()).unwrap(), when_away);
    let OnceOptions { ttl, lease, error_ttl } = OnceOptions::default();
    assert_eq!(
        [ms("once", "ttl_ms"), ms("once", "lease_ms"), ms("once", "error_ttl_ms")],
        [Some(ttl), Some(lease), Some(error_ttl)]
    );
}

#[test]
fn when_redis_is_away_it_raises_or_loads() {
    // Nobody listens there.
    let options_of_client = Options { url: Some("redis://127.0.0.1:1".into()), ..Options::default() };
    for way in WAYS {
        let client = Client::new(options_of_client.clone()).unwrap();
        let raises = client.cache("home", options(60_000, 0, 10_000)).unwrap();
        assert_eq!(get(way, &raises, b"x", NOW).err().unwrap().code(), Code::Unavailable);
        let loads = CacheOptions { when_away: WhenAway::Load, ..options(60_000, 0, 10_000) };
        let loads = client.cache("home", loads).unwrap();
        let mine = ticket(get(way, &loads, b"x", NOW));
        assert_eq!((mine.token(), mine.left()), (0, 0));
        assert!(!fill(&mine, "x") && !mine.fail(Some("x")).run().unwrap(), "there is nothing to store it in");
        let many = loads.get_many(&[b"x", b"y"], NOW).unwrap().run().unwrap();
        assert!(many.iter().all(|part| matches!(part, Part::Got(Got::Load(_)))));
        assert_eq!(loads.peek(b"x").unwrap().run().err().unwrap().code(), Code::Unavailable);
        assert_eq!(loads.put(b"x", None).unwrap().run().err().unwrap().code(), Code::Unavailable);
        let once = client.once("coupon", OnceOptions::default()).unwrap();
        assert_eq!(once.begin(b"x", NOW).unwrap().run().err().unwrap().code(), Code::Unavailable);
        assert_eq!(once.claim(b"x", None).unwrap().run().err().unwrap().code(), Code::Unavailable);
    }
}

#[test]
fn loading_in_place_stores_the_value_and_tells_of_the_error() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("with"));
        let cache = client.cache("home", options(60_000, 0, 10_000)).unwrap();
        let load = |value: &str| {
            let value = value.as_bytes().to_vec();
            Loading::from(cache.get(b"x", NOW).unwrap()).run_with(|| Ok::<_, Error>(Some(value))).unwrap()
        };
        assert_eq!(load("1").unwrap().as_slice(), b"1");
        assert_eq!(load("2").unwrap().as_slice(), b"1", "{name}");
        let failing = || Err(Error::new(Code::Internal, "no such table"));
        let raised = Loading::from(cache.get(b"y", NOW).unwrap()).run_with(failing).err().unwrap();
        assert_eq!(raised.message(), "no such table");
        let others = cache.get(b"y", NOW).unwrap().run().err().unwrap();
        assert_eq!(others.code(), Code::LoadFailed, "{name}");
    }
}
