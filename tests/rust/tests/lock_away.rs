//! Locks when Redis goes away and comes back, and when its answers are late.

use std::thread::sleep;
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Lock, LockOptions, LockState, Result};
use quotalock_tests::futures::block_on;
use quotalock_tests::gate::{Gate, TIMEOUT};
use quotalock_tests::{client, fresh_prefix, is_away, servers};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);

fn lock(client: &Client, ttl_ms: u64) -> Lock {
    client.lock(b"sku:42", LockOptions { ttl: ttl_ms * 1_000, ..LockOptions::default() }).unwrap()
}

fn acquired(lock: &Lock, wait: Duration) -> bool {
    lock.acquire(wait).unwrap().run().unwrap()
}

/// The ways to acquire: on this thread alone, beside others, and as a future.
fn acquire(how: u32, lock: &Lock, wait: Duration) -> Result<bool> {
    let acquiring = lock.acquire(wait).unwrap();
    match how {
        0 => acquiring.run(),
        1 => acquiring.run_among_threads(&mut || false),
        _ => block_on(acquiring),
    }
}

/// The ways to release, likewise.
fn release(how: u32, lock: &Lock) -> Result<bool> {
    let releasing = lock.release();
    match how {
        0 => releasing.run(),
        1 => releasing.run_among_threads(&mut || false),
        _ => block_on(releasing),
    }
}

/// A lock behind a gate, and the same one beside it.
fn near_and_far(gate: &Gate, url: &str, about: &str) -> (Lock, Lock) {
    let prefix = fresh_prefix(about);
    (lock(&gate.client(&prefix), 30_000), lock(&client(url, &prefix), 30_000))
}

/// Waits until it was renewed, and returns for how long it is certain then.
fn renewed(lock: &Lock) -> Duration {
    let (give_up, mut before) = (Instant::now() + LONG, lock.remaining());
    loop {
        sleep(Duration::from_millis(1));
        let now = lock.remaining();
        if now > before {
            return Duration::from_micros(now);
        }
        assert!(now > 0 && Instant::now() < give_up, "it is not renewed");
        before = now;
    }
}

#[test]
fn a_renewal_counts_from_before_its_sending() {
    const LATE: Duration = Duration::from_millis(150);
    for (name, url) in servers() {
        let gate = Gate::before(&url);
        let lock = lock(&gate.client(&fresh_prefix("late")), 3_000);
        assert!(acquired(&lock, NOW), "{name}");
        // The ttl less 1 % and 2 ms.
        let certain = Duration::from_millis(2_968);
        assert!(renewed(&lock) <= certain, "{name}");
        gate.delay(LATE);
        let left = renewed(&lock);
        assert!(left <= certain - LATE, "{name}: certain for {left:?}");
    }
}

/// Whether nobody holds it soon, by another way to the server: long before its ttl is over.
fn is_soon_free(lock: &Lock) -> bool {
    let give_up = Instant::now() + Duration::from_secs(5);
    while Instant::now() < give_up {
        if lock.inspect().run().unwrap().holders.is_empty() {
            return true;
        }
        sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn a_release_outlasts_a_server_that_is_away_for_a_moment() {
    for (name, url) in servers() {
        let gate = Gate::before(&url);
        let (near, far) = near_and_far(&gate, &url, "moment");
        for how in 0..3 {
            assert!(acquire(how, &near, LONG).unwrap(), "{name} {how}");
            gate.hang_up();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    sleep(TIMEOUT / 6);
                    gate.reopen();
                });
                assert!(release(how, &near).unwrap(), "{name} {how}");
            });
            assert_eq!(far.inspect().run().unwrap().holders.len(), 0, "{name} {how}");
        }
    }
}

#[test]
fn a_release_that_failed_is_done_when_the_server_is_there_again() {
    for (name, url) in servers() {
        let gate = Gate::before(&url);
        let (near, far) = near_and_far(&gate, &url, "failed");
        for (end, how) in [Gate::hang_up, Gate::mute].into_iter().flat_map(|end| [(end, 1), (end, 2)]) {
            assert!(acquire(how, &near, LONG).unwrap(), "{name} {how}");
            end(&gate);
            let released = release(how, &near);
            assert!(is_away(&released.err().unwrap()), "{name} {how}");
            assert_eq!(near.state(), LockState::Released);
            sleep(2 * TIMEOUT);
            assert_eq!(far.inspect().run().unwrap().holders.len(), 1, "{name} {how}");
            gate.reopen();
            assert!(is_soon_free(&far), "{name} {how}");
        }
    }
}

#[test]
fn a_release_that_arrives_late_is_done() {
    for (name, url) in servers() {
        let gate = Gate::before(&url);
        let (near, far) = near_and_far(&gate, &url, "tardy");
        // So that the server knows the script.
        assert!(acquired(&far, NOW) && far.release().run().unwrap());
        assert!(acquired(&near, NOW), "{name}");
        gate.hold_up(2 * TIMEOUT);
        // On a thread alone nothing else is sent.
        assert_eq!(near.release().run().err().unwrap().code(), Code::Timeout, "{name}");
        assert!(is_soon_free(&far), "{name}");
    }
}

#[test]
fn what_was_granted_unheard_is_taken_back_when_the_server_is_there_again() {
    for (name, url) in servers() {
        let gate = Gate::before(&url);
        let (near, far) = near_and_far(&gate, &url, "unheard");
        // So that the server knows the script.
        assert!(acquired(&far, NOW) && far.release().run().unwrap());
        for how in [1, 2] {
            let warm = near.inspect();
            let warm = if how == 1 { warm.run() } else { block_on(warm) };
            assert!(warm.unwrap().holders.is_empty(), "{name} {how}");
            gate.delay(2 * TIMEOUT);
            gate.close();
            let answer = acquire(how, &near, NOW);
            assert_eq!(answer.err().unwrap().code(), Code::Timeout, "{name} {how}");
            gate.hang_up();
            assert_eq!(far.inspect().run().unwrap().holders.len(), 1, "{name} {how}: it was granted");
            sleep(TIMEOUT);
            gate.delay(NOW);
            gate.reopen();
            assert!(is_soon_free(&far), "{name} {how}");
        }
    }
}

/// Does the same for each end of a server and each way to acquire, at the same time: it is a matter of waiting.
fn in_every_way(act: impl Fn(fn(&Gate), u32, &Gate, &str) + Sync) {
    let (_, url) = servers().remove(0);
    let ends: [fn(&Gate); 2] = [Gate::hang_up, Gate::mute];
    std::thread::scope(|scope| {
        for (end, how) in ends.into_iter().flat_map(|end| (0..3).map(move |how| (end, how))) {
            let (url, act) = (&url, &act);
            scope.spawn(move || act(end, how, &Gate::before(url), url));
        }
    });
}

#[test]
fn a_wait_outlasts_a_server_that_is_away_for_a_while() {
    in_every_way(|end, how, gate, url| {
        let (near, far) = near_and_far(gate, url, "while");
        // It is away before the wait begins, or goes away in the midst.
        for waits_before in [false, true] {
            assert!(acquired(&far, LONG), "{how}");
            if !waits_before {
                end(gate);
            }
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    sleep(2 * TIMEOUT);
                    if waits_before {
                        end(gate);
                        sleep(2 * TIMEOUT);
                    }
                    assert!(far.release().run().unwrap());
                    gate.reopen();
                });
                let began = Instant::now();
                assert!(acquire(how, &near, LONG).unwrap(), "{how}");
                assert!(began.elapsed() < Duration::from_secs(6), "{how}: {:?}", began.elapsed());
                assert!(near.release().run().unwrap(), "{how}");
            });
        }
    });
}

#[test]
fn a_wait_does_not_outlast_a_server_that_stays_away() {
    in_every_way(|end, how, gate, _| {
        let client = gate.client(&fresh_prefix("gone"));
        end(gate);
        let fails = |wait| {
            let began = Instant::now();
            let error = acquire(how, &lock(&client, 30_000), wait).err().unwrap();
            assert!(is_away(&error), "{how}: {error}");
            began.elapsed()
        };
        assert!(fails(NOW) < 4 * TIMEOUT, "{how}");
        let short = Duration::from_millis(700);
        assert!((short..short + 4 * TIMEOUT).contains(&fails(short)), "{how}");
        // Those in line know what the first has seen.
        std::thread::scope(|scope| {
            let waits: Vec<_> = (0..4).map(|_| scope.spawn(|| fails(LONG))).collect();
            let first = fails(Duration::from_secs(2));
            assert!(first < Duration::from_millis(3_500), "{how}: {first:?}");
            for wait in waits {
                let took = wait.join().unwrap();
                assert!((2_500..6_000).contains(&took.as_millis()), "{how}: {took:?}");
            }
        });
    });
}
