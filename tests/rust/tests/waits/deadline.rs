//! A call that its caller gave up on must not take effect later, however late the server gets it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use quotalock::{Client, Code, OnError, Options, Policy};
use quotalock_tests::{client, fresh_prefix, servers, stores};

/// Forwards both ways; while `held` is set, what the client sends waits.
fn holding_proxy(target: String, held: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(&target).unwrap();
            let (near_back, far_back) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let held = held.clone();
            thread::spawn(move || forward(near, far, || held.load(Ordering::Relaxed)));
            thread::spawn(move || forward(far_back, near_back, || false));
        }
    });
    port
}

fn forward(mut from: TcpStream, mut to: TcpStream, hold: impl Fn() -> bool) {
    let mut buffer = [0; 4096];
    while let Ok(n) = from.read(&mut buffer) {
        while hold() {
            thread::sleep(Duration::from_millis(5));
        }
        // The client hangs up after its timeout; what it had sent still goes on to the server, as a network would.
        if n == 0 || to.write_all(&buffer[..n]).is_err() {
            return;
        }
    }
}

#[test]
fn a_late_consume_is_refused_by_the_server() {
    for (name, url) in servers() {
        let held = Arc::new(AtomicBool::new(false));
        let port = holding_proxy(url.trim_start_matches("redis://").to_owned(), held.clone());
        let prefix = fresh_prefix("late");
        let slow = Client::new(Options {
            url: Some(format!("redis://127.0.0.1:{port}")),
            prefix: prefix.clone(),
            timeout: Duration::from_secs(2),
            on_error: OnError::Raise,
            ..Options::default()
        })
        .unwrap();
        let policy = || Policy::parse("10/hour").unwrap();
        let limiter = slow.limiter("late", policy()).unwrap();
        assert_eq!(limiter.consume(b"k", 1).unwrap().run().unwrap().remaining, 9);

        held.store(true, Ordering::Relaxed);
        let error = limiter.consume(b"k", 1).unwrap().run().unwrap_err();
        assert_eq!(error.code(), Code::Timeout, "{name}: {error}");
        held.store(false, Ordering::Relaxed);
        // The held bytes reach the server now, on a connection of their own: wait until they were certainly handled.
        thread::sleep(Duration::from_millis(100));

        let direct = client(&url, &prefix).limiter("late", policy()).unwrap();
        assert_eq!(direct.peek(b"k", 1).unwrap().run().unwrap().remaining, 9, "{name}: the late call was charged");
    }
}

#[test]
fn a_wrong_idea_of_the_servers_clock_mends_itself() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("clock");
        let client = client(&url, &prefix);
        let limiter = client.limiter("clock", Policy::parse("1000000/hour").unwrap()).unwrap();
        limiter.consume(b"k", 1).unwrap().run().unwrap();
        // Being stopped between the server's reply and its reading would make the estimate late by the pause; a sleep
        // between calls must not.
        thread::sleep(Duration::from_millis(150));
        for i in 0..200 {
            let decision = limiter.consume(b"k", 1).unwrap().run().unwrap();
            assert!(decision.allowed, "{name}: call {i}");
        }
    }
}

#[test]
fn a_request_is_remembered_for_as_long_as_its_client_may_repeat_it() {
    for (name, url) in stores() {
        let options = Options {
            url: Some(url),
            prefix: fresh_prefix("repeated"),
            timeout: Duration::from_secs(10),
            request_memory: Duration::from_millis(1),
            ..Options::default()
        };
        let client = Client::new(options).unwrap();
        let limiter = client.limiter("repeated", Policy::parse("10/hour").unwrap()).unwrap();
        for (later, remaining) in [(0, 9), (9_999_999, 9), (10_000_000, 8)] {
            quotalock::testing::set_time(&client, Some(1_700_000_000_000_000 + later)).unwrap();
            let decision = limiter.consume_once(b"k", 1, Some(b"r")).unwrap().run().unwrap();
            assert_eq!(decision.remaining, remaining, "{name} after {later}");
        }
    }
}
