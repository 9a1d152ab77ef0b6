//! Replies that nobody asked for never answer the next caller: the connection they came on is given up.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quotalock::driver::LoopLink;
use quotalock::{Client, Limiter, Policy};
use quotalock_tests::{client, fresh_prefix, servers};

/// No reply comes twice.
const ONCE: u64 = u64::MAX;
/// So long after its first coming that the call has its answer, in milliseconds.
const LATER: u64 = 20;

/// Forwards both ways, and replies come twice: the second time after `pause` milliseconds, or in one piece with the first.
struct Echo {
    url: String,
    pause: Arc<AtomicU64>,
    connections: Arc<AtomicUsize>,
    /// How many replies came twice.
    twice: Arc<AtomicUsize>,
}

fn echo(target: &str) -> Echo {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let (pause, connections) = (Arc::new(AtomicU64::new(ONCE)), Arc::new(AtomicUsize::new(0)));
    let twice = Arc::new(AtomicUsize::new(0));
    let (target, after, made) = (target.trim_start_matches("redis://").to_owned(), pause.clone(), connections.clone());
    let counted = twice.clone();
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            made.fetch_add(1, Ordering::Relaxed);
            let far = TcpStream::connect(&target).unwrap();
            near.set_nodelay(true).unwrap();
            let (mut asking, mut asked) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut asking, &mut asked));
            let (after, counted) = (after.clone(), counted.clone());
            thread::spawn(move || answer(far, near, &after, &counted));
        }
    });
    Echo { url, pause, connections, twice }
}

impl Echo {
    /// Returns once the stray reply is there.
    fn until_twice(&self) {
        let give_up = Instant::now() + Duration::from_secs(20);
        while self.twice.load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < give_up, "no reply comes twice");
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(LATER));
    }
}

fn answer(mut from: TcpStream, mut to: TcpStream, pause: &AtomicU64, twice: &AtomicUsize) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let reply = &buffer[..n];
        let pause = pause.load(Ordering::Relaxed);
        let gone = match pause {
            ONCE => to.write_all(reply),
            0 => to.write_all(&[reply, reply].concat()),
            ms => to.write_all(reply).and_then(|()| {
                thread::sleep(Duration::from_millis(ms));
                to.write_all(reply)
            }),
        };
        if gone.is_err() {
            return;
        }
        twice.fetch_add(usize::from(pause != ONCE), Ordering::SeqCst);
    }
}

/// Two limiters whose answers cannot be taken for each other's.
fn limiters(client: &Client) -> [Limiter; 2] {
    ["100/hour", "7/hour"].map(|policy| client.limiter("stray", Policy::parse(policy).unwrap()).unwrap())
}

fn remaining(limiter: &Limiter, key: &[u8]) -> u64 {
    limiter.consume(key, 1).unwrap().run().unwrap().remaining
}

#[test]
fn a_stray_reply_does_not_answer_the_next_call_on_a_pooled_connection() {
    for (name, url) in servers() {
        for pause in [0, LATER] {
            let echo = echo(&url);
            let [first, second] = limiters(&client(&echo.url, &fresh_prefix("pooled")));
            assert_eq!(remaining(&first, b"a"), 99);
            echo.pause.store(pause, Ordering::Relaxed);
            assert_eq!(remaining(&first, b"a"), 98);
            echo.pause.store(ONCE, Ordering::Relaxed);
            echo.until_twice();
            assert_eq!(remaining(&second, b"b"), 6, "{name}, {pause} ms");
            assert_eq!(remaining(&first, b"a"), 97, "{name}, {pause} ms");
            assert_eq!(echo.connections.load(Ordering::Relaxed), 2, "{name}, {pause} ms: the stray's was given up");
        }
    }
}

#[test]
fn a_stray_reply_does_not_answer_the_next_call_on_a_link() {
    for (name, url) in servers() {
        for pause in [0, LATER] {
            let echo = echo(&url);
            let [first, second] = limiters(&client(&echo.url, &fresh_prefix("linked")));
            let mut link = LoopLink::new(|_| true).unwrap();
            let mut ask = |limiter: &Limiter, key: &[u8]| {
                link.submit(limiter.consume(key, 1).unwrap().erased(), ());
                // Written, but for a dial, before anything that lies on the connection is read.
                link.flush();
                while link.is_busy() {
                    thread::sleep(Duration::from_millis(1));
                    link.wake();
                }
                link.take_done().remove(0).1.unwrap().take::<quotalock::Decision>().unwrap().remaining
            };
            assert_eq!(ask(&first, b"a"), 99);
            echo.pause.store(pause, Ordering::Relaxed);
            assert_eq!(ask(&first, b"a"), 98);
            echo.pause.store(ONCE, Ordering::Relaxed);
            echo.until_twice();
            assert_eq!(ask(&second, b"b"), 6, "{name}, {pause} ms");
            assert_eq!(ask(&first, b"a"), 97, "{name}, {pause} ms");
            assert_eq!(echo.connections.load(Ordering::Relaxed), 2, "{name}, {pause} ms: the stray's was given up");
        }
    }
}
