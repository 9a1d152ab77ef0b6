//! The close of a client gives back what is held through it, and takes those out of the lines who wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Lock, LockOptions, LockState};
use quotalock_tests::elsewhere::{elsewhere, sink, submit};
use quotalock_tests::gate::Gate;
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{client, fresh_prefix, servers, stores};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);

fn options() -> LockOptions {
    LockOptions { ttl: 60_000_000, ..LockOptions::default() }
}

fn acquired(lock: &Lock, wait: Duration) -> bool {
    lock.acquire(wait).unwrap().run().unwrap()
}

/// The ways to close: on this thread, and by another's.
fn close(how: u32, client: &Client) {
    match how {
        0 => client.close(),
        _ => assert!(client.close_elsewhere().is_none_or(|closing| closing.run().unwrap())),
    }
}

#[test]
fn what_is_held_is_given_back() {
    for (name, url) in stores() {
        for how in 0..2 {
            let prefix = fresh_prefix("held");
            let closing = client(&url, &prefix);
            // Of another store in memory nothing can be seen.
            let other = if url == "memory://" { closing.clone() } else { client(&url, &prefix) };
            let all = |client: &Client| {
                let names: Vec<Vec<u8>> = (0..20).map(|n| format!("{{n}}{n}").into_bytes()).collect();
                let mut locks: Vec<Lock> = names.iter().map(|name| client.lock(name, options()).unwrap()).collect();
                locks.push(client.lock_all(&[b"{all}a", b"{all}b"], options()).unwrap());
                locks.push(client.semaphore(b"pool", 3, 2, options()).unwrap());
                locks.push(client.write_lock(b"book", options()).unwrap());
                locks
            };
            let (mine, theirs) = (all(&closing), all(&other));
            assert!(mine.iter().all(|lock| acquired(lock, NOW)), "{name}");
            let (tell, told) = std::sync::mpsc::channel();
            mine[0].on_loss(Box::new(move || tell.send(()).unwrap()));
            close(how, &closing);
            told.recv_timeout(NOW).expect("whoever works under it is told at once");
            for lock in &mine {
                assert_eq!((lock.state(), lock.is_held()), (LockState::Lost, false), "{name}");
                assert_eq!(lock.assert_held().unwrap_err().code(), Code::Lost);
                assert!(!lock.release().run().unwrap(), "{name}");
                assert_eq!(lock.acquire(NOW).unwrap().run().unwrap_err().code(), Code::Closed);
            }
            if url != "memory://" {
                assert!(theirs.iter().all(|lock| acquired(lock, NOW)), "{name}");
                // Twice does nothing.
                close(how, &closing);
                assert!(theirs.iter().all(Lock::is_held));
                assert!(theirs.iter().all(|lock| lock.release().run().unwrap()));
            }
        }
    }
}

#[test]
fn who_waits_ends_and_leaves_its_place() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("waits");
        let (closing, other) = (client(&url, &prefix), client(&url, &prefix));
        let holder = other.lock(b"n", options()).unwrap();
        assert!(acquired(&holder, NOW));
        let locks: Vec<Lock> =
            (0..3).map(|_| closing.lock(b"n", LockOptions { fair: true, ..options() }).unwrap()).collect();
        let (sink, told) = sink();
        submit(locks[0].acquire(LONG).unwrap(), 0, &sink);
        submit(locks[1].acquire(LONG).unwrap(), 1, &sink);
        let alone = locks[2].acquire(LONG).unwrap();
        let thread = std::thread::spawn(move || alone.run());
        while holder.inspect().run().unwrap().waiters < 2 {
            std::thread::sleep(Duration::from_millis(5));
        }
        closing.close();
        for _ in 0..2 {
            let (_, answer) = told.recv_timeout(LONG).unwrap();
            assert_eq!(answer.unwrap_err().code(), Code::Closed, "{name}");
        }
        assert_eq!(thread.join().unwrap().unwrap_err().code(), Code::Closed, "{name}");
        let (stalls, began) = (Stalls::watch(), Instant::now());
        while holder.inspect().run().unwrap().waiters > 0 {
            assert!(began.elapsed() < LONG, "{name}: it is not even forgotten");
            std::thread::sleep(Duration::from_millis(5));
        }
        let left = began.elapsed();
        assert!(left < Duration::from_secs(1) + stalls.lost(), "{name}: it is left to be forgotten");
    }
}

#[test]
fn what_is_granted_while_a_client_closes_is_held_by_nobody() {
    for (name, url) in servers() {
        for turn in 0..60 {
            let prefix = fresh_prefix("race");
            let (closing, other) = (client(&url, &prefix), client(&url, &prefix));
            let locks: Vec<Lock> = (0..4).map(|n| closing.lock(&[b'a' + n], options()).unwrap()).collect();
            let (sink, told) = sink();
            submit(locks[0].acquire(NOW).unwrap(), 0, &sink);
            submit(locks[1].acquire(LONG).unwrap(), 1, &sink);
            let threads: Vec<_> = (locks[2..].iter().zip([true, false]))
                .map(|(lock, alone)| {
                    let acquiring = lock.acquire(NOW).unwrap();
                    std::thread::spawn(move || match alone {
                        true => acquiring.run(),
                        false => acquiring.run_among_threads(&mut || false),
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_micros(20 * turn));
            closing.close();
            threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
            for _ in 0..2 {
                drop(told.recv_timeout(LONG).unwrap());
            }
            assert!(locks.iter().all(|lock| !lock.is_held()), "{name}, turn {turn}");
            // Their callers have heard, so what they had is on its way back.
            for n in 0..4 {
                let lock = other.lock(&[b'a' + n], options()).unwrap();
                assert!(acquired(&lock, Duration::from_secs(5)), "{name}, turn {turn}, {n}");
            }
        }
    }
}

#[test]
fn what_is_granted_while_a_client_closes_is_given_back_over_a_slow_connection() {
    // Longer than one who was failed waits for what it takes back.
    const LATE: Duration = Duration::from_millis(300);
    for (name, url) in servers() {
        let (gate, prefix) = (Gate::before(&url), fresh_prefix("slow"));
        let (closing, other) = (gate.client_within(&prefix, LONG), client(&url, &prefix));
        let acquiring = closing.lock(b"n", options()).unwrap().acquire(NOW).unwrap();
        gate.delay(LATE);
        let thread = std::thread::spawn(move || acquiring.run());
        let lock = other.lock(b"n", options()).unwrap();
        while lock.inspect().run().unwrap().holders.is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        closing.close();
        drop(thread.join().unwrap());
        assert!(acquired(&lock, NOW), "{name}");
    }
}

#[test]
fn a_close_takes_no_longer_than_the_timeout() {
    // So long that what comes before the end is answered also where a machine stands still.
    const PATIENCE: Duration = Duration::from_secs(2);
    let (_, url) = servers().remove(0);
    for (what, fail) in [("silent", Gate::mute as fn(&Gate)), ("gone", Gate::hang_up)] {
        let gate = Gate::before(&url);
        let client = gate.client_within(&fresh_prefix("away"), PATIENCE);
        let locks: Vec<Lock> = (0..30).map(|n| client.lock(&[b'a' + n], options()).unwrap()).collect();
        assert!(locks.iter().all(|lock| acquired(lock, NOW)), "{what}");
        fail(&gate);
        let (stalls, began) = (Stalls::watch(), Instant::now());
        client.close();
        let took = began.elapsed();
        assert!(took < PATIENCE + Duration::from_millis(200) + stalls.lost(), "{what}: {took:?}");
        assert!(locks.iter().all(|lock| !lock.is_held()));
    }
}

#[test]
fn a_quorum_lock_is_given_back_by_the_close_of_any_of_its_clients() {
    let prefix = fresh_prefix("quorum");
    let clients: Vec<Client> = servers().iter().map(|(_, url)| client(url, &prefix)).collect();
    let short = LockOptions { ttl: 3_000_000, ..LockOptions::default() };
    let lock = Lock::quorum(&clients, b"n", short.clone()).unwrap();
    assert!(acquired(&lock, LONG));
    clients[1].close();
    assert_eq!(lock.state(), LockState::Lost);
    let others: Vec<Client> = servers().iter().map(|(_, url)| client(url, &prefix)).collect();
    for other in &others {
        assert!(other.lock(b"n", short.clone()).unwrap().inspect().run().unwrap().holders.is_empty());
    }
}

#[test]
fn an_operation_that_closes_works_on_the_process_thread() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("task"));
        let lock = client.lock(b"n", options()).unwrap();
        assert!(acquired(&lock, NOW));
        let closing = client.close_elsewhere().unwrap();
        assert!(!lock.is_held(), "{name}: from the call on");
        let closed: bool = elsewhere(|sink: &Arc<_>| {
            let answered = quotalock::driver::submit(vec![(0, closing.erased())], sink);
            assert!(answered.is_empty());
        })
        .unwrap();
        assert!(closed && client.close_elsewhere().is_none(), "{name}");
    }
}
