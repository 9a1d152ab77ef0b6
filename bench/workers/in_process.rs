//! A worker of `make bench ONLY=memory`: `memory ours|governor CALLS` prints CPU nanoseconds per call on a hot key.

use std::num::NonZeroU32;

use governor::{Quota, RateLimiter};
use quotalock::{Client, Options};

const KEY: &str = "user:42";
const A_SECOND: u32 = 1_000_000_000;

/// The CPU that this process has used.
fn cpu_nanoseconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct is valid and alive during the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn measure(calls: u32, mut call: impl FnMut() -> bool) {
    let mut round = |calls: u32| {
        let begun = cpu_nanoseconds();
        let admitted = (0..calls).filter(|_| call()).count();
        assert_eq!(admitted, calls as usize, "each is admitted");
        (cpu_nanoseconds() - begun) / f64::from(calls)
    };
    round(calls / 10 + 1);
    println!("{:.1}", round(calls));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let calls = arguments[2].parse().unwrap();
    if arguments[1] == "governor" {
        let limiter = RateLimiter::keyed(Quota::per_second(NonZeroU32::new(A_SECOND).unwrap()));
        return measure(calls, || limiter.check_key(&KEY).is_ok());
    }
    let client = Client::new(Options { url: Some("memory://".into()), ..Options::default() }).unwrap();
    let policy = format!("token-bucket {A_SECOND}/s").parse().unwrap();
    let limiter = client.limiter("bench", policy).unwrap();
    measure(calls, || limiter.consume_at_once(KEY.as_bytes(), 1).is_some_and(|d| d.is_ok_and(|d| d.allowed)));
}
