//! Two hundred readers at once, of three clients that wait in three ways: one loads, whatever happens to it.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use quotalock::{Cache, CacheOptions, Client, Code, Got, Result, Seen};
use quotalock_tests::futures::block_on;
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{client, fresh_prefix, servers, stores};

const READERS: usize = 200;
const LONG: Duration = Duration::from_secs(30);
const LOAD: Duration = Duration::from_millis(500);
/// Tells this program that it is a process to be killed while it loads: its server and prefix.
const LOADER: &str = "QUOTALOCK_TEST_LOADER";
/// What that process is told to do: [`as_a_loader`].
const NAME: &str = "stampede::as_a_loader";

/// Three clients, as of three processes; in memory there is only one.
fn clients(url: &str, prefix: &str) -> [Client; 3] {
    let first = client(url, prefix);
    match url {
        "memory://" => [first.clone(), first.clone(), first],
        _ => [first, client(url, prefix), client(url, prefix)],
    }
}

/// A cache in each of three clients.
fn caches(url: &str, prefix: &str, options: &CacheOptions) -> Vec<Cache> {
    clients(url, prefix).iter().map(|client| client.cache("home", options.clone()).unwrap()).collect()
}

/// As [`caches`], with a value that has just ceased to be fresh.
fn caches_with_an_old_value(url: &str, stale: u64) -> Vec<Cache> {
    let (clients, options) = (clients(url, &fresh_prefix("crowd")), CacheOptions { stale, ..CacheOptions::default() });
    let short = clients[0].cache("home", CacheOptions { fresh: 50_000, ..options.clone() }).unwrap();
    assert!(short.put(b"x", Some(b"old".to_vec())).unwrap().run().unwrap());
    std::thread::sleep(Duration::from_millis(60));
    clients.iter().map(|client| client.cache("home", options.clone()).unwrap()).collect()
}

/// Gets a value in a reader's own way.
fn get(reader: usize, cache: &Cache) -> Result<Got> {
    let getting = cache.get(b"x", LONG).unwrap();
    match reader % 3 {
        0 => getting.run(),
        1 => getting.run_among_threads(&mut || false),
        _ => block_on(getting),
    }
}

/// What a crowd of readers saw.
#[derive(Default)]
struct Crowd {
    loads: AtomicUsize,
    /// When those who were to load had asked, and when they were told to.
    began: Mutex<Vec<(Instant, Instant)>>,
    seen: Mutex<Vec<(Duration, Option<String>, bool)>>,
    failed: AtomicUsize,
}

/// Has all readers get at once; each that is to load does so with `load`.
fn crowd(caches: &[Cache], load: impl Fn(usize, quotalock::Ticket, &Crowd) -> Option<String> + Sync) -> Crowd {
    let (crowd, together) = (Crowd::default(), Barrier::new(READERS));
    std::thread::scope(|scope| {
        for reader in 0..READERS {
            let (cache, crowd, together, load) = (&caches[reader % 3], &crowd, &together, &load);
            scope.spawn(move || {
                together.wait();
                let began = Instant::now();
                let (value, stale) = match get(reader, cache) {
                    Ok(Got::Found(Seen { value, stale, .. })) => {
                        (value.map(|value| String::from_utf8(value.to_vec()).unwrap()), stale)
                    }
                    Ok(Got::Load(ticket)) => {
                        crowd.began.lock().unwrap().push((began, Instant::now()));
                        (load(crowd.loads.fetch_add(1, Ordering::SeqCst), ticket, crowd), false)
                    }
                    Err(error) => {
                        assert_eq!(error.code(), Code::LoadFailed, "{error}");
                        crowd.failed.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                };
                crowd.seen.lock().unwrap().push((began.elapsed(), value, stale));
            });
        }
    });
    crowd
}

fn slowly(value: &str) -> impl Fn(usize, quotalock::Ticket, &Crowd) -> Option<String> + Sync {
    move |_, ticket, _| {
        std::thread::sleep(LOAD);
        assert!(ticket.fill(Some(value.into())).unwrap().run().unwrap());
        Some(value.to_owned())
    }
}

#[test]
fn at_expiry_one_loads_and_all_get_the_new_value() {
    for (name, url) in stores() {
        let caches = caches_with_an_old_value(&url, 0);
        let stalls = Stalls::watch();
        let crowd = crowd(&caches, slowly("new"));
        let stalled = stalls.lost();
        assert_eq!(crowd.loads.into_inner(), 1, "{name}");
        let seen = crowd.seen.into_inner().unwrap();
        assert!(seen.len() == READERS && seen.iter().all(|(_, value, _)| value.as_deref() == Some("new")), "{name}");
        let slowest = seen.iter().map(|(took, ..)| *took).max().unwrap();
        println!("{name}: the slowest of {READERS} had it after {slowest:?}");
        assert!(slowest < LOAD + Duration::from_secs(3) + stalled, "{name}: {slowest:?}");
    }
}

#[test]
fn what_is_stale_is_served_meanwhile() {
    for (name, url) in stores() {
        let caches = caches_with_an_old_value(&url, 60_000_000);
        let crowd = crowd(&caches, |_, ticket, crowd| {
            // Not before all others have come, however long the machine takes for that.
            let give_up = Instant::now() + LONG;
            while crowd.seen.lock().unwrap().len() < READERS - 1 {
                assert!(Instant::now() < give_up, "{name}: others wait");
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(ticket.fill(Some("new".into())).unwrap().run().unwrap());
            Some("new".to_owned())
        });
        assert_eq!(crowd.loads.into_inner(), 1, "{name}");
        let seen = crowd.seen.into_inner().unwrap();
        let stale: Vec<_> = seen.iter().filter(|(.., stale)| *stale).collect();
        assert_eq!((seen.len(), stale.len()), (READERS, READERS - 1), "{name}");
        assert!(stale.iter().all(|(_, value, _)| value.as_deref() == Some("old")), "{name}");
    }
}

#[test]
fn when_the_loader_dies_exactly_one_more_loads_after_its_lease() {
    for (name, url) in stores() {
        // Long enough for the second loader to finish, even if the machine stands still meanwhile.
        let lease = Duration::from_secs(4);
        let options = CacheOptions { lease: lease.as_micros() as u64, ..CacheOptions::default() };
        let caches = caches(&url, &fresh_prefix("crowd"), &options);
        let crowd = crowd(&caches, |number, ticket, crowd| {
            if number == 0 {
                // It takes its lease to the grave.
                std::mem::forget(ticket);
                return None;
            }
            slowly("new")(number, ticket, crowd)
        });
        assert_eq!(crowd.loads.into_inner(), 2, "{name}");
        let began = crowd.began.into_inner().unwrap();
        // The lease began after it was asked for.
        let between = began[1].1 - began[0].0;
        println!("{name}: the second load began {between:?} after the first was asked for");
        assert!(between >= lease && between < lease * 3, "{name}: {between:?}");
        let seen = crowd.seen.into_inner().unwrap();
        assert_eq!(seen.iter().filter(|(_, value, _)| value.as_deref() == Some("new")).count(), READERS - 1, "{name}");
    }
}

#[test]
fn when_the_loader_fails_all_hear_of_it_and_nobody_tries_at_once() {
    for (name, url) in stores() {
        let options = CacheOptions { error_ttl: 30_000_000, ..CacheOptions::default() };
        let caches = caches(&url, &fresh_prefix("crowd"), &options);
        let crowd = crowd(&caches, |_, ticket, _| {
            std::thread::sleep(LOAD);
            assert!(ticket.fail(Some("no such table")).run().unwrap());
            None
        });
        assert_eq!((crowd.loads.into_inner(), crowd.failed.into_inner()), (1, READERS - 1), "{name}");
    }
}

/// Not a test of its own: the process that [`a_killed_process`] starts.
#[test]
fn as_a_loader() {
    let Ok(given) = std::env::var(LOADER) else { return };
    let (url, prefix) = given.split_once(' ').unwrap();
    let cache =
        client(url, prefix).cache("home", CacheOptions { lease: 2_000_000, ..CacheOptions::default() }).unwrap();
    let _loading = cache.get(b"x", LONG).unwrap().run().unwrap();
    std::thread::sleep(LONG);
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_process_is_followed_by_one() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("crowd");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME]).env(LOADER, format!("{url} {prefix}")).stdout(Stdio::null());
        let process = Killed(command.spawn().unwrap());
        let caches = caches(&url, &prefix, &CacheOptions::default());
        // The process has the lease once a look that waits for nobody is told so.
        let give_up = Instant::now() + LONG;
        loop {
            match caches[0].get(b"x", Duration::ZERO).unwrap().run() {
                Err(error) if error.code() == Code::Timeout => break,
                Ok(Got::Load(ticket)) => drop(ticket),
                other => panic!("{name}: {other:?}"),
            }
            assert!(Instant::now() < give_up, "{name}: the process does not load");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(process);
        let crowd = crowd(&caches, slowly("new"));
        assert_eq!(crowd.loads.into_inner(), 1, "{name}");
        assert_eq!(crowd.seen.into_inner().unwrap().len(), READERS, "{name}");
    }
}
