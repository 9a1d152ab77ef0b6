//! Leases of permits: what is spent in this process was charged in Redis before, and is worth nothing after its window.

use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use quotalock::{Client, Code, Decision, Limiter, LimiterOptions, Policy, Source, testing};
use quotalock_tests::longer::random_cases;
use quotalock_tests::{client, fresh_prefix, servers};

const SECOND: u64 = 1_000_000;
const START: u64 = 1_700_000_000 * SECOND;

fn leased(client: &Client, policy: &str, prefetch: u64) -> Limiter {
    let options = LimiterOptions { prefetch: Some(prefetch), ..LimiterOptions::default() };
    client.limiter_with("leased", Policy::parse(policy).unwrap(), options).unwrap()
}

fn consume(limiter: &Limiter, key: &[u8], cost: u64) -> Decision {
    limiter.consume(key, cost).unwrap().run().unwrap()
}

/// How many of so many calls of cost 1 are admitted, and how many of them here.
fn burst(limiter: &Limiter, calls: usize) -> (usize, usize) {
    let decisions: Vec<_> = (0..calls).map(|_| consume(limiter, b"k", 1)).collect();
    let allowed = decisions.iter().filter(|decision| decision.allowed).count();
    (allowed, decisions.iter().filter(|decision| decision.source == Source::Lease).count())
}

fn at(clients: &[&Client], micros: u64) {
    clients.iter().for_each(|client| testing::set_time(client, Some(micros)).unwrap());
}

#[test]
fn a_lease_tells_what_calls_alone_would_have_told() {
    for (name, url) in servers() {
        for policy in ["100/s", "calendar-window 100/s", "100/s;1000/h"] {
            let client = client(&url, &fresh_prefix("lease"));
            at(&[&client], START);
            let limiter = leased(&client, policy, 20);
            for number in 1..=100 {
                let decision = consume(&limiter, b"k", 1);
                assert!(decision.allowed, "{name} {policy} {number}");
                assert_eq!(
                    (decision.remaining, decision.cost, decision.limit),
                    (100 - number, 1, 100),
                    "{name} {policy}"
                );
                assert_eq!((decision.reset_after, decision.retry_after), (SECOND, Some(0)), "{name} {policy}");
            }
            let denied = consume(&limiter, b"k", 1);
            assert!(!denied.allowed && denied.source != Source::Lease, "{name} {policy}");
            assert_eq!(denied.retry_after, Some(SECOND), "{name} {policy}");
        }
    }
}

#[test]
fn few_calls_ask() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("lease"));
        at(&[&client], START);
        let (allowed, here) = burst(&leased(&client, "100000/h", 100), 10_000);
        assert_eq!(allowed, 10_000, "{name}");
        // 1, 2, 4, ... 64, and then 100 at once.
        assert!(here >= 10_000 - 7 - 99, "{name}: {here}");
    }
}

#[test]
fn permits_that_redis_cannot_spare_are_no_reason_to_deny_a_call_that_it_can() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("lease");
        let (one, other) = (client(&url, &prefix), client(&url, &prefix));
        let leases = leased(&one, "100/h", 50);
        let plain = other.limiter("leased", Policy::parse("100/h").unwrap()).unwrap();
        assert_eq!(burst(&leases, 20).0, 20, "{name}");
        let left = plain.peek(b"k", 1).unwrap().run().unwrap().remaining;
        assert!(consume(&plain, b"k", left - 3).allowed, "{name}");
        // It asks for more than the three that are left, is denied that, and must not take it for a denial of its own cost.
        assert_eq!(burst(&leases, 100).0 as u64, 100 - 20 - (left - 3), "{name}");
    }
}

#[test]
fn what_is_left_at_the_end_of_a_window_is_not_spent_in_the_next() {
    for (name, url) in servers() {
        for policy in ["100/s", "calendar-window 100/s", "token-bucket 100/s"] {
            let client = client(&url, &fresh_prefix("lease"));
            at(&[&client], START);
            let limiter = leased(&client, policy, 50);
            // 1, 2, 4, 8, 16 and then 34 of which 33 stay here.
            assert_eq!(burst(&limiter, 32), (32, 26), "{name} {policy}");
            at(&[&client], START + SECOND);
            let next = consume(&limiter, b"k", 1);
            assert_ne!(next.source, Source::Lease, "{name} {policy}");
            assert_eq!(burst(&limiter, 120).0, 99, "{name} {policy}");
        }
    }
}

#[test]
fn a_cost_that_is_not_here_is_asked_for() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("lease"));
        at(&[&client], START);
        let limiter = leased(&client, "100/s", 10);
        burst(&limiter, 20);
        let large = consume(&limiter, b"k", 30);
        assert!(large.allowed && large.source != Source::Lease, "{name}");
        let peeked = limiter.peek(b"k", 1).unwrap().run().unwrap();
        assert_ne!(peeked.source, Source::Lease, "{name}");
        let with_id = limiter.consume_once(b"k", 1, Some(b"id")).unwrap().run().unwrap();
        assert_ne!(with_id.source, Source::Lease, "{name}");
        let denied = consume(&limiter, b"k", 101);
        assert_eq!((denied.allowed, denied.retry_after), (false, None), "{name}");
    }
}

#[test]
fn who_could_not_have_more_is_decided_about_the_cost_alone() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("lease");
        let [one, other] = [(); 2].map(|()| client(&url, &prefix));
        at(&[&one, &other], START);
        let limiter = leased(&one, "20/s", 20);
        let plain = other.limiter("leased", Policy::parse("20/s").unwrap()).unwrap();
        for (key, cost, left) in [(b"a", 4, 3), (b"b", 3, 0)] {
            (0..3).for_each(|_| assert!(consume(&limiter, key, 1).allowed, "{name}"));
            // All but 3 go to another, of which the first does not know: it would take as many as its cost beside it.
            assert_eq!(consume(&plain, key, 14).remaining, 3, "{name}");
            assert_eq!(consume(&limiter, key, cost).allowed, left == 0, "{name}");
            assert_eq!(
                plain.peek(key, 1).unwrap().run().unwrap().remaining,
                left,
                "{name}: what was denied is not charged"
            );
        }
    }
}

#[test]
fn reset_and_block_take_what_is_here() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("lease"));
        at(&[&client], START);
        let limiter = leased(&client, "100/s", 50);
        // Another handle of the same limiter, without a prefetch.
        let other = client.limiter("leased", Policy::parse("100/s").unwrap()).unwrap();
        burst(&limiter, 20);
        assert!(other.reset(b"k").unwrap().run().unwrap(), "{name}");
        assert_eq!(burst(&limiter, 150).0, 100, "{name}: all of a new window and no more");
        limiter.reset(b"k").unwrap().run().unwrap();
        burst(&limiter, 20);
        other.block(b"k", 100_000).unwrap().run().unwrap();
        assert_eq!(burst(&limiter, 10), (0, 0), "{name}");
        at(&[&client], START + 100_000);
        assert!(consume(&limiter, b"k", 1).allowed, "{name}");
    }
}

#[test]
fn a_refund_gives_back_no_more_than_was_consumed() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("lease"));
        at(&[&client], START);
        let limiter = leased(&client, "100/s", 50);
        assert_eq!(burst(&limiter, 40).0, 40, "{name}");
        limiter.refund(b"k", 15).unwrap().run().unwrap();
        assert_eq!(burst(&limiter, 150).0, 75, "{name}: the 60 that were left and 15");
        limiter.reset(b"k").unwrap().run().unwrap();
        assert_eq!(burst(&limiter, 40).0, 40, "{name}");
        limiter.refund(b"k", 90).unwrap().run().unwrap();
        let more = burst(&limiter, 150).0;
        assert!(more <= 100, "{name}: {more} after all was given back");
    }
}

#[test]
fn another_policy_of_the_name_does_not_spend_what_was_taken() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("lease"));
        at(&[&client], START);
        burst(&leased(&client, "100/s", 50), 40);
        let smaller = leased(&client, "50/s", 50);
        let first = consume(&smaller, b"k", 1);
        assert_ne!(first.source, Source::Lease, "{name}");
    }
}

#[test]
fn closing_gives_back_what_was_not_spent() {
    for (name, url) in servers() {
        let prefix = fresh_prefix("lease");
        let [first, second] = [(); 2].map(|()| client(&url, &prefix));
        at(&[&first, &second], START);
        assert_eq!(burst(&leased(&first, "100/s", 50), 33).0, 33, "{name}");
        first.close();
        let left = second.limiter("leased", Policy::parse("100/s").unwrap()).unwrap();
        assert_eq!(left.peek(b"k", 1).unwrap().run().unwrap().remaining, 67, "{name}");
        // What is over is not given back to the next window.
        let third = client(&url, &prefix);
        at(&[&third], START);
        burst(&leased(&third, "100/s", 50), 10);
        at(&[&second, &third], START + SECOND);
        left.consume(b"k", 40).unwrap().run().unwrap();
        third.close();
        assert_eq!(left.peek(b"k", 1).unwrap().run().unwrap().remaining, 60, "{name}");
    }
}

#[test]
fn what_cannot_be_leased_is_refused() {
    let client = client("memory://", &fresh_prefix("lease"));
    let refused = |policy: &str, prefetch| {
        let options = LimiterOptions { prefetch: Some(prefetch), ..LimiterOptions::default() };
        let error = client.limiter_with("n", Policy::parse(policy).unwrap(), options).err().unwrap();
        assert_eq!(error.code(), Code::InvalidArgument, "{policy} {prefetch}");
        error.to_string()
    };
    assert!(refused("sliding-log 100/s", 10).contains("sliding-log"));
    assert!(refused("sliding-window 100/s", 10).contains("sliding-window"));
    assert!(refused("100/s;sliding-log 1000/h", 10).contains("sliding-log"));
    assert!(refused("100/s", 101).contains("at most 100"));
    assert!(refused("1000/h;100/s", 101).contains("at most 100"));
    assert!(refused("token-bucket 100/s capacity 20", 21).contains("at most 20"));
    assert!(refused("100/s", 1).contains("at least 2"));
    assert!(refused("100/s", 0).contains("at least 2"));
    assert!(refused("1/s", 2).contains("at most 1"));
    assert_eq!(leased(&client, "100/s", 100).prefetch(), Some(100));
}

#[test]
fn a_hundred_threads_share_what_one_has_taken() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("lease"));
        let limiter = leased(&client, "5000/h", 1_000);
        let allowed = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| {
                    let admitted = (0..100).filter(|_| consume(&limiter, b"k", 1).allowed).count();
                    allowed.fetch_add(admitted as u64, Ordering::Relaxed);
                });
            }
        });
        let mut allowed = allowed.into_inner();
        // The last take may be answered when the others were denied and have ended: what it brought is for who comes then.
        while consume(&limiter, b"k", 1).allowed {
            allowed += 1;
        }
        assert_eq!(allowed, 5_000, "{name}: in one process all that was taken is spent");
    }
}

/// What one of three processes does next.
#[derive(Clone, Debug)]
struct Step {
    who: usize,
    gap: u64,
    cost: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Often close together, sometimes about to the end of a window.
    let gap = prop_oneof![6 => 0_u64..2_000, 3 => 0_u64..30_000, 1 => 900_000_u64..1_100_000];
    let step = (0_usize..3, gap, prop_oneof![4 => 1_u64..4, 1 => 1_u64..20]);
    prop::collection::vec(step.prop_map(|(who, gap, cost)| Step { who, gap, cost }), 300)
}

/// The admissions of three clients with leases, and when each was.
fn history(url: &str, policy: &str, prefetch: u64, steps: &[Step]) -> Vec<(u64, u64, Source)> {
    let prefix = fresh_prefix("lease");
    let clients: Vec<Client> = (0..3).map(|_| client(url, &prefix)).collect();
    let limiters: Vec<Limiter> = clients.iter().map(|client| leased(client, policy, prefetch)).collect();
    let mut now = START;
    let decide = |step: &Step| {
        now += step.gap;
        at(&[&clients[step.who]], now);
        let decision = consume(&limiters[step.who], b"k", step.cost);
        decision.allowed.then_some((now, step.cost, decision.source))
    };
    steps.iter().filter_map(decide).collect()
}

#[test]
fn no_window_admits_more_than_the_limit() {
    for (name, url) in servers() {
        let mut runner = random_cases(10);
        let policies = prop::sample::select(vec!["50/s", "calendar-window 50/s"]);
        let outcome = runner.run(&(policies, 2_u64..=50, steps()), |(policy, prefetch, steps)| {
            let (mut opened, mut count) = (0, 0);
            for (now, cost, source) in history(&url, policy, prefetch, &steps) {
                let is_over = now >= opened + SECOND;
                if is_over {
                    // A window begins with a call that Redis has admitted.
                    opened = if policy.starts_with("calendar") { now - now % SECOND } else { now };
                    prop_assert_ne!(source, Source::Lease);
                    count = 0;
                }
                count += cost;
                prop_assert!(count <= 50, "{} at {}", count, now);
            }
            Ok(())
        });
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn a_bucket_admits_what_it_fills_in_the_life_of_a_lease_more() {
    for (name, url) in servers() {
        let mut runner = random_cases(10);
        let outcome = runner.run(&(2_u64..=50, steps()), |(prefetch, steps)| {
            let admissions = history(&url, "token-bucket 100/s capacity 50", prefetch, &steps);
            let life = SECOND.min(prefetch * SECOND / 100);
            for (first, (begin, ..)) in admissions.iter().enumerate() {
                let mut sum = 0;
                for (end, cost, _) in &admissions[first..] {
                    sum += cost;
                    // A call of the last microsecond before the life is over is inside.
                    prop_assert!(sum * SECOND <= 50 * SECOND + 100 * (end - begin + life), "{} to {}", begin, end);
                }
            }
            Ok(())
        });
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn what_is_in_memory_has_nothing_to_save() {
    let client = client("memory://", &fresh_prefix("lease"));
    let limiter = leased(&client, "100/s", 50);
    assert_eq!(burst(&limiter, 40), (40, 0));
    assert_eq!(limiter.peek(b"k", 1).unwrap().run().unwrap().remaining, 60);
}

#[test]
fn what_is_spent_at_once_is_what_a_call_would_spend() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("lease"));
        at(&[&client], START);
        let limiter = leased(&client, "100/s", 50);
        assert!(limiter.consume_at_once(b"k", 1).is_none(), "{name}: nothing was taken");
        burst(&limiter, 32);
        let here = limiter.consume_at_once(b"k", 2).unwrap().unwrap();
        assert_eq!((here.source, here.cost, here.remaining), (Source::Lease, 2, 66), "{name}");
        assert_eq!(limiter.require_at_once(b"k", 1).unwrap().unwrap().remaining, 65, "{name}");
        assert!(limiter.consume_at_once(b"k", 40).is_none(), "{name}: more than is here");
        at(&[&client], START + SECOND);
        assert!(limiter.consume_at_once(b"k", 1).is_none(), "{name}: the window is over");
        at(&[&client], START);
        client.close();
        assert!(limiter.consume_at_once(b"k", 1).is_none(), "{name}");
    }
}
