//! What a process knows of the locks that it holds itself is a hint, and the server is asked all the same.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use quotalock::driver::Sink;
use quotalock::{Answer, Lock, LockOptions, Op, Result};
use quotalock_tests::elsewhere::submit;
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{client, fresh_prefix, operator, servers, stores};

/// Two handles of one lock.
fn two(url: &str, what: &str) -> (Lock, Lock) {
    let client = client(url, &fresh_prefix(what));
    let options = LockOptions { ttl: 60_000_000, ..LockOptions::default() };
    (client.lock(b"sku:42", options.clone()).unwrap(), client.lock(b"sku:42", options).unwrap())
}

struct Teller(mpsc::Sender<bool>);

impl Sink for Teller {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        for (_, answer) in answers {
            self.0.send(answer.is_ok_and(|answer| answer.get() == Some(&true))).unwrap();
        }
    }
}

/// Has the process' thread acquire it.
fn acquire(lock: &Lock, wait: Duration) -> mpsc::Receiver<bool> {
    submitted(lock.acquire(wait).unwrap())
}

fn submitted(acquiring: Op<bool>) -> mpsc::Receiver<bool> {
    let (tell, told) = mpsc::channel();
    submit(acquiring, 0, &(Arc::new(Teller(tell)) as Arc<dyn Sink>));
    told
}

fn a_try(lock: &Lock) -> bool {
    acquire(lock, Duration::ZERO).recv_timeout(Duration::from_secs(20)).unwrap()
}

/// A second handle waits while the first holds; what `free` does to the first lets the second have it soon.
fn gets_it_after(what: &str, free: impl Fn(Lock)) {
    for (name, url) in stores() {
        let (holder, waiter) = two(&url, what);
        assert!(a_try(&holder), "{name}");
        let waiting = acquire(&waiter, Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(200));
        let began = Instant::now();
        free(holder);
        assert_eq!(waiting.recv_timeout(Duration::from_secs(25)), Ok(true), "{name}");
        assert!(began.elapsed() < Duration::from_secs(5), "{name}: after {:?}", began.elapsed());
        assert!(waiter.release().run().unwrap());
    }
}

#[test]
fn a_waiter_gets_what_was_released_by_force() {
    gets_it_after("forced", |holder| assert_eq!(holder.force_release().run().unwrap(), 1));
}

/// How late a waiter may hear of it, on a machine that is shared: it would rest for up to a second.
const SOON: Duration = Duration::from_millis(250);

#[test]
fn a_short_wait_asks_the_server_whatever_this_process_believes() {
    for (name, url) in servers() {
        let (holder, other) = two(&url, "deleted");
        assert!(a_try(&holder), "{name}");
        operator::command(&url, &["DEL", std::str::from_utf8(&holder.redis_keys()[0]).unwrap()]);
        let waiting = acquire(&other, Duration::from_millis(300));
        assert_eq!(waiting.recv_timeout(Duration::from_secs(20)), Ok(true), "{name}");
        assert!(other.release().run().unwrap());
    }
}

#[test]
fn a_short_wait_behind_a_long_one_asks_too() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("behind"));
        let lock = || client.lock(b"sku:42", LockOptions { ttl: 60_000_000, ..LockOptions::default() }).unwrap();
        let (holder, patient, hasty) = (lock(), lock(), lock());
        assert!(a_try(&holder), "{name}");
        let first = acquire(&patient, Duration::from_secs(20));
        // Until it rests.
        let give_up = Instant::now() + Duration::from_secs(20);
        while holder.inspect().run().unwrap().waiters == 0 {
            assert!(Instant::now() < give_up, "{name}: it does not stand in the table");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(150));
        operator::command(&url, &["DEL", std::str::from_utf8(&holder.redis_keys()[0]).unwrap()]);
        let (stalls, began) = (Stalls::watch(), Instant::now());
        let second = acquire(&hasty, Duration::from_millis(300));
        assert_eq!(first.recv_timeout(Duration::from_secs(20)), Ok(true), "{name}");
        let took = began.elapsed();
        assert!(took < SOON + stalls.lost(), "{name}: after {took:?}");
        assert_eq!(second.recv_timeout(Duration::from_secs(20)), Ok(false), "{name}");
    }
}

#[test]
fn a_forced_release_is_heard_at_once() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("heard"));
        let lock = || client.lock(b"sku:42", LockOptions { ttl: 60_000_000, ..LockOptions::default() }).unwrap();
        let mut soonest = SOON;
        for _ in 0..5 {
            let (holder, first, second) = (lock(), lock(), lock());
            assert!(a_try(&holder), "{name}");
            let (mine, next) = (acquire(&first, Duration::from_secs(20)), acquire(&second, Duration::from_secs(20)));
            std::thread::sleep(Duration::from_millis(120));
            let (stalls, began) = (Stalls::watch(), Instant::now());
            assert_eq!(lock().force_release().run().unwrap(), 1, "{name}");
            assert_eq!(mine.recv_timeout(Duration::from_secs(20)), Ok(true), "{name}");
            // The one behind it leaves it to `first` to hand the lock on, and stands in no table yet.
            let forced = Instant::now();
            assert_eq!(lock().force_release().run().unwrap(), 1, "{name}");
            assert_eq!(next.recv_timeout(Duration::from_secs(20)), Ok(true), "{name}");
            soonest = soonest.min(forced.elapsed());
            let took = began.elapsed();
            assert!(took < SOON + stalls.lost(), "{name}: after {took:?}");
            assert!(second.release().run().unwrap());
        }
        // It would ask by itself after 100 ms.
        assert!(soonest < Duration::from_millis(70), "{name}: {soonest:?} at best");
    }
}

#[test]
fn a_waiter_gets_what_a_dropped_handle_held() {
    gets_it_after("dropped", drop);
}

#[test]
fn closing_a_client_ends_no_call_of_another() {
    for (name, url) in stores() {
        for turn in 0..200 {
            let (mine, others) = (two(&url, "mine").0, client(&url, &fresh_prefix("other")));
            let other = others.lock(b"sku:42", LockOptions::default()).unwrap();
            assert!(a_try(&mine) && a_try(&other), "{name}");
            // Both in one turn of the process' thread.
            let (tell, told) = mpsc::channel();
            submit(mine.release(), 0, &(Arc::new(Teller(tell)) as Arc<dyn Sink>));
            others.close();
            assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(true), "{name}, turn {turn}");
        }
    }
}

#[test]
fn a_try_asks_the_server() {
    for (name, url) in stores() {
        let (holder, other) = two(&url, "try");
        assert!(a_try(&holder));
        assert!(!a_try(&other));
        assert_eq!(other.force_release().run().unwrap(), 1);
        assert!(a_try(&other), "{name}");
        assert!(other.release().run().unwrap());
    }
}

#[test]
fn replicas_are_asked_again_until_the_wait_is_over() {
    for (name, url) in servers() {
        // These have none.
        let options = LockOptions { replicas_ack: 1, ack_timeout: 20_000, ..LockOptions::default() };
        let client = client(&url, &fresh_prefix("replicas"));
        let lock = || client.lock(b"sku:42", options.clone()).unwrap();
        let began = Instant::now();
        assert!(!a_try(&lock()) && !lock().acquire(Duration::ZERO).unwrap().run().unwrap(), "{name}");
        assert!(began.elapsed() < Duration::from_secs(5), "{name}: after {:?}", began.elapsed());
        let wait = Duration::from_millis(400);
        for how in 0..3 {
            let (waits, began) = (lock(), Instant::now());
            let acquiring = waits.acquire(wait).unwrap();
            let granted = match how {
                0 => acquiring.run().unwrap(),
                1 => acquiring.run_among_threads(&mut || false).unwrap(),
                _ => submitted(acquiring).recv_timeout(Duration::from_secs(20)).unwrap(),
            };
            assert!(!granted && began.elapsed() >= wait, "{name}: {granted} after {:?}", began.elapsed());
            assert!(waits.not_acquired().message().contains("0 of 1 replicas"), "{}", waits.not_acquired());
        }
        while !lock().inspect().run().unwrap().holders.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(10), "{name}: what there was is not taken back");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn tries_made_at_once_are_all_asked() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("tries"));
        let semaphore = || client.semaphore(b"pool", 3, 1, LockOptions::default()).unwrap();
        let handles: Vec<Lock> = (0..4).map(|_| semaphore()).collect();
        let told: Vec<_> = handles.iter().map(|lock| acquire(lock, Duration::ZERO)).collect();
        let granted = told.iter().filter(|told| told.recv_timeout(Duration::from_secs(20)).unwrap()).count();
        assert_eq!(granted, 3, "{name}");
    }
}
