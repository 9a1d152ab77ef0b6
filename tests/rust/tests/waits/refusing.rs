//! A server that answers and does not write: calls are answered at once, limits still limit, and what works again is noticed
//! by what shows it. In all languages and for each reason: `tests/faults/test_refusing.py`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Decision, Limiter, OnError, Options, Policy, Result, Source};
use quotalock_tests::fresh_prefix;
use quotalock_tests::operator;
use quotalock_tests::own_server::OwnServer;
use quotalock_tests::stalls::Stalls;

const TIMEOUT: Duration = Duration::from_secs(5);
/// What fifty calls take at most that are answered without a server, on a busy machine; asking each time takes them 12 s.
const AT_ONCE: Duration = Duration::from_secs(2);

/// The tests here take their time: one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn server() -> OwnServer {
    OwnServer::start("redis-7.0")
}

fn limiter(server: &OwnServer, on_error: OnError) -> Limiter {
    let options = Options {
        url: Some(server.url().into()),
        prefix: fresh_prefix("refusing"),
        timeout: TIMEOUT,
        on_error,
        // What Redis says each time.
        deny_cache_max: Duration::ZERO,
        ..Options::default()
    };
    Client::new(options).unwrap().limiter("n", Policy::parse("3/hour").unwrap()).unwrap()
}

fn consume(limiter: &Limiter, key: &str) -> Result<Decision> {
    limiter.consume(key.as_bytes(), 1)?.run()
}

/// Has the server refuse writes for as long as it lives.
struct NoWrites<'a>(&'a OwnServer);

impl NoWrites<'_> {
    fn begin(server: &OwnServer) -> NoWrites<'_> {
        server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
        NoWrites(server)
    }
}

impl Drop for NoWrites<'_> {
    fn drop(&mut self) {
        self.0.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    }
}

fn until_redis_wrote(limiter: &Limiter, key: &str) -> Decision {
    let stalls = Stalls::watch();
    let began = Instant::now();
    let answer = loop {
        match consume(limiter, key) {
            Ok(decision) if decision.source == Source::Redis => break decision,
            _ => assert!(began.elapsed() < Duration::from_secs(20), "Redis is not asked again"),
        }
    };
    let took = began.elapsed();
    assert!(took < AT_ONCE + stalls.lost(), "noticed after {took:?}");
    answer
}

#[test]
fn a_refusal_that_lasts_is_answered_at_once_and_its_end_noticed() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = server();
    let limiter = limiter(&server, OnError::Raise);
    assert!(consume(&limiter, "k").is_ok());
    let trouble = NoWrites::begin(&server);
    let code = |answer: Result<Decision>| answer.unwrap_err().code();
    assert_eq!(code(consume(&limiter, "k")), Code::Unavailable);
    let stalls = Stalls::watch();
    let began = Instant::now();
    for _ in 0..50 {
        assert_eq!(code(consume(&limiter, "k")), Code::Unavailable);
    }
    // The first of them took a quarter of a second.
    let (took, stood_still) = (began.elapsed(), stalls.lost());
    assert!(took < AT_ONCE + stood_still, "{took:?}");
    // Who only reads is not concerned.
    assert_eq!(limiter.peek(b"k", 1).unwrap().run().unwrap().source, Source::Redis);
    drop(trouble);
    until_redis_wrote(&limiter, "k");
}

#[test]
fn local_goes_on_while_redis_reads_and_does_not_write() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = server();
    let limiter = limiter(&server, OnError::Local);
    (0..3).for_each(|_| drop(consume(&limiter, "spent").unwrap()));
    let admitted = |times: usize| {
        let mut count = 0;
        for _ in 0..times {
            count += usize::from(consume(&limiter, "k").unwrap().allowed);
            // These read, and so are answered by Redis.
            assert_eq!(limiter.peek(b"k", 1).unwrap().run().unwrap().source, Source::Redis);
            let denied = consume(&limiter, "spent").unwrap();
            assert_eq!((denied.allowed, denied.source), (false, Source::Redis));
        }
        count
    };
    let trouble = NoWrites::begin(&server);
    assert_eq!(admitted(12), 3, "of twelve");
    drop(trouble);
    until_redis_wrote(&limiter, "another");
    let trouble = NoWrites::begin(&server);
    assert_eq!(admitted(3), 0, "of three more");
    drop(trouble);
    assert_eq!(until_redis_wrote(&limiter, "k").remaining, 2, "Redis knows nothing of it");
    let trouble = NoWrites::begin(&server);
    assert_eq!(admitted(4), 0, "what was counted here counts until its window ends");
    drop(trouble);
}

#[test]
fn who_reads_its_dump_is_not_waited_for_and_its_end_noticed() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let server = server();
    let limiter = limiter(&server, OnError::Raise);
    assert!(consume(&limiter, "k").is_ok());
    server.command(&["DEBUG", "POPULATE", "50000", "dump"]);
    server.command(&["CONFIG", "SET", "loading-process-events-interval-bytes", "1024"]);
    server.command(&["CONFIG", "SET", "key-load-delay", "50"]);
    let url = server.url().to_owned();
    let reads = std::thread::spawn(move || operator::command(&url, &["DEBUG", "RELOAD"]));
    let give_up = Instant::now() + Duration::from_secs(20);
    let refused = loop {
        assert!(Instant::now() < give_up, "it answers all the time");
        match consume(&limiter, "k") {
            Err(error) if error.message().contains("LOADING") => break error,
            _ => {}
        }
    };
    assert_eq!(refused.code(), Code::Unavailable);
    let stalls = Stalls::watch();
    let began = Instant::now();
    for _ in 0..50 {
        assert_eq!(consume(&limiter, "k").unwrap_err().code(), Code::Unavailable);
    }
    let (took, stood_still) = (began.elapsed(), stalls.lost());
    server.command(&["CONFIG", "SET", "key-load-delay", "0"]);
    reads.join().unwrap();
    assert!(took < AT_ONCE + stood_still, "{took:?}");
    until_redis_wrote(&limiter, "k");
}

#[test]
fn closed_does_not_say_that_somebody_is_over_a_limit() {
    let url = Some("redis://127.0.0.1:1".to_owned());
    let client = Client::new(Options { url, on_error: OnError::Closed, ..Options::default() }).unwrap();
    let limiter = client.limiter("n", Policy::parse("3/hour").unwrap()).unwrap();
    let error = limiter.require(b"user:42", 1).unwrap().run().unwrap_err();
    assert_eq!(error.code(), Code::Limited);
    for words in ["user:42", "Redis could not be asked", "on_error=closed"] {
        assert!(error.message().contains(words), "{error}");
    }
    assert!(!error.message().contains("over"), "{error}");
}
