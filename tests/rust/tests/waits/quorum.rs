//! A lock over three independent servers: most of them decide, also with one gone, and none that may have forgotten counts.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Lock, LockOptions, LockState, Options};
use quotalock_tests::stalls::within;
use quotalock_tests::{client, fresh_prefix, operator, servers};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);

fn options() -> LockOptions {
    // Longer than a machine stands still that is shared. The servers have just been started, and one that is younger than
    // a ttl has no vote.
    LockOptions { ttl: 3_000_000, ..LockOptions::default() }
}

fn clients(prefix: &str) -> Vec<Client> {
    servers().iter().map(|(_, url)| client(url, prefix)).collect()
}

/// A client of a server that is not there: nobody listens on so low a port.
fn absent(prefix: &str, port: u16) -> Client {
    let url = Some(format!("redis://127.0.0.1:{port}"));
    Client::new(Options { url, prefix: prefix.into(), ..Options::default() }).unwrap()
}

fn lock(clients: &[Client]) -> Lock {
    Lock::quorum(clients, b"sku:42", options()).unwrap()
}

fn acquired(lock: &Lock, wait: Duration) -> bool {
    lock.acquire(wait).unwrap().run().unwrap()
}

#[test]
fn most_decide() {
    let clients = clients(&fresh_prefix("quorum"));
    let (first, second) = (lock(&clients), lock(&clients));
    assert!(acquired(&first, LONG) && first.is_held());
    assert!(!acquired(&second, NOW));
    let why = second.not_acquired();
    assert!(why.code() == Code::NotAcquired && why.message().contains("0 of 3 servers"), "{why}");
    assert!(first.extend(None).unwrap().run().unwrap());
    std::thread::sleep(Duration::from_millis(3_900));
    assert!(first.is_held(), "it is renewed");
    let token = first.token().unwrap();
    assert!(first.release().run().unwrap() && !first.release().run().unwrap());
    assert!(acquired(&second, LONG) && second.token().unwrap() > token);
    let (tell, told) = mpsc::channel();
    second.on_loss(Box::new(move || tell.send(()).unwrap()));
    assert_eq!(lock(&clients).force_release().run().unwrap(), 1);
    told.recv_timeout(LONG).unwrap();
    assert_eq!((second.state(), second.extend(None).unwrap().run().unwrap()), (LockState::Lost, false));
}

#[test]
fn a_server_that_forgot_is_asked_again_where_nobody_else_holds_it() {
    let prefix = fresh_prefix("again");
    let (clients, urls) = (clients(&prefix), servers());
    let lock = lock(&clients);
    assert!(acquired(&lock, LONG));
    let token = lock.token();
    let single = |at: usize| clients[at].lock(b"sku:42", options()).unwrap();
    let holders = |at: usize| single(at).inspect().run().unwrap().holders;
    let forget = |at: usize| {
        let key = String::from_utf8(single(at).redis_keys()[0].clone()).unwrap();
        operator::command(&urls[at].1, &["DEL", &key]);
    };
    // One after the other: each of them would have cost a vote.
    for round in 0..6 {
        forget(round % 3);
        assert!(lock.extend(None).unwrap().run().unwrap(), "round {round}");
        let token_there = holders(round % 3).first().map(|holder| holder.token);
        assert_eq!(token_there, token, "round {round}");
    }
    forget(1);
    let other = single(1);
    assert!(acquired(&other, LONG) && lock.extend(None).unwrap().run().unwrap());
    assert_eq!(holders(1)[0].token, other.token().unwrap(), "what another holds is left to it");
    // Two have forgotten: what is left is no majority, and takes nothing back.
    forget(0);
    assert!(!lock.extend(None).unwrap().run().unwrap() && lock.state() == LockState::Lost);
    assert!(holders(0).is_empty());
    lock.release().run().unwrap();
    assert!(other.is_held() && holders(2).is_empty());
}

#[test]
fn what_was_released_is_given_to_no_server_anew() {
    let clients = clients(&fresh_prefix("released"));
    let urls = servers();
    for turn in 0..20 {
        let lock = lock(&clients);
        assert!(acquired(&lock, LONG), "turn {turn}");
        let single = clients[turn % 3].lock(b"sku:42", options()).unwrap();
        operator::command(&urls[turn % 3].1, &["DEL", std::str::from_utf8(&single.redis_keys()[0]).unwrap()]);
        let extending = lock.extend(None).unwrap();
        let thread = std::thread::spawn(move || extending.run());
        std::thread::sleep(Duration::from_micros(200 * turn as u64));
        assert!(lock.release().run().is_ok());
        thread.join().unwrap().ok();
        for client in &clients {
            let holders = client.lock(b"sku:42", options()).unwrap().inspect().run().unwrap().holders;
            assert!(holders.is_empty(), "turn {turn}: {holders:?}");
        }
    }
}

#[test]
fn a_loss_is_told_without_a_renewal_too() {
    let clients = clients(&fresh_prefix("unrenewed"));
    let lock = Lock::quorum(&clients, b"sku:42", LockOptions { renew: false, ..options() }).unwrap();
    assert!(lock.acquire(LONG).unwrap().run_among_threads(&mut || false).unwrap());
    let (tell, told) = mpsc::channel();
    lock.on_loss(Box::new(move || tell.send(()).unwrap()));
    told.recv_timeout(LONG).unwrap();
}

#[test]
fn one_of_three_may_be_gone_but_not_two() {
    let prefix = fresh_prefix("gone");
    let mut clients = clients(&prefix);
    clients[1] = absent(&prefix, 1);
    let first = lock(&clients);
    assert!(acquired(&first, LONG));
    assert!(!acquired(&lock(&clients), NOW));
    assert!(first.extend(None).unwrap().run().unwrap() && first.release().run().unwrap());
    clients[2] = absent(&prefix, 2);
    let second = lock(&clients);
    assert!(!acquired(&second, Duration::from_millis(200)));
    assert!(second.not_acquired().message().contains("1 of 3 servers"), "{}", second.not_acquired());
    // What the one granted was taken back.
    let single = clients[0].lock(b"sku:42", options()).unwrap();
    assert!(acquired(&single, LONG));
}

#[test]
fn a_server_that_may_have_forgotten_has_no_vote() {
    let clients = clients(&fresh_prefix("young"));
    let long = LockOptions { ttl: 3_600_000_000, ..LockOptions::default() };
    let lock = Lock::quorum(&clients, b"sku:42", long).unwrap();
    assert!(!acquired(&lock, NOW));
    assert!(lock.not_acquired().message().contains("may have forgotten"), "{}", lock.not_acquired());
}

#[test]
fn an_interruption_is_not_kept_waiting_by_servers_that_are_silent() {
    let prefix = fresh_prefix("silent");
    let silent: Vec<_> = (0..2).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let urls = silent.iter().map(|server| format!("redis://{}", server.local_addr().unwrap()));
    let mut clients = vec![clients(&prefix).remove(0)];
    clients.extend(urls.map(|url| client(&url, &prefix)));
    let long = LockOptions { ttl: 3_600_000_000, ..LockOptions::default() };
    let lock = Lock::quorum(&clients, b"sku:42", long).unwrap();
    // Each of them had some seconds for its answer.
    within(Duration::from_secs(2), "interrupted", || {
        let error = lock.acquire(LONG).unwrap().run_interruptibly(&mut || true).unwrap_err();
        assert!(error.message().contains("interrupted"), "{error}");
    });
}

#[test]
fn one_at_a_time_and_tokens_grow() {
    let prefix = fresh_prefix("many");
    let (inside, last) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (inside, last, prefix) = (inside.clone(), last.clone(), prefix.clone());
            std::thread::spawn(move || {
                let lock = lock(&clients(&prefix));
                for _ in 0..10 {
                    let give_up = Instant::now() + LONG;
                    while !acquired(&lock, LONG) {
                        assert!(Instant::now() < give_up, "{}", lock.not_acquired());
                    }
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    let token = lock.token().unwrap();
                    assert!(last.swap(token, Ordering::SeqCst) < token, "a token went back");
                    inside.fetch_sub(1, Ordering::SeqCst);
                    assert!(lock.release().run().unwrap());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn what_makes_no_quorum_is_refused() {
    let clients = clients(&fresh_prefix("few"));
    let (_, url) = servers().remove(0);
    let another = client(&format!("{url}/1"), &fresh_prefix("another"));
    for (given, word) in [
        (Lock::quorum(&clients[..2], b"n", options()), "quorum"),
        (Lock::quorum(&[clients[0].clone(), clients[1].clone(), clients[0].clone()], b"n", options()), "twice"),
        // Two clients of one server, which would be most of three.
        (Lock::quorum(&[clients[0].clone(), another, clients[2].clone()], b"n", options()), "twice"),
        (Lock::quorum(&clients, b"n", LockOptions { fair: true, ..options() }), "fair"),
    ] {
        let error = given.err().unwrap();
        assert!(error.code() == Code::InvalidArgument && error.message().contains(word), "{error}");
    }
}
