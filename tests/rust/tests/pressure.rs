//! A frozen server under load: the calls that its socket does not take wait unsent in this process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use quotalock::driver::LoopLink;
use quotalock::{Client, Code, Limiter, Options, Policy};
use quotalock_tests::fresh_prefix;
use quotalock_tests::own_server::OwnServer;

const CALLS: usize = 30_000;
const LIMIT: usize = 1_000_000;
/// What one call is on the wire at least, with so long a key: together they are more than any socket takes.
const BYTES: usize = 1_000;
const KEY: &[u8] = &[b'k'; BYTES];
/// Our own megabyte, and what the kernel holds for both ends.
const ROOM: usize = (1 << 20) + (12 << 20);

/// How many calls are made before the server is frozen.
const FIRST: usize = 65;

const PATIENT: Duration = Duration::from_secs(60);

/// The tests share [`SENT`]: one at a time.
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
    // One call, then as many as travel as one: the server knows both scripts afterwards, and answers in the order of the calls.
    for calls in [1, FIRST - 1] {
        (0..calls).for_each(|_| link.submit(limiter.consume(KEY, 1).unwrap().erased(), CALLS));
        link.flush();
        while link.is_busy() {
            link.wake();
            thread::sleep(Duration::from_millis(1));
        }
        assert!(link.take_done().into_iter().all(|(_, answer)| answer.is_ok()));
    }
    SENT.store(0, Ordering::Relaxed);
    link
}

/// Freezes the server, and submits more calls than its socket takes.
fn press(server: &OwnServer, limiter: &Limiter, link: &mut LoopLink<usize>) {
    server.freeze();
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
    let server = OwnServer::start("redis-7.0");
    let patient = limiter(server.url(), &fresh_prefix("pressure"), PATIENT);
    let mut link = connected(&patient);
    press(&server, &patient, &mut link);
    server.thaw();
    let mut answered = Vec::new();
    while link.is_busy() {
        link.turn();
        answered.extend(link.take_done().into_iter().map(|(number, answer)| answer.map(|_| number).unwrap()));
        thread::yield_now();
    }
    let breaks: Vec<_> = answered.windows(2).filter(|pair| pair[1] != pair[0] + 1).collect();
    assert!(breaks.is_empty(), "in their order, but {breaks:?}");
    assert_eq!(answered.len(), CALLS, "all of them");
    assert_eq!(used(&patient), CALLS + FIRST, "each once");
}

#[test]
fn what_waits_unsent_times_out_in_time() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = OwnServer::start("redis-7.0");
    let prefix = fresh_prefix("pressure");
    let hurried = limiter(server.url(), &prefix, Duration::from_millis(1_500));
    let mut link = connected(&hurried);
    press(&server, &hurried, &mut link);
    let submitted = Instant::now();
    let mut answers = Vec::new();
    while link.is_busy() {
        thread::sleep(link.turn().next_turn.unwrap_or_default().min(Duration::from_millis(5)));
        answers.append(&mut link.take_done());
    }
    let took = submitted.elapsed();
    assert!(took < PATIENT / 2, "the server answers nothing, so only the timeout of 1.5 s ends these calls: {took:?}");
    assert_eq!(answers.len(), CALLS);
    assert!(answers.iter().all(|(_, answer)| answer.as_ref().is_err_and(|e| e.code() == Code::Timeout)));
    let sent = SENT.load(Ordering::Relaxed);
    server.thaw();
    // The server answers once it has read all that was sent before.
    let patient = limiter(server.url(), &prefix, PATIENT);
    assert!(used(&patient) <= FIRST + sent, "{} were counted, {sent} sent", used(&patient));
}
