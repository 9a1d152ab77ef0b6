//! One of many processes that want one lock: `contend URL NAME SECONDS HOLD_MS MODE`. Prints its waits in microseconds.
use std::time::{Duration, Instant};

use quotalock::{Client, LockOptions, Options};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (url, name, seconds, hold, mode) = (&args[1], &args[2], &args[3], &args[4], &args[5]);
    let client =
        Client::new(Options { url: Some(url.clone()), timeout: Duration::from_secs(5), ..Options::default() }).unwrap();
    let fair = mode.contains("fair");
    let lock = client.lock(name.as_bytes(), LockOptions { fair, ttl: 5_000_000, ..LockOptions::default() }).unwrap();
    let until = Instant::now() + Duration::from_secs_f64(seconds.parse().unwrap());
    let hold = Duration::from_micros((hold.parse::<f64>().unwrap() * 1000.0) as u64);
    let mut waits = Vec::new();
    while Instant::now() < until {
        let began = Instant::now();
        let acquiring = lock.acquire(Duration::from_secs(20)).unwrap();
        let got = if mode.contains("thread") { acquiring.run_among_threads(&mut || false) } else { acquiring.run() };
        if got.unwrap() {
            waits.push(began.elapsed().as_micros());
            std::thread::sleep(hold);
            lock.release().run().unwrap();
        }
    }
    println!("{}", waits.iter().map(|w| w.to_string()).collect::<Vec<_>>().join(" "));
}
