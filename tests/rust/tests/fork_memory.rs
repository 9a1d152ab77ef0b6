//! A child begins with an empty memory, and finds nothing of it locked, though threads of its parent decide while it is forked.
//! Alone in its file: it forks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use quotalock::{Limiter, Policy};
use quotalock_tests::client;

const LIMIT: u64 = 1 << 40;
const CHILDREN: usize = 50;
const KEYS: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];

/// Whether each key is as new, by a decision at once and by a call.
fn begins_empty(limiter: &Limiter) -> bool {
    KEYS.iter().all(|key| {
        let first = limiter.consume_at_once(key, 1).unwrap().unwrap().remaining;
        let second = limiter.consume(key, 1).unwrap().run().unwrap().remaining;
        [first, second] == [LIMIT - 1, LIMIT - 2]
    })
}

#[test]
fn a_child_begins_with_an_empty_memory_that_is_not_locked() {
    let limiter = client("memory://", "fork").limiter("n", Policy::parse(&format!("{LIMIT}/day")).unwrap()).unwrap();
    KEYS.iter().for_each(|key| drop(limiter.consume_at_once(key, 1)));
    let on = AtomicBool::new(true);
    thread::scope(|scope| {
        for number in 0..2 {
            let (limiter, on) = (&limiter, &on);
            scope.spawn(move || {
                while on.load(Ordering::Relaxed) {
                    KEYS.iter().skip(number).for_each(|key| drop(limiter.consume_at_once(key, 1)));
                }
            });
        }
        let fork = |_| {
            // SAFETY: the child runs only our own code and leaves by `_exit`, whatever happens.
            match unsafe { libc::fork() } {
                0 => {
                    // SAFETY: has the kernel end a child that waits for a lock that nobody holds any more.
                    unsafe { libc::alarm(20) };
                    let good = std::panic::catch_unwind(|| begins_empty(&limiter)).unwrap_or(false);
                    // SAFETY: ends the child without running the parent's test harness again.
                    unsafe { libc::_exit(i32::from(!good)) }
                }
                pid => pid,
            }
        };
        let ended = |pid| {
            let mut status = -1;
            // SAFETY: waits for a child of ours; `status` is alive.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            status
        };
        // One at a time: the threads decide meanwhile.
        let good = (0..CHILDREN).map(fork).filter(|pid| ended(*pid) == 0).count();
        on.store(false, Ordering::Relaxed);
        assert_eq!(good, CHILDREN);
    });
    assert!(!begins_empty(&limiter), "the parent's memory is as it was");
}
