//! Rust in this process, one call at a time: Quotalock on `memory://`, and governor's keyed limiter. See common.py for the
//! task and serve.py for the protocol of a round.

use std::fs::read_to_string;
use std::io::BufRead;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use governor::{Quota, RateLimiter};
use quotalock::{Client, Options, Policy, Result};
use serde_json::{Value, json};

type Call = Box<dyn Fn(&str) -> bool>;

const DAY: Duration = Duration::from_secs(86_400);
const CHECKED: &str = "checked";

fn quotalock(limit: u64) -> Result<Call> {
    let client = Client::new(Options { url: Some("memory://".to_owned()), ..Options::default() })?;
    let limiter = client.limiter("compare", Policy::parse(&format!("{limit}/day"))?)?;
    Ok(Box::new(move |key| limiter.consume(key.as_bytes(), 1).unwrap().run().unwrap().allowed))
}

/// Its quota is a bucket that fills within a day; it has no fixed window.
fn governor(limit: u64) -> Call {
    let limit = NonZeroU32::new(limit as u32).unwrap();
    let limiter = RateLimiter::keyed(Quota::with_period(DAY / limit.get()).unwrap().allow_burst(limit));
    Box::new(move |key| limiter.check_key(&key.to_owned()).is_ok())
}

fn main() {
    let task: Value = serde_json::from_str(&std::env::args().nth(1).unwrap()).unwrap();
    let limit = task["limit"].as_u64().unwrap();
    let (call, version) = match task["client"].as_str().unwrap() {
        "quotalock-memory" => (quotalock(limit).unwrap(), concat!("quotalock ", env!("CARGO_PKG_VERSION"))),
        _ => (governor(limit), "governor 0.10"),
    };
    println!("{}", json!({ "versions": format!("Rust, {version}") }));
    let checks = task["check"].as_u64().unwrap();
    if checks > 0 {
        println!("{}", json!({ "answers": (0..checks).map(|_| call(CHECKED)).collect::<Vec<_>>() }));
        return;
    }
    let keys = read_to_string(task["keys"].as_str().unwrap()).unwrap();
    let mut keys = keys.split_whitespace().cycle();
    for line in std::io::stdin().lock().lines() {
        let (begun, used) = (Instant::now(), cpu_us());
        let stop = begun + Duration::from_secs_f64(line.unwrap().trim().parse().unwrap());
        let (mut took, mut admitted, mut before) = (Vec::with_capacity(1 << 24), 0, begun);
        while before < stop {
            admitted += usize::from(call(keys.next().unwrap()));
            let after = Instant::now();
            took.push((after - before).as_nanos() as u32);
            before = after;
        }
        let (seconds, used, calls) = (begun.elapsed().as_secs_f64(), cpu_us() - used, took.len());
        took.sort_unstable();
        let slowest = |of: usize, share: usize| f64::from(took[calls * share / of]) / 1000.0;
        let figures = json!({
            "calls": calls, "admitted": admitted, "seconds": seconds, "cpu_us": used, "main_us": used,
            "p50_us": slowest(2, 1), "p99_us": slowest(100, 99), "p999_us": slowest(1000, 999),
        });
        println!("{figures}");
    }
}

/// The CPU that this thread, the only one, has used.
fn cpu_us() -> f64 {
    let spent = read_to_string("/proc/thread-self/schedstat").unwrap();
    spent.split(' ').next().unwrap().parse::<f64>().unwrap() / 1000.0
}
