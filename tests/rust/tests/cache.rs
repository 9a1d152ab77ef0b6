//! Caches and `once` through their handles: one loads, the others wait, are served what is stale, or hear of the failure.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use quotalock::{Cache, CacheOptions, Code, Got, OnceOptions, Result, Seen, Ticket};
use quotalock_tests::{client, fresh_prefix, stores};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future to its end on this thread.
fn block_on<T>(asked: impl IntoFuture<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(asked.into_future());
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut context) {
            return ready;
        }
        assert!(Instant::now() < give_up, "a future hangs");
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

/// How a value is got.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Here,
    AmongThreads,
    Awaited,
}

const WAYS: [Way; 3] = [Way::Here, Way::AmongThreads, Way::Awaited];

fn get(way: Way, cache: &Cache, key: &[u8], wait: Duration) -> Result<Got> {
    let getting = cache.get(key, wait).unwrap();
    match way {
        Way::Here => getting.run(),
        Way::AmongThreads => getting.run_among_threads(&mut || false),
        Way::Awaited => block_on(getting),
    }
}

fn options(fresh_ms: u64, stale_ms: u64, lease_ms: u64) -> CacheOptions {
    CacheOptions {
        fresh: fresh_ms * 1_000,
        stale: stale_ms * 1_000,
        lease: lease_ms * 1_000,
        ..CacheOptions::default()
    }
}

fn ticket(got: Result<Got>) -> Ticket {
    match got {
        Ok(Got::Load(ticket)) => ticket,
        other => panic!("no ticket but {other:?}"),
    }
}

fn found(got: Result<Got>) -> Seen {
    match got {
        Ok(Got::Found(seen)) => seen,
        other => panic!("no value but {other:?}"),
    }
}

fn text(seen: &Seen) -> Option<&str> {
    seen.value.as_ref().map(|value| std::str::from_utf8(value).unwrap())
}

fn fill(ticket: &Ticket, value: &str) -> bool {
    ticket.fill(Some(value.into())).unwrap().run().unwrap()
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
            let filled = Instant::now();
            assert!(fill(&mine, "hello"), "{name}");
            let (seen, at) = waiter.join().unwrap();
            assert_eq!((text(&seen), seen.stale), (Some("hello"), false), "{name}");
            assert!(at - filled < Duration::from_millis(500), "{name} {way:?}: woken after {:?}", at - filled);
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
            let cache = client.cache("home", CacheOptions { errors: 300_000, ..options(60_000, 0, 10_000) }).unwrap();
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
            std::thread::sleep(Duration::from_millis(350));
            drop(ticket(get(way, &cache, b"x", NOW)));
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
        let cache = client.cache("home", options(60_000, 0, 60)).unwrap();
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
fn the_first_claims() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("once"));
        let once = client.once("coupon", OnceOptions { ttl: 60_000_000, ..OnceOptions::default() }).unwrap();
        let claim = |value: &str| once.claim(b"a", Some(value.into())).unwrap().run().unwrap();
        let first = claim("1");
        assert!(first.first && first.value.as_deref().is_some_and(|value| value == b"1"), "{name}: {first:?}");
        let second = claim("2");
        assert!(!second.first && second.value.as_deref().is_some_and(|value| value == b"1"), "{name}: {second:?}");
        assert!((59_000_000..=60_000_000).contains(&second.left), "{name}: {second:?}");
        assert!(once.release(b"a").unwrap().run().unwrap());
        assert!(!once.release(b"a").unwrap().run().unwrap());
        assert!(once.claim(b"a", None).unwrap().run().unwrap().first, "{name}");
        assert_eq!(once.claim(b"a", None).unwrap().run().unwrap().value, None);
    }
}

#[test]
fn the_first_runs_and_the_others_get_its_result() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("run"));
        let once = client.once("order", OnceOptions::default()).unwrap();
        let mine = ticket(once.begin(b"42", NOW).unwrap().run());
        let claimed = once.claim(b"42", None).unwrap().run().unwrap();
        assert!(!claimed.first && claimed.running && claimed.left > 9_000_000, "{name}: {claimed:?}");
        let waiter = {
            let once = once.clone();
            std::thread::spawn(move || ticket(once.begin(b"42", LONG).unwrap().run()))
        };
        std::thread::sleep(Duration::from_millis(50));
        // A failure is not remembered: the next caller runs.
        assert!(mine.fail(Some("declined")).run().unwrap());
        let second = waiter.join().unwrap();
        assert!(fill(&second, "paid"), "{name}");
        assert_eq!(text(&found(once.begin(b"42", NOW).unwrap().run())), Some("paid"));
        assert_eq!(once.claim(b"42", None).unwrap().run().unwrap().value.unwrap().as_slice(), b"paid");
    }
}
