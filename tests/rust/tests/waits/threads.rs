//! Threads that share one client: each gets its own answer, every call is counted once, and a close leaves nobody behind.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use quotalock::{Code, Limiter, Policy};
use quotalock_tests::{client, fresh_prefix, servers};

const THREADS: u64 = 12;
const CALLS: u64 = 200;
const LIMIT: u64 = 1_000_000;

/// What `work` returned on each of the threads, which begin together.
fn at_once<T: Send>(work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let gate = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        let begin = |number| {
            let (gate, work) = (&gate, &work);
            scope.spawn(move || {
                gate.wait();
                work(number)
            })
        };
        let threads: Vec<_> = (0..THREADS).map(begin).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn remaining(limiter: &Limiter, key: &str) -> u64 {
    limiter.consume(key.as_bytes(), 1).unwrap().run().unwrap().remaining
}

fn policy() -> Policy {
    Policy::parse(&format!("{LIMIT}/hour")).unwrap()
}

#[test]
fn calls_of_a_shared_key_are_counted_one_by_one() {
    for (name, url) in servers() {
        let limiter = client(&url, &fresh_prefix("shared")).limiter("threads", policy()).unwrap();
        let answers = at_once(|_| (0..CALLS).map(|_| remaining(&limiter, "k")).collect::<Vec<_>>());
        for thread in &answers {
            assert!(thread.is_sorted_by(|a, b| a > b), "{name}: a thread saw the count go back");
        }
        let mut all: Vec<u64> = answers.into_iter().flatten().collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(LIMIT - THREADS * CALLS..LIMIT), "{name}: an answer was given twice, or to nobody");
    }
}

#[test]
fn no_thread_gets_the_answer_to_anothers_call() {
    for (name, url) in servers() {
        let limiter = client(&url, &fresh_prefix("own")).limiter("threads", policy()).unwrap();
        let good = at_once(|number| {
            let key = format!("key of {number}");
            // Begun from a number of its own, so that another's answer shows from the first call on.
            limiter.consume(key.as_bytes(), 1_000 * (number + 1)).unwrap().run().unwrap();
            (1..=CALLS).all(|call| remaining(&limiter, &key) == LIMIT - 1_000 * (number + 1) - call)
        });
        assert_eq!(good, vec![true; THREADS as usize], "{name}");
    }
}

#[test]
fn a_close_ends_the_calls_of_all_threads() {
    let url = &servers()[0].1;
    let client = client(url, &fresh_prefix("close"));
    let limiter = client.limiter("threads", policy()).unwrap();
    let began = Instant::now();
    let ends = at_once(|number| {
        if number == 0 {
            thread::sleep(Duration::from_millis(50));
            client.close();
        }
        loop {
            match limiter.consume(b"k", 1).unwrap().run() {
                Ok(_) => assert!(began.elapsed() < Duration::from_secs(5), "the close was not noticed"),
                Err(error) => return error.code(),
            }
        }
    });
    assert_eq!(ends, vec![Code::Closed; THREADS as usize]);
}
