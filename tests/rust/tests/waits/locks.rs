//! Locks through their handles: threads, futures, renewal and loss, on memory and on real servers.

use std::future::IntoFuture;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Context;
use std::time::{Duration, Instant};

use quotalock::{Client, Code, Lock, LockOptions, LockState, testing};
use quotalock_tests::futures::{block_on, waker};
use quotalock_tests::puppets::{Does, Puppet};
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{client, fresh_prefix, servers, stores};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);

fn options(ttl_ms: u64) -> LockOptions {
    LockOptions { ttl: ttl_ms * 1_000, ..LockOptions::default() }
}

fn lock(client: &Client, ttl_ms: u64) -> Lock {
    client.lock(b"sku:42", options(ttl_ms)).unwrap()
}

fn try_acquire(lock: &Lock) -> bool {
    lock.acquire(NOW).unwrap().run().unwrap()
}

#[test]
fn one_holds_and_the_other_learns_who() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("lock"));
        let first = client.lock(b"sku:42", LockOptions { label: "checkout".into(), ..options(30_000) }).unwrap();
        let second = lock(&client, 30_000);
        assert_eq!((first.state(), first.token(), first.remaining()), (LockState::Released, None, 0), "{name}");
        assert!(try_acquire(&first), "{name}");
        assert!(first.is_held() && first.assert_held().is_ok());
        assert!((20_000_000..29_700_000).contains(&first.remaining()), "{name}: {}", first.remaining());
        assert!(!try_acquire(&second), "{name}");
        let why = second.not_acquired();
        assert_eq!(why.code(), Code::NotAcquired);
        assert!(why.message().contains("\"checkout\"") && why.message().contains("at once"), "{why}");
        let seen = second.inspect().run().unwrap();
        assert_eq!((seen.holders.len(), seen.holders[0].token), (1, first.token().unwrap()));
        assert_eq!(seen.holders[0].pid, u64::from(std::process::id()));
        assert_eq!(seen.holders[0].label, "checkout");
        let again = first.acquire(NOW).err().unwrap();
        assert_eq!(again.code(), Code::InvalidArgument, "{again}");
        assert!(!second.release().run().unwrap(), "another's handle releases nothing");
        assert!(first.release().run().unwrap());
        assert!(!first.release().run().unwrap());
        assert_eq!(first.assert_held().err().unwrap().code(), Code::Lost);
        let before = seen.token;
        assert!(try_acquire(&second));
        assert!(second.token().unwrap() > before, "{name}");
        assert!(second.release().run().unwrap());
    }
}

#[test]
fn a_waiting_thread_gets_it_when_it_is_free() {
    for (name, url) in stores() {
        for among_threads in [false, true] {
            let client = client(&url, &fresh_prefix("wait"));
            let (first, second) = (lock(&client, 30_000), lock(&client, 30_000));
            assert!(try_acquire(&first));
            let (tell, told) = mpsc::channel();
            let waiter = std::thread::spawn(move || {
                let acquiring = second.acquire(LONG).unwrap();
                tell.send(()).unwrap();
                let got = match among_threads {
                    true => acquiring.run_among_threads(&mut || false),
                    false => acquiring.run(),
                };
                (got.unwrap(), Instant::now(), second.release().run().unwrap())
            });
            told.recv().unwrap();
            std::thread::sleep(Duration::from_millis(150));
            let (stalls, freed) = (Stalls::watch(), Instant::now());
            assert!(first.release().run().unwrap());
            let (got, at, released) = waiter.join().unwrap();
            assert!(got && released, "{name}");
            let bound = Duration::from_millis(700) + stalls.lost();
            assert!(at - freed < bound, "{name}: woken after {:?}", at - freed);
        }
    }
}

#[test]
fn of_the_threads_of_a_process_only_the_first_in_line_stands_in_the_table() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("first"));
        let first = lock(&client, 30_000);
        assert!(try_acquire(&first));
        let waiters = [(); 3].map(|()| {
            let lock = lock(&client, 30_000);
            let waiter = std::thread::spawn(move || {
                let got = lock.acquire(LONG).unwrap().run_among_threads(&mut || false).unwrap();
                got && lock.release().run().unwrap()
            });
            let give_up = Instant::now() + LONG;
            while first.inspect().run().unwrap().waiters == 0 {
                assert!(Instant::now() < give_up, "{name}: nobody waits");
            }
            waiter
        });
        // Time to ask for those behind it. One who was told that it is free, and does not ask, would keep it from the first.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(first.inspect().run().unwrap().waiters, 1, "{name}");
        assert!(first.release().run().unwrap());
        assert!(waiters.into_iter().all(|waiter| waiter.join().unwrap()), "{name}");
    }
}

#[test]
fn a_wait_ends_in_its_time_and_leaves_nothing() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("late"));
        let (first, second) = (lock(&client, 30_000), lock(&client, 30_000));
        assert!(try_acquire(&first));
        for how in 0..3 {
            let (stalls, began) = (Stalls::watch(), Instant::now());
            let acquiring = second.acquire(Duration::from_millis(200)).unwrap();
            let got = match how {
                0 => acquiring.run().unwrap(),
                1 => acquiring.run_among_threads(&mut || false).unwrap(),
                _ => block_on(acquiring).unwrap(),
            };
            let took = began.elapsed();
            assert!(!got);
            assert!(took >= Duration::from_millis(180), "{name}: {took:?}");
            assert!(took < Duration::from_millis(2_000) + stalls.lost(), "{name}: {took:?}");
            assert!(second.not_acquired().message().contains("200 ms"), "{}", second.not_acquired());
        }
        // What is taken back in the background is soon gone.
        let give_up = Instant::now() + LONG;
        while first.inspect().run().unwrap().waiters > 0 {
            assert!(Instant::now() < give_up, "{name}: a waiter stays");
        }
        assert!(first.release().run().unwrap());
        assert!(try_acquire(&second), "{name}");
    }
}

#[test]
fn a_wait_that_ends_before_it_could_subscribe_is_a_refusal() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("unsubscribed");
        let held = lock(&client(&url, &prefix), 60_000);
        assert!(try_acquire(&held), "{name}");
        let puppet = Puppet::before(&url);
        puppet.does(|words, _| if words[0] == "SUBSCRIBE" { Does::Nothing } else { Does::It });
        let waiting = lock(&client(&format!("redis://{}", puppet.address()), &prefix), 60_000);
        assert!(!waiting.acquire(Duration::from_millis(60)).unwrap().run().unwrap(), "{name}");
        assert!(puppet.count("SUBSCRIBE") > 0, "{name}");
    }
}

#[test]
fn an_interrupted_wait_leaves_nothing() {
    for (name, url) in stores() {
        for among_threads in [false, true] {
            let client = client(&url, &fresh_prefix("stop"));
            let (first, second) = (lock(&client, 30_000), lock(&client, 30_000));
            assert!(try_acquire(&first));
            let mut asked = 0;
            let mut interrupted = || {
                asked += 1;
                asked > 3
            };
            let acquiring = second.acquire(LONG).unwrap();
            let stopped = match among_threads {
                true => acquiring.run_among_threads(&mut interrupted),
                false => acquiring.run_interruptibly(&mut interrupted),
            };
            assert_eq!(stopped.err().unwrap().code(), Code::Internal, "{name}");
            assert!(first.release().run().unwrap());
            // What is taken back in the background goes before newcomers for a moment.
            assert!(second.acquire(LONG).unwrap().run().unwrap(), "{name}");
        }
    }
}

#[test]
fn a_hundred_futures_pass_it_on_one_after_another() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("line"));
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut threads = Vec::new();
        let tokens = Arc::new(std::sync::Mutex::new(Vec::new()));
        for _ in 0..100 {
            let (lock, inside, most) = (lock(&client, 30_000), inside.clone(), most.clone());
            let tokens = tokens.clone();
            threads.push(std::thread::spawn(move || {
                assert!(block_on(lock.acquire(LONG).unwrap()).unwrap());
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokens.lock().unwrap().push(lock.token().unwrap());
                std::thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                assert!(block_on(lock.release()).unwrap());
            }));
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(most.load(Ordering::SeqCst), 1, "{name}");
        let tokens = tokens.lock().unwrap();
        assert_eq!(tokens.len(), 100, "{name}");
        assert!(tokens.is_sorted_by(|a, b| a < b), "{name}: {tokens:?}");
    }
}

#[test]
fn a_dropped_future_leaves_nothing() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("drop"));
        let (first, second, third) = (lock(&client, 30_000), lock(&client, 30_000), lock(&client, 30_000));
        assert!(try_acquire(&first));
        let waker = waker();
        let mut future = second.acquire(LONG).unwrap().into_future();
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        std::thread::sleep(Duration::from_millis(50));
        drop(future);
        assert!(block_on(first.release()).unwrap());
        assert!(block_on(third.acquire(LONG).unwrap()).unwrap(), "{name}");
        assert!(!second.is_held());
        assert!(block_on(third.release()).unwrap(), "{name}");
        assert!(block_on(second.acquire(LONG).unwrap()).unwrap(), "{name}: the handle can be used again");
    }
}

#[test]
fn it_is_renewed_while_it_is_held_and_no_longer() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("renew"));
        // Two thirds of it are longer than a machine stands still.
        let first = lock(&client, 4_000);
        assert!(try_acquire(&first));
        std::thread::sleep(Duration::from_millis(4_400));
        assert!(first.is_held(), "{name}");
        let second = lock(&client, 300);
        assert!(!try_acquire(&second), "{name}");
        drop(first);
        assert!(second.acquire(LONG).unwrap().run().unwrap(), "{name}: a dropped handle gives it back");
        let short = LockOptions { max_hold: 100_000, ..options(300) };
        let third = client.lock(b"other", short).unwrap();
        assert!(try_acquire(&third));
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(third.state(), LockState::Lost, "{name}: nobody renews it for ever");
    }
}

#[test]
fn a_loss_is_told_at_once() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("loss"));
        let first = lock(&client, 9_000);
        assert!(try_acquire(&first));
        let (tell, told) = mpsc::channel();
        first.on_loss(Box::new(move || tell.send(Instant::now()).unwrap()));
        let (stalls, forced) = (Stalls::watch(), Instant::now());
        assert_eq!(lock(&client, 600).force_release().run().unwrap(), 1);
        let at = told.recv_timeout(LONG).unwrap();
        // A renewal is due after a third of its ttl.
        assert!(at - forced < Duration::from_millis(7_000) + stalls.lost(), "{name}: {:?}", at - forced);
        assert_eq!((first.state(), first.is_held()), (LockState::Lost, false));
        assert_eq!(first.assert_held().err().unwrap().code(), Code::Lost);
        assert!(first.token().is_some());
        assert!(!first.extend(None).unwrap().run().unwrap());
        assert!(!first.release().run().unwrap(), "{name}: releasing what was lost is false");
        // Not renewed, it is lost when its time is over.
        let second = client.lock(b"sku:42", LockOptions { renew: false, ..options(200) }).unwrap();
        for alone in [false, true] {
            let stalls = Stalls::watch();
            let acquiring = second.acquire(LONG).unwrap();
            assert!(if alone { acquiring.run() } else { block_on(acquiring) }.unwrap());
            let (granted, (tell, told)) = (Instant::now(), mpsc::channel());
            second.on_loss(Box::new(move || tell.send(()).unwrap()));
            told.recv_timeout(LONG).unwrap();
            assert!(granted.elapsed() < Duration::from_millis(500) + stalls.lost(), "{name}: {:?}", granted.elapsed());
        }
    }
}

#[test]
fn permits_readers_and_writers() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("kinds"));
        let permit = |weight| client.semaphore(b"pool", 3, weight, options(30_000)).unwrap();
        let (one, two, other) = (permit(1), permit(2), permit(1));
        assert!(try_acquire(&one) && try_acquire(&two) && !try_acquire(&other), "{name}");
        assert!(two.release().run().unwrap());
        assert!(try_acquire(&other));
        let read = || client.read_lock(b"page", options(30_000)).unwrap();
        let write = || client.write_lock(b"page", options(30_000)).unwrap();
        let (reader, another, writer) = (read(), read(), write());
        assert!(try_acquire(&reader) && try_acquire(&another) && !try_acquire(&writer), "{name}");
        let waiting = std::thread::spawn(move || {
            let got = block_on(writer.acquire(LONG).unwrap()).unwrap();
            (got, writer)
        });
        let give_up = Instant::now() + LONG;
        while reader.inspect().run().unwrap().waiters == 0 {
            assert!(Instant::now() < give_up, "{name}: the writer does not wait");
        }
        assert!(!try_acquire(&read()), "{name}: a waiting writer goes before new readers");
        assert!(reader.release().run().unwrap() && another.release().run().unwrap());
        let (got, writer) = waiting.join().unwrap();
        assert!(got && !try_acquire(&read()), "{name}");
        assert!(writer.release().run().unwrap());
        assert!(try_acquire(&read()));
    }
}

#[test]
fn several_are_held_all_or_none() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("all"));
        let both = |names: [&[u8]; 2]| client.lock_all(&names, options(30_000)).unwrap();
        let held = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = [[&b"a"[..], b"b"], [b"b", b"a"], [b"b", b"c"], [b"c", b"a"]]
            .map(|names| {
                let (lock, held) = (both(names), held.clone());
                std::thread::spawn(move || {
                    for _ in 0..20 {
                        assert!(block_on(lock.acquire(LONG).unwrap()).unwrap());
                        assert_eq!(held.fetch_add(1, Ordering::SeqCst), 0);
                        held.fetch_sub(1, Ordering::SeqCst);
                        assert!(block_on(lock.release()).unwrap());
                    }
                })
            })
            .into();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let single = client.lock(b"b", options(30_000)).unwrap();
        assert!(try_acquire(&single));
        assert!(!try_acquire(&both([b"a", b"b"])), "{name}");
        assert!(try_acquire(&client.lock(b"a", options(30_000)).unwrap()), "{name}: nothing was taken of the others");
    }
}

#[test]
fn an_extension_counts_from_before_its_sending() {
    const THEN: u64 = 1_700_000_000_000_000;
    let client = client("memory://", &fresh_prefix("sent"));
    testing::set_time(&client, Some(THEN)).unwrap();
    let lock = lock(&client, 30_000);
    assert!(try_acquire(&lock));
    let extension = lock.extend(None).unwrap();
    testing::set_time(&client, Some(THEN + 10_000_000)).unwrap();
    assert!(extension.run().unwrap());
    // The ttl less 1 % and 2 ms, and the time that it took.
    assert_eq!(lock.remaining(), 29_698_000 - 10_000_000);
}
