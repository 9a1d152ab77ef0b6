//! Takes and gives back locks in Rust and writes down what came of it: `lock_worker SETUP`. See lock_load.py. Its lanes wait
//! in each way there is.

use std::fs::{File, OpenOptions};
use std::future::{Future, IntoFuture};
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use quotalock::{Client, Error, Lock, LockOptions, Options};
use serde_json::{Value, json};

struct Lane {
    setup: Value,
    number: u64,
    file: File,
    luck: u64,
    grant: u64,
}

impl Lane {
    /// Takes locks at random, for ever, or with `once` each of the mix one time.
    fn run(mut self, client: &Client) {
        let mix: Vec<(Value, Lock)> = list(&self.setup["mix"]).iter().map(|e| (e.clone(), handle(client, e))).collect();
        if let Some(wait) = self.setup["once"].as_f64().filter(|wait| *wait > 0.0) {
            for (entry, lock) in &mix {
                self.take(lock, entry, wait, false);
            }
            return;
        }
        loop {
            let (entry, lock) = &mix[self.random() as usize % mix.len()];
            let ttl = number(&entry["ttl_ms"]);
            let wait = [0.0, ttl / 5.0, ttl * 2.0][self.random() as usize % 3];
            if !self.take(lock, entry, wait, true) {
                let pause = self.uniform(1.0, 10.0);
                sleep(pause);
            }
        }
    }

    /// Acquires, holds for a time that likes the edges, and releases.
    fn take(&mut self, lock: &Lock, entry: &Value, wait: f64, hold: bool) -> bool {
        self.grant += 1;
        let how = self.number % 3;
        let got = self.call("acquire", entry, lock, || {
            let acquiring = lock.acquire(Duration::from_secs_f64(wait / 1000.0))?;
            match how {
                0 => acquiring.run(),
                1 => acquiring.run_among_threads(&mut || false),
                _ => block_on(acquiring),
            }
        });
        if got && hold {
            let (ttl, how) = (number(&entry["ttl_ms"]), self.uniform(0.0, 1.0));
            if how < 0.4 {
                sleep(self.uniform(0.0, ttl / 3.0));
            } else if how < 0.6 {
                sleep(remaining_ms(lock) + self.uniform(-4.0, 4.0));
            } else if how < 0.75 {
                sleep(ttl + self.uniform(-4.0, 4.0));
            } else {
                let part = [self.uniform(0.0, 1.0), 0.95, 1.0][self.random() as usize % 3];
                sleep(remaining_ms(lock) * part);
                self.call("extend", entry, lock, || lock.extend(None)?.run());
                let rest = [self.uniform(0.0, ttl / 3.0), remaining_ms(lock)][self.random() as usize % 2];
                sleep(rest);
            }
        }
        if got {
            self.call("release", entry, lock, || match how {
                2 => block_on(lock.release()),
                _ => lock.release().run(),
            });
        }
        got
    }

    /// Makes one call and writes it down.
    fn call(&mut self, op: &str, entry: &Value, lock: &Lock, method: impl FnOnce() -> Result<bool, Error>) -> bool {
        let mut record = json!({
            "proc": self.setup["proc"], "lane": self.number, "grant": self.grant, "op": op,
            "names": entry["names"], "permits": entry["permits"], "weight": entry["weight"],
        });
        record["invoke_ns"] = now().into();
        if op == "release" {
            record["held"] = lock.is_held().into();
            // Whoever is killed in the middle of it may have released.
            record["done_ns"] = record["invoke_ns"].clone();
            record["outcome"] = "begun".into();
            self.write(&record);
        }
        let result = method();
        record["done_ns"] = now().into();
        let done = matches!(result, Ok(true));
        record["outcome"] = match result {
            Ok(done) => if done { "ok" } else { "no" }.into(),
            Err(error) => error.code().as_str().into(),
        };
        if done && op != "release" {
            record["token"] = lock.token().into();
            let (looked, remaining) = (now(), lock.remaining() * 1_000);
            record["until_ns"] = if remaining > 0 { looked + remaining } else { 0 }.into();
        }
        self.write(&record);
        done
    }

    /// Adds a line to the history, at once.
    fn write(&mut self, record: &Value) {
        self.file.write_all(format!("{record}\n").as_bytes()).unwrap();
    }

    /// xorshift64.
    fn random(&mut self) -> u64 {
        self.luck ^= self.luck << 13;
        self.luck ^= self.luck >> 7;
        self.luck ^= self.luck << 17;
        self.luck >> 16
    }

    fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.random() as u32 as f64 / f64::from(u32::MAX))
    }
}

fn handle(client: &Client, entry: &Value) -> Lock {
    let options = LockOptions {
        ttl: (number(&entry["ttl_ms"]) * 1000.0) as u64,
        renew: entry["renew"].as_bool().unwrap(),
        fair: entry["fair"].as_bool().unwrap(),
        ..LockOptions::default()
    };
    let names: Vec<&[u8]> = list(&entry["names"]).iter().map(|name| name.as_str().unwrap().as_bytes()).collect();
    match entry["kind"].as_str().unwrap() {
        "lock" => client.lock(names[0], options),
        "lock_all" => client.lock_all(&names, options),
        "read_lock" => client.read_lock(names[0], options),
        "write_lock" => client.write_lock(names[0], options),
        _ => {
            let (permits, weight) = (entry["permits"].as_u64().unwrap(), entry["weight"].as_u64().unwrap());
            client.semaphore(names[0], permits, weight, options)
        }
    }
    .unwrap()
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(asked: impl IntoFuture<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(asked.into_future());
    loop {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return ready;
        }
        thread::park();
    }
}

fn remaining_ms(lock: &Lock) -> f64 {
    lock.remaining() as f64 / 1000.0
}

fn sleep(ms: f64) {
    thread::sleep(Duration::from_secs_f64(ms.max(0.0) / 1000.0));
}

/// The monotonic clock of the machine, which all workers share.
fn now() -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `at` only, which outlives the call.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    assert_eq!(done, 0);
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn main() {
    let setup: Value = serde_json::from_str(&std::env::args().nth(1).unwrap()).unwrap();
    let client = Client::new(Options {
        url: Some(setup["url"].as_str().unwrap().into()),
        prefix: setup["prefix"].as_str().unwrap().into(),
        timeout: Duration::from_secs_f64(number(&setup["timeout_ms"]) / 1000.0),
        ..Options::default()
    })
    .unwrap();
    let lanes = (0..setup["lanes"].as_u64().unwrap()).map(|number| Lane {
        number,
        file: OpenOptions::new().append(true).create(true).open(setup["path"].as_str().unwrap()).unwrap(),
        luck: (setup["seed"].as_u64().unwrap() * 1000 + number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        grant: 0,
        setup: setup.clone(),
    });
    thread::scope(|scope| {
        for lane in lanes {
            scope.spawn(|| lane.run(&client));
        }
    });
}
