//! Clients made and used before a fork work after it, in parent and child, on connections of their own. Alone in its
//! file: the process must have no other threads at work when it forks.

use quotalock::{Limiter, Policy};
use quotalock_tests::{client, fresh_prefix, servers};

#[link(name = "c")]
unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

const CALLS: u64 = 500;

fn spend(limiter: &Limiter) -> u64 {
    (0..CALLS).filter(|_| limiter.consume(b"k", 1).unwrap().run().is_ok_and(|d| d.allowed)).count() as u64
}

fn await_one(limiter: &Limiter) -> bool {
    let mut future = std::pin::pin!(std::future::IntoFuture::into_future(limiter.consume(b"other", 1).unwrap()));
    let waker = std::task::Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    // Where nobody is at work for it, it would wait for ever.
    let given_up = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while std::time::Instant::now() < given_up {
        match std::future::Future::poll(future.as_mut(), &mut context) {
            std::task::Poll::Ready(answer) => return answer.is_ok_and(|d| d.allowed),
            std::task::Poll::Pending => std::thread::park_timeout(std::time::Duration::from_secs(10)),
        }
    }
    false
}

struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn forked_children_share_limits_but_no_sockets() {
    let url = &servers()[0].1;
    let client = client(url, &fresh_prefix("fork"));
    let limiter = client.limiter("fork", Policy::parse("1000000/hour").unwrap()).unwrap();
    assert_eq!(spend(&limiter), CALLS);
    assert!(await_one(&limiter), "the process' thread is at work before the fork");

    let children: Vec<i32> = (0..4)
        .map(|_| {
            // SAFETY: the child runs only our own code and leaves by `_exit`, whatever happens.
            match unsafe { fork() } {
                0 => {
                    let good = std::panic::catch_unwind(|| spend(&limiter) == CALLS && await_one(&limiter));
                    // SAFETY: ends the child without running the parent's test harness again.
                    unsafe { _exit(if good.unwrap_or(false) { 0 } else { 1 }) }
                }
                pid => pid,
            }
        })
        .collect();
    assert_eq!(spend(&limiter), CALLS);
    assert!(await_one(&limiter));
    for pid in children {
        let mut status = -1;
        // SAFETY: waits for a child of ours; `status` is alive.
        assert_eq!(unsafe { waitpid(pid, &raw mut status, 0) }, pid);
        assert_eq!(status, 0, "a child got a wrong or no answer");
    }
    let decision = limiter.peek(b"k", 1).unwrap().run().unwrap();
    assert_eq!(decision.remaining, 1_000_000 - 6 * CALLS, "every call was counted exactly once");
}
