//! Rust's own futures: many calls at once on one connection, `wait` without a sleeping thread, close, and memory.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use quotalock::{Code, Decision, Policy, Result};
use quotalock_tests::{client, fresh_prefix, stores};

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

type Asked = Pin<Box<dyn Future<Output = Result<Decision>> + Send>>;

/// Polls all of them to their ends on this thread.
fn join(mut asked: Vec<Asked>) -> Vec<Result<Decision>> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut answers: Vec<Option<Result<Decision>>> = asked.iter().map(|_| None).collect();
    let give_up = Instant::now() + Duration::from_secs(30);
    while answers.iter().any(Option::is_none) {
        assert!(Instant::now() < give_up, "a future hangs");
        for (future, answer) in asked.iter_mut().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(&mut context) {
                *answer = Some(ready);
            }
        }
        if answers.iter().any(Option::is_none) {
            std::thread::park_timeout(Duration::from_millis(100));
        }
    }
    answers.into_iter().flatten().collect()
}

#[test]
fn a_thousand_at_once_admit_exactly_the_limit() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("many"));
        let limiter = client.limiter("many", Policy::parse("100/hour;1000000/week").unwrap()).unwrap();
        let asked = (0..1_000).map(|_| limiter.consume(b"k", 1).unwrap().into_future()).collect();
        let answers = join(asked);
        let admitted = answers.iter().filter(|a| a.as_ref().unwrap().allowed).count();
        assert_eq!((answers.len(), admitted), (1_000, 100), "{name}");
    }
}

#[test]
fn wait_sleeps_as_retry_after_says() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("wait"));
        let limiter = client.limiter("wait", Policy::parse("1/200ms").unwrap()).unwrap();
        let began = Instant::now();
        let asked = (0..3).map(|_| limiter.wait(b"k", 1, Duration::from_secs(20)).unwrap().into_future()).collect();
        assert!(join(asked).into_iter().all(|a| a.unwrap().allowed), "{name}");
        assert!(began.elapsed() >= Duration::from_millis(400), "{name}: {:?}", began.elapsed());
        let slow = client.limiter("slow", Policy::parse("1/hour").unwrap()).unwrap();
        assert!(slow.consume(b"k", 1).unwrap().run().unwrap().allowed, "{name}");
        let hopeless = slow.wait(b"k", 1, Duration::from_millis(1)).unwrap().run().unwrap();
        assert!(!hopeless.allowed && hopeless.retry_after > Some(1_000), "{name}: {hopeless:?}");
        let never = limiter.wait(b"k", 2, Duration::from_secs(20)).unwrap().run().unwrap();
        assert_eq!((never.allowed, never.retry_after), (false, None), "{name}");
    }
}

#[test]
fn a_dropped_wait_leaves_nothing_behind() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("dropped"));
        let limiter = client.limiter("dropped", Policy::parse("1/200ms").unwrap()).unwrap();
        assert!(limiter.consume(b"k", 1).unwrap().run().unwrap().allowed, "{name}");
        let mut waiting = limiter.wait(b"k", 1, Duration::from_secs(20)).unwrap().into_future();
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "{name}");
        // Time to be denied and to fall asleep; then time in which it would have gone on.
        std::thread::sleep(Duration::from_millis(50));
        drop(waiting);
        std::thread::sleep(Duration::from_millis(250));
        assert_eq!(limiter.peek(b"k", 1).unwrap().run().unwrap().remaining, 1, "{name}");
    }
}

#[test]
fn a_closed_client_says_so() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("close"));
        let limiter = client.limiter("close", Policy::parse("1/hour").unwrap()).unwrap();
        assert!(limiter.consume(b"k", 1).unwrap().run().unwrap().allowed);
        let waiting = limiter.wait(b"k", 1, Duration::from_secs(7_200)).unwrap().into_future();
        let closer = {
            let client = client.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                client.close();
            })
        };
        let ended = join(vec![waiting]).remove(0).unwrap_err();
        closer.join().unwrap();
        assert_eq!(ended.code(), Code::Closed, "{name}");
        assert_eq!(limiter.consume(b"k", 1).unwrap().run().unwrap_err().code(), Code::Closed, "{name}");
        client.close();
    }
}

#[test]
fn require_raises_with_the_decision() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("require"));
        let limiter = client.limiter("login", Policy::parse("1/hour").unwrap()).unwrap();
        assert!(limiter.require(b"user:42", 1).unwrap().run().unwrap().allowed, "{name}");
        let error = limiter.require(b"user:42", 1).unwrap().run().unwrap_err();
        assert_eq!(error.code(), Code::Limited, "{name}");
        assert!(error.message().contains("user:42") && error.message().contains("login"), "{name}: {error}");
        let decision = error.cause::<quotalock::Decision>().unwrap();
        assert!(!decision.allowed && decision.retry_after.unwrap() <= 3_600_000_000, "{name}: {decision:?}");
    }
}
