//! How long whoever waits for a contended lock waits at most, of each kind, in order and not, beside the bound that the guide
//! names. Each contender has a client of its own, as a process of its own would.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use quotalock::{Client, Lock, LockOptions};
use quotalock_tests::{client, fresh_prefix, servers, stalls};

/// How long each contest lasts.
const CONTEST: Duration = Duration::from_millis(2_500);
/// How long each holds.
const HOLD: Duration = Duration::from_millis(3);
/// For how long one who does not wait in order may be overtaken: as the guide says.
const OVERTAKEN: Duration = Duration::from_millis(500);
/// What passing a lock on may take on a machine that is shared, for each of those before.
const HAND_OVER: Duration = Duration::from_millis(12);

fn light(client: &Client, options: LockOptions) -> Lock {
    client.semaphore(b"pool", 3, 1, options).unwrap()
}

fn heavy(client: &Client, options: LockOptions) -> Lock {
    client.semaphore(b"pool", 3, 3, options).unwrap()
}

fn reader(client: &Client, options: LockOptions) -> Lock {
    client.read_lock(b"book", options).unwrap()
}

fn writer(client: &Client, options: LockOptions) -> Lock {
    client.write_lock(b"book", options).unwrap()
}

fn of_a(client: &Client, options: LockOptions) -> Lock {
    client.lock(b"{one}a", options).unwrap()
}

fn of_b(client: &Client, options: LockOptions) -> Lock {
    client.lock(b"{one}b", options).unwrap()
}

fn both(client: &Client, options: LockOptions) -> Lock {
    client.lock_all(&[b"{one}a", b"{one}b"], options).unwrap()
}

fn both_crossed(client: &Client, options: LockOptions) -> Lock {
    client.lock_all(&[b"{one}b", b"{one}a"], options).unwrap()
}

type Crowd = [(&'static str, fn(&Client, LockOptions) -> Lock, usize)];

/// Has all of them take it again and again: of each kind, how often it was granted and the longest wait.
fn contest(url: &str, crowd: &Crowd, fair: bool) -> Vec<(&'static str, usize, Duration)> {
    let prefix = fresh_prefix("waits");
    let size: usize = crowd.iter().map(|(_, _, count)| count).sum();
    let (gate, end) = (Barrier::new(size), Instant::now() + CONTEST);
    thread::scope(|scope| {
        let mut kinds = Vec::new();
        for (what, make, count) in crowd {
            let one = || {
                let options = LockOptions { fair, ttl: 20_000_000, ..LockOptions::default() };
                let lock = make(&client(url, &prefix), options);
                gate.wait();
                let (mut granted, mut longest) = (0, Duration::ZERO);
                while Instant::now() < end {
                    let asked = Instant::now();
                    let got = lock.acquire(CONTEST).unwrap().run().unwrap();
                    longest = longest.max(asked.elapsed());
                    if got {
                        granted += 1;
                        thread::sleep(HOLD);
                        lock.release().run().unwrap();
                    }
                }
                (granted, longest)
            };
            kinds.push((*what, (0..*count).map(|_| scope.spawn(one)).collect::<Vec<_>>()));
        }
        let result = |(what, threads): (&'static str, Vec<thread::ScopedJoinHandle<'_, (usize, Duration)>>)| {
            let all = threads.into_iter().map(|thread| thread.join().unwrap());
            // Of whoever fared worst.
            let worst = all.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))).unwrap();
            (what, worst.0, worst.1)
        };
        kinds.into_iter().map(result).collect()
    })
}

/// Waits until so many stand in the table of this lock.
fn until_waiting(lock: &Lock, count: u64) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while lock.inspect().run().unwrap().waiters < count {
        assert!(Instant::now() < give_up, "nobody stands in the table");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_reader_that_waits_goes_before_a_writer_that_comes_later() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("book");
        let own = |make: fn(&Client, LockOptions) -> Lock| make(&client(&url, &prefix), LockOptions::default());
        let (first, reads, writes) = (own(writer), own(reader), own(writer));
        assert!(first.acquire(Duration::ZERO).unwrap().run().unwrap());
        thread::scope(|scope| {
            let reading = scope.spawn(|| reads.acquire(Duration::from_secs(20)).unwrap().run().unwrap());
            until_waiting(&first, 1);
            let writing = scope.spawn(|| writes.acquire(Duration::from_secs(20)).unwrap().run().unwrap());
            until_waiting(&first, 2);
            assert!(first.release().run().unwrap());
            assert!(reading.join().unwrap(), "{name}");
            assert!(!writes.is_held(), "{name}: the writer went first");
            assert!(reads.release().run().unwrap() && writing.join().unwrap());
        });
    }
}

#[test]
fn who_waits_for_several_stands_in_all_lines_after_half_a_second() {
    let (_, url) = servers().remove(0);
    let mut soonest = Duration::MAX;
    for _ in 0..5 {
        let prefix = fresh_prefix("lines");
        let own = |make: fn(&Client, LockOptions) -> Lock| make(&client(&url, &prefix), LockOptions::default());
        let (holder, other, waits) = (own(of_a), own(of_b), own(both));
        assert!(holder.acquire(Duration::ZERO).unwrap().run().unwrap());
        thread::scope(|scope| {
            let began = Instant::now();
            let waiting = scope.spawn(|| waits.acquire(Duration::from_secs(20)).unwrap().run().unwrap());
            until_waiting(&other, 1);
            soonest = soonest.min(began.elapsed());
            assert!(holder.release().run().unwrap() && waiting.join().unwrap());
        });
    }
    // It would ask again after 0.8 s by itself.
    assert!(soonest >= OVERTAKEN && soonest < Duration::from_millis(750), "{soonest:?} at best");
}

#[test]
fn nobody_waits_longer_than_the_guide_says() {
    let crowds: [&Crowd; 5] = [
        &[("mutex", of_a, 6)],
        &[("light permits", light, 6), ("heavy permits", heavy, 1)],
        &[("readers among writers", reader, 2), ("writers", writer, 2)],
        &[("many readers", reader, 6), ("a writer among them", writer, 1)],
        &[("one name", of_a, 2), ("the other", of_b, 2), ("both", both, 1), ("both, crossed", both_crossed, 1)],
    ];
    let url = &servers()[0].1;
    let mut broken = Vec::new();
    println!("{:<24} {:>8} {:>8} {:>14} {:>10}", "who waits", "fair", "grants", "longest wait", "bound");
    for crowd in crowds {
        for fair in [true, false] {
            let stalls = stalls::Stalls::watch();
            let waits = contest(url, crowd, fair);
            let stalled = stalls.worst();
            let before: u32 = crowd.iter().map(|(_, _, count)| *count as u32).sum();
            let bound = (HOLD + HAND_OVER) * before + if fair { Duration::ZERO } else { OVERTAKEN };
            for (what, grants, longest) in waits {
                println!("{what:<24} {fair:>8} {grants:>8} {longest:>14.1?} {bound:>10.1?}");
                if longest > bound + stalled * before {
                    broken.push(format!("{what} (fair: {fair}) waited {longest:?}, not {bound:?} and {stalled:?}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
