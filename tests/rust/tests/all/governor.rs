//! A second opinion on token buckets: the crate `governor`, which is also GCRA, asked the same in the same virtual time.

use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::{Policy, testing};
use quotalock_tests::longer::random_cases;
use quotalock_tests::{client, fresh_prefix, stores};

const START: u64 = 1_700_000_000_123_457;

/// A bucket whose tokens come in whole nanoseconds, which is what governor counts in.
#[derive(Clone, Debug)]
struct Bucket {
    limit: u64,
    milliseconds: u64,
    capacity: u64,
}

impl Bucket {
    /// Nanoseconds for one token.
    fn token(&self) -> u64 {
        self.milliseconds * 1_000_000 / self.limit
    }

    fn policy(&self) -> Policy {
        let Bucket { limit, milliseconds, capacity } = self;
        Policy::parse(&format!("token-bucket {limit}/{milliseconds}ms capacity {capacity}")).unwrap()
    }

    fn quota(&self) -> Quota {
        let burst = NonZeroU32::new(self.capacity as u32).unwrap();
        Quota::with_period(Duration::from_nanos(self.token())).unwrap().allow_burst(burst)
    }
}

fn bucket() -> impl Strategy<Value = Bucket> {
    let limit = prop::sample::select(vec![1, 2, 3, 4, 5, 7, 8, 10, 16, 25, 32, 60, 64, 100, 125, 700, 1000]);
    let milliseconds = prop::sample::select(vec![1, 7, 30, 1_000, 90_000, 3_600_000, 86_400_000]);
    let whole = |bucket: &Bucket| (bucket.milliseconds * 1_000_000).is_multiple_of(bucket.limit);
    (limit, milliseconds, 1_u64..60)
        .prop_map(|(limit, milliseconds, capacity)| Bucket { limit, milliseconds, capacity })
        .prop_filter("not whole nanoseconds", whole)
}

/// Before each call: thousandths of the time for one token, and some microseconds; then the cost.
type Call = (u64, u64, u64);

fn agree(url: &str, bucket: &Bucket, calls: &[Call]) -> TestCaseResult {
    let client = client(url, &fresh_prefix("governor"));
    let limiter = client.limiter("governor", bucket.policy()).unwrap();
    let clock = FakeRelativeClock::default();
    let governor = RateLimiter::direct_with_clock(bucket.quota(), clock.clone());
    let mut now = START;
    for (thousandths, micros, cost) in calls {
        let gap = bucket.token() * thousandths / 1_000_000 + micros;
        now += gap;
        clock.advance(Duration::from_micros(gap));
        testing::set_time(&client, Some(now)).unwrap();
        let ours = limiter.consume(b"k", *cost).unwrap().run().unwrap();
        let theirs = match governor.check_n(NonZeroU32::new(*cost as u32).unwrap()) {
            Ok(Ok(())) => Some(0),
            Ok(Err(denied)) => {
                // The one difference: their times are nanoseconds, ours the microsecond that is not before.
                let wait = denied.wait_time_from(governor::clock::Clock::now(&clock)).as_nanos();
                Some(u64::try_from(wait.div_ceil(1_000)).unwrap())
            }
            // More than the burst.
            Err(_) => None,
        };
        prop_assert_eq!(ours.retry_after, theirs);
        prop_assert_eq!(ours.allowed, theirs == Some(0));
    }
    Ok(())
}

#[test]
fn governor_agrees() {
    for (name, url) in stores() {
        let mut runner = random_cases(if name == "memory" { 250 } else { 10 });
        let pause = prop_oneof![6 => 0_u64..2_000, 1 => 0_u64..60_000];
        let calls = prop::collection::vec((pause, 0_u64..3, prop_oneof![3 => 1_u64..4, 1 => 1_u64..64]), 100);
        let outcome = runner.run(&(bucket(), calls), |(bucket, calls)| agree(&url, &bucket, &calls));
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Where a token takes no whole number of nanoseconds, governor leaves the rest out, so it is a nanosecond early for every
/// three permits at 3/s; we keep the rest.
#[test]
fn governor_drifts_where_we_do_not() {
    const PERMITS: u64 = 30_000;
    let client = client("memory://", &fresh_prefix("governor"));
    let limiter = client.limiter("governor", Policy::parse("token-bucket 3/s capacity 2").unwrap()).unwrap();
    let clock = FakeRelativeClock::default();
    let quota = Quota::per_second(NonZeroU32::new(3).unwrap()).allow_burst(NonZeroU32::new(2).unwrap());
    let governor = RateLimiter::direct_with_clock(quota, clock.clone());
    let (mut now, mut theirs, mut admitted) = (START, Duration::ZERO, 0);
    while admitted < PERMITS {
        testing::set_time(&client, Some(now)).unwrap();
        let decision = limiter.consume(b"k", 1).unwrap().run().unwrap();
        admitted += u64::from(decision.allowed);
        now += decision.retry_after.unwrap();
    }
    for _ in 0..PERMITS {
        while let Err(denied) = governor.check() {
            let wait = denied.wait_time_from(governor::clock::Clock::now(&clock));
            clock.advance(wait);
            theirs += wait;
        }
    }
    // Two permits come at once; the others a third of a second apart.
    let ideal = Duration::from_secs(PERMITS - 2) / 3;
    assert_eq!(Duration::from_micros(now - START), Duration::from_micros(ideal.as_nanos().div_ceil(1_000) as u64));
    assert_eq!(ideal - theirs, Duration::from_nanos((PERMITS - 2) / 3));
}
