//! A peer is not trusted: one that drips, never ends or says what nobody asked costs its callers their timeout, and nobody
//! else anything. Alone in its file: these peers go on for as long as the process. All languages against all ways of it:
//! `tests/faults/test_hostile.py`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Decision, LockOptions, Options, Policy, Result};
use quotalock_tests::futures::block_on;
use quotalock_tests::stalls::within;

const TIMEOUT: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_millis(50);
const TIME: &[u8] = b"*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n";
/// Of a limiter with one rule.
const DECISION: &[u8] = b"*7\r\n:1\r\n:1700000000000000\r\n:0\r\n:0\r\n:0\r\n:4\r\n:1000000\r\n";
/// Of a lock that another holds.
const HELD: &[u8] = b"*8\r\n:1\r\n:1700000000000000\r\n:0\r\n:0\r\n:0\r\n:5000000\r\n:1\r\n$7\r\nhost\n1\n\r\n";
const HINT: &[u8] = b"*3\r\n$7\r\nmessage\r\n$4\r\nelse\r\n$16\r\n0123456789abcdef\r\n";

type Way = fn(&mut TcpStream) -> std::io::Result<()>;

/// Begins so, and goes on so: byte by byte, or as fast as it is taken.
fn endless(to: &mut TcpStream, begin: &[u8], again: &[u8], drips: bool) -> std::io::Result<()> {
    if !drips {
        to.write_all(begin)?;
        let block = again.repeat(1 + 65_536 / again.len());
        loop {
            to.write_all(&block)?;
        }
    }
    for byte in begin.iter().chain(again.iter().cycle()) {
        to.write_all(&[*byte])?;
        // Less than any nap of a client's.
        std::thread::sleep(Duration::from_micros(300));
    }
    Ok(())
}

struct Hostile {
    address: String,
    connections: Arc<AtomicUsize>,
}

/// Answers as Redis does, but to a command of this name, once on the first connections, in that way.
fn hostile(command: &'static str, way: Way, on_the_first: usize) -> Hostile {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    std::thread::spawn(move || {
        for mut to in listener.incoming().flatten() {
            let is_bad = counted.fetch_add(1, Ordering::SeqCst) < on_the_first;
            to.set_nodelay(true).unwrap();
            // It ends when its client has hung up.
            std::thread::spawn(move || serve(&mut to, if is_bad { command } else { "" }, way));
        }
    });
    Hostile { address, connections }
}

fn serve(to: &mut TcpStream, bad: &str, way: Way) -> std::io::Result<()> {
    if bad == "connect" {
        return way(to);
    }
    let mut lines = BufReader::new(to.try_clone()?);
    loop {
        let mut words = Vec::new();
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let Some(count) = line.trim().strip_prefix('*').and_then(|count| count.parse::<usize>().ok()) else {
            return Ok(());
        };
        for _ in 0..count {
            line.clear();
            lines.read_line(&mut line)?;
            let mut word = vec![0; line[1..].trim().parse::<usize>().unwrap() + 2];
            lines.read_exact(&mut word)?;
            words.push(word);
        }
        let name = String::from_utf8_lossy(&words[0]).trim().to_owned();
        if name == bad {
            way(to)?;
            continue;
        }
        let is_lease = words.iter().any(|word| word.starts_with(b"ql:lock"));
        match name.as_str() {
            "TIME" => to.write_all(TIME)?,
            "CLIENT" => to.write_all(b"+OK\r\n")?,
            "SUBSCRIBE" => {
                to.write_all(format!("*3\r\n$9\r\nsubscribe\r\n${}\r\n", words[1].len() - 2).as_bytes())?;
                to.write_all(&words[1])?;
                to.write_all(b":1\r\n")?;
                if bad == "hints" {
                    return way(to);
                }
            }
            _ if is_lease => to.write_all(HELD)?,
            _ => to.write_all(DECISION)?,
        }
    }
}

fn client(scheme: &str, server: &Hostile) -> Client {
    client_within(TIMEOUT, scheme, server)
}

fn client_within(timeout: Duration, scheme: &str, server: &Hostile) -> Client {
    let url = Some(format!("{scheme}://{}", server.address));
    Client::new(Options { url, timeout, ..Options::default() }).unwrap()
}

/// One that waits for an answer for longer than a machine stands still.
fn patient(server: &Hostile) -> Client {
    client_within(10 * TIMEOUT, "redis", server)
}

/// On this thread, or by the process' thread.
fn consume(client: &Client, by_future: bool) -> Result<Decision> {
    let op = client.limiter("n", Policy::parse("5/1h")?)?.consume(b"k", 1)?;
    if by_future { block_on(op) } else { op.run() }
}

const DRIP: Way = |to| endless(to, b"$4000\r\n", b"x", true);
const ENDLESS: Way = |to| endless(to, b"*1048576\r\n", b":1\r\n", false);
const LONG: Way = |to| endless(to, b"$536870912\r\n", b"x", false);
const HANDSHAKE: Way = |to| endless(to, b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb\x03\x03", b"\0", true);

#[test]
fn a_peer_that_drips_is_not_waited_for_any_longer_than_a_silent_one() {
    for (scheme, command, way) in
        [("redis", "TIME", DRIP), ("redis", "EVALSHA", DRIP), ("rediss", "connect", HANDSHAKE)]
    {
        for by_future in [false, true] {
            let server = hostile(command, way, usize::MAX);
            within(TIMEOUT + LATE, &format!("{scheme} {command} {by_future}"), || {
                let answer = consume(&client(scheme, &server), by_future);
                assert_eq!(answer.unwrap_err().code(), Code::Timeout, "{scheme} {command}");
            });
        }
    }
}

#[test]
fn what_is_longer_than_any_answer_is_not_waited_for() {
    for (command, way) in [("TIME", ENDLESS), ("TIME", LONG), ("EVALSHA", ENDLESS), ("EVALSHA", LONG)] {
        for by_future in [false, true] {
            let server = hostile(command, way, usize::MAX);
            within(TIMEOUT / 2, &format!("{command} {by_future}"), || {
                assert_eq!(consume(&patient(&server), by_future).unwrap_err().code(), Code::Unavailable, "{command}");
            });
        }
    }
}

#[test]
fn who_takes_a_request_in_crumbs_is_not_waited_for() {
    // Reads a little again and again, so that there is always room for a little more.
    let server = hostile("EVALSHA", |_| Ok(()), 0);
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Hostile { address: slow.local_addr().unwrap().to_string(), ..server };
    std::thread::spawn(move || {
        for mut to in slow.incoming().flatten() {
            // It ends when its client has hung up.
            std::thread::spawn(move || {
                let mut buffer = vec![0; 32 << 10];
                let _ = to.read(&mut buffer[..4]);
                to.write_all(TIME).unwrap();
                while let Ok(1..) = to.read(&mut buffer) {
                    std::thread::sleep(Duration::from_micros(300));
                }
            });
        }
    });
    let client = client("redis", &server);
    let cache = client.cache("c", quotalock::CacheOptions::default()).unwrap();
    let value = vec![b'x'; 60 << 20];
    // To write it all takes more than a second; to copy it once takes a while too.
    within(TIMEOUT + 3 * LATE, "crumbs", || {
        let answer = cache.put(b"k", Some(value.clone())).unwrap().run();
        assert_eq!(answer.unwrap_err().code(), Code::Timeout);
    });
}

#[test]
fn a_connection_without_a_whole_answer_is_given_up() {
    let server = hostile("EVALSHA", DRIP, 1);
    // Shorter than the peer drips; but the second call is answered at once, which a busy machine may be late to do.
    let client = client_within(5 * TIMEOUT, "redis", &server);
    assert_eq!(consume(&client, true).unwrap_err().code(), Code::Timeout);
    assert!(consume(&client, true).unwrap().allowed, "on another connection");
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

#[test]
fn a_greeting_with_more_than_was_asked_for_is_none() {
    let way: Way = |to| to.write_all(&[TIME, DECISION].concat());
    let server = hostile("TIME", way, usize::MAX);
    for by_future in [false, true] {
        assert_eq!(consume(&patient(&server), by_future).unwrap_err().code(), Code::Unavailable);
    }
}

#[test]
fn who_waits_is_not_kept_by_a_peer_that_never_stops_to_hint() {
    let drips: Way = |to| endless(to, b"", HINT, true);
    let floods: Way = |to| endless(to, b"", HINT, false);
    for way in [drips, floods] {
        let server = hostile("hints", way, usize::MAX);
        let (wait, client) = (Duration::from_millis(300), client("redis", &server));
        let acquiring = || client.lock(b"k", LockOptions::default()).unwrap().acquire(wait).unwrap();
        within(wait + TIMEOUT + LATE, "waited", || assert!(!acquiring().run().unwrap_or(false)));
        within(wait, "interrupted", || {
            let mut asked = 0;
            let answer = acquiring().run_interruptibly(&mut || {
                asked += 1;
                asked > 1
            });
            assert!(answer.is_err());
        });
        within(wait + TIMEOUT + LATE, "awaited", || assert!(!block_on(acquiring()).unwrap_or(false)));
    }
}

#[test]
fn others_of_the_process_are_answered_meanwhile() {
    for (command, way) in [("EVALSHA", ENDLESS), ("EVALSHA", LONG), ("TIME", ENDLESS), ("TIME", DRIP)] {
        let (bad, good) = (hostile(command, way, usize::MAX), hostile("", DRIP, 0));
        let (bad, good) = (client("redis", &bad), patient(&good));
        assert!(consume(&good, true).is_ok());
        // The bad one goes on for longer than all tries of a good call, but not for ever if one fails.
        let (until, over) = (Instant::now() + Duration::from_secs(20), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (bad, over) = (&bad, &over);
            let goes_on = move || !over.load(Ordering::Relaxed) && Instant::now() < until;
            scope.spawn(move || while consume(bad, true).is_err() && goes_on() {});
            let enough = Instant::now() + Duration::from_millis(500);
            while Instant::now() < enough {
                within(TIMEOUT / 2, &format!("beside {command}"), || assert!(consume(&good, true).is_ok()));
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}
