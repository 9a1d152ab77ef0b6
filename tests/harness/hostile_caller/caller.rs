//! Calls a hostile server and a good one at the same time, in Rust: on threads, or with `futures` on the process' thread. The
//! protocol is that of caller.py.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use quotalock::{Client, Error, LockOptions, Options, Policy};
use quotalock_tests::futures::block_on;
use serde_json::{Value, json};

const BAD_CALLERS: usize = 3;
const PAUSE: Duration = Duration::from_millis(2);

/// A number that the kernel knows of this process.
fn status(name: &str) -> i64 {
    let all = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// What one side's calls came to.
#[derive(Default)]
struct Tally {
    longest: Duration,
    calls: u64,
    threads: i64,
    codes: BTreeSet<&'static str>,
}

impl Tally {
    fn of(until: Instant, mut call: impl FnMut() -> Result<bool, Error>) -> Tally {
        let mut tally = Tally::default();
        while Instant::now() < until {
            let began = Instant::now();
            let code =
                call().map_or_else(|error| error.code().as_str(), |done| if done { "ok" } else { "not_acquired" });
            tally.longest = tally.longest.max(began.elapsed());
            tally.calls += 1;
            tally.codes.insert(code);
            tally.threads = tally.threads.max(status("Threads"));
            std::thread::sleep(PAUSE);
        }
        tally
    }

    fn and(mut self, other: Tally) -> Tally {
        self.codes.extend(other.codes);
        let threads = self.threads.max(other.threads);
        Tally { longest: self.longest.max(other.longest), calls: self.calls + other.calls, threads, codes: self.codes }
    }
}

fn client(url: &Value, timeout: Duration) -> Client {
    let url = Some(url.as_str().unwrap().to_owned());
    Client::new(Options { url, timeout, ..Options::default() }).unwrap()
}

fn attack(request: &Value, with_futures: bool) -> Value {
    let ms = |name: &str| Duration::from_millis(request[name].as_u64().unwrap_or(0));
    let (bad, good) = (client(&request["bad"], ms("timeout_ms")), client(&request["good"], Duration::from_secs(5)));
    let limiter = good.limiter("good", Policy::parse("1000000/1s").unwrap()).unwrap();
    let consume = |limiter: &quotalock::Limiter| {
        let op = limiter.consume(b"k", 1)?;
        if with_futures { block_on(op).map(|_| true) } else { op.run().map(|_| true) }
    };
    consume(&limiter).unwrap();
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS");
    let until = Instant::now() + Duration::from_secs_f64(request["seconds"].as_f64().unwrap());
    let ask = || {
        if request["call"] == "acquire" {
            let lock = bad.lock(b"bad", LockOptions::default())?;
            let acquiring = lock.acquire(ms("wait_ms"))?;
            return if with_futures { block_on(acquiring) } else { acquiring.run() };
        }
        consume(&bad.limiter("bad", Policy::parse("5/1h")?)?)
    };
    let (bad_tally, good_tally) = std::thread::scope(|scope| {
        let bad: Vec<_> = (0..BAD_CALLERS).map(|_| scope.spawn(|| Tally::of(until, ask))).collect();
        let good = scope.spawn(|| Tally::of(until, || consume(&limiter)));
        (bad.into_iter().map(|side| side.join().unwrap()).reduce(Tally::and).unwrap(), good.join().unwrap())
    });
    bad.close();
    good.close();
    json!({
        "bad_ms": bad_tally.longest.as_secs_f64() * 1e3, "bad_calls": bad_tally.calls, "codes": bad_tally.codes,
        "good_ms": good_tally.longest.as_secs_f64() * 1e3, "good_calls": good_tally.calls,
        "good_codes": good_tally.codes, "threads": bad_tally.threads.max(good_tally.threads),
        "grown_kb": status("VmHWM") - before,
    })
}

fn main() {
    let with_futures = std::env::args().nth(1).as_deref() == Some("futures");
    for line in std::io::stdin().lock().lines() {
        let said = attack(&serde_json::from_str(&line.unwrap()).unwrap(), with_futures);
        let mut out = std::io::stdout().lock();
        writeln!(out, "{said}").unwrap();
        out.flush().unwrap();
    }
}
