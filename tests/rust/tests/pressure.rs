//! A server that stands still under load: what it cannot take waits with us, unsent. Alone in its file: it freezes a
//! server.

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use quotalock::driver::LoopLink;
use quotalock::{Client, Code, Limiter, Options, Policy};
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{fresh_prefix, servers};

const CALLS: usize = 30_000;
const LIMIT: usize = 1_000_000;
/// What one call is on the wire at least, with so long a key: together they are more than any socket takes.
const BYTES: usize = 1_000;
const KEY: &[u8] = &[b'k'; BYTES];
/// Our own megabyte, and what the kernel holds for both ends.
const ROOM: usize = (1 << 20) + (12 << 20);

const PATIENT: Duration = Duration::from_secs(60);

/// The tests here freeze their servers: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// How many calls were about to be put on the wire.
static SENT: AtomicUsize = AtomicUsize::new(0);

fn limiter(url: &str, prefix: &str, timeout: Duration) -> Limiter {
    let options = Options { url: Some(url.into()), prefix: prefix.into(), timeout, ..Options::default() };
    let policy = Policy::parse(&format!("{LIMIT}/hour")).unwrap();
    Client::new(options).unwrap().limiter("pressure", policy).unwrap()
}

/// A link with a connection.
fn connected(limiter: &Limiter) -> LoopLink<usize> {
    let mut link = LoopLink::new(|_| {
        SENT.fetch_add(1, Ordering::Relaxed);
        true
    })
    .unwrap();
    link.submit(limiter.consume(KEY, 1).unwrap().erased(), CALLS);
    link.flush();
    while link.is_busy() {
        link.wake();
        thread::sleep(Duration::from_millis(1));
    }
    assert!(link.take_done().remove(0).1.is_ok());
    SENT.store(0, Ordering::Relaxed);
    link
}

/// Has the server stand still, and submits more than it takes.
fn press(url: &str, limiter: &Limiter, link: &mut LoopLink<usize>, frozen: Duration) {
    let mut operator = TcpStream::connect(url.trim_start_matches("redis://")).unwrap();
    operator.write_all(format!("DEBUG SLEEP {}\r\n", frozen.as_secs_f64()).as_bytes()).unwrap();
    thread::sleep(Duration::from_millis(50));
    for number in 0..CALLS {
        link.submit(limiter.consume(KEY, 1).unwrap().erased(), number);
    }
    for _ in 0..20 {
        link.flush();
    }
    let sent = SENT.load(Ordering::Relaxed);
    assert!(sent > 0 && sent * BYTES < ROOM, "{sent} of {CALLS} calls were put on the wire");
}

fn used(limiter: &Limiter) -> usize {
    LIMIT - limiter.peek(KEY, 1).unwrap().run().unwrap().remaining as usize
}

#[test]
fn what_a_slow_server_does_not_take_waits_unsent() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, url) = servers().remove(0);
    let patient = limiter(&url, &fresh_prefix("pressure"), PATIENT);
    let mut link = connected(&patient);
    press(&url, &patient, &mut link, Duration::from_millis(4_000));
    let mut answered = Vec::new();
    while link.is_busy() {
        link.turn();
        answered.extend(link.take_done().into_iter().map(|(number, answer)| answer.map(|_| number).unwrap()));
        thread::yield_now();
    }
    assert_eq!(answered, Vec::from_iter(0..CALLS), "in their order, all of them");
    assert_eq!(used(&patient), CALLS + 1, "each once");
}

#[test]
fn what_waits_unsent_times_out_in_time() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, url) = servers().remove(0);
    let prefix = fresh_prefix("pressure");
    let hurried = limiter(&url, &prefix, Duration::from_millis(1_500));
    let mut link = connected(&hurried);
    let stalls = Stalls::watch();
    press(&url, &hurried, &mut link, Duration::from_millis(5_000));
    let submitted = Instant::now();
    let mut answers = Vec::new();
    while link.is_busy() {
        thread::sleep(link.turn().next_turn.unwrap_or_default().min(Duration::from_millis(5)));
        answers.append(&mut link.take_done());
    }
    let took = submitted.elapsed();
    assert!(took < Duration::from_millis(1_900) + stalls.worst(), "{took:?}");
    assert_eq!(answers.len(), CALLS);
    assert!(answers.iter().all(|(_, answer)| answer.as_ref().is_err_and(|e| e.code() == Code::Timeout)));
    let sent = SENT.load(Ordering::Relaxed);
    // It answers when it has read all that came before.
    let patient = limiter(&url, &prefix, PATIENT);
    assert!(used(&patient) <= 1 + sent, "{} were counted, {sent} sent", used(&patient));
}
