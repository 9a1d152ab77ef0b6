//! Does with quotalock in Rust what JSON lines on its input say. See workers.py for the protocol. Its lanes wait for locks
//! in each way there is.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io::{BufRead, Write};
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use quotalock::driver::Loading;
use quotalock::{
    Cache, CacheOptions, Client, DEFAULT_HOLD, Decision, Error, Got, LedgerEntry, Lock, LockOptions, Once, OnceOptions,
    Op, Opening, Options, Policy, Stock, StockOptions, StockReservation, convert,
};
use serde_json::{Value, json};

/// What a call comes to besides its result.
enum Failed {
    /// Its loader's own error.
    Own(String),
    Error(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed::Error(error)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Own(text) => f.write_str(text),
            Failed::Error(error) => error.fmt(f),
        }
    }
}

type Answered = Result<Value, Failed>;

/// One call: what it is given, and how often its loader loads.
struct Call<'a> {
    client: &'a Client,
    name: &'a str,
    options: &'a Value,
    given: &'a Value,
    loads: u32,
}

impl Call<'_> {
    fn run(&mut self, kind: &str, method: &str) -> Answered {
        match kind {
            "limiter" => self.of_limiter(method),
            "stock" => self.of_stock(method),
            "client" => self.of_several(method),
            "once" => self.of_once(method),
            _ => self.of_cache(method),
        }
    }

    fn of_limiter(&self, method: &str) -> Answered {
        let limiter = self.client.limiter(self.name, Policy::parse(text(&self.options["policy"]))?)?;
        let (key, cost) = (octets(&self.given["key"]).unwrap(), self.given["cost"].as_u64().unwrap_or(1));
        let op = match method {
            "consume" => limiter.consume(&key, cost),
            "peek" => limiter.peek(&key, cost),
            "refund" => limiter.refund(&key, self.given["amount"].as_u64().unwrap()),
            "block" => limiter.block(&key, self.given["duration_ms"].as_u64().unwrap() * 1_000),
            _ => return Ok(limiter.reset(&key)?.run()?.into()),
        };
        Ok(decision(&op?.run()?))
    }

    fn stock(&self, name: &str) -> Result<Stock, Error> {
        let scope = self.options["scope"].as_str().map(|scope| scope.as_bytes().to_vec());
        self.client.stock(name.as_bytes(), StockOptions { scope, ..StockOptions::default() })
    }

    fn of_stock(&self, method: &str) -> Answered {
        let (stock, given) = (self.stock(self.name)?, self.given);
        let id = given["id"].as_str().unwrap_or_default();
        Ok(match method {
            "open" => {
                let prizes = list(&given["prizes"]).iter().filter_map(octets).collect();
                let opening = Opening { per_buyer: given["per_buyer"].as_u64(), prizes, ..Opening::default() };
                stock.open(given["quantity"].as_u64().unwrap(), opening)?.run()?.into()
            }
            "take" => {
                let (buyer, request) = (octets(&given["buyer"]).unwrap(), octets(&given["request_id"]));
                let quantity = given["quantity"].as_u64().unwrap_or(1);
                let taken = stock.take(&buyer, quantity, self.hold(), request.as_deref())?.run()?;
                let reservation = taken.reservation.as_ref().map(reservation);
                json!({"outcome": taken.outcome.as_str(), "reservation": reservation, "available": taken.available})
            }
            "confirm" => stock.confirm(id)?.run()?.into(),
            "cancel" => stock.cancel(id)?.run()?.into(),
            "extend" => stock.extend(id, self.hold())?.run()?.into(),
            "status" => {
                let is = stock.status().run()?;
                json!({
                    "phase": is.phase.as_str(), "quantity": is.quantity, "available": is.available, "held": is.held,
                    "sold": is.sold, "buyers": is.buyers, "per_buyer": is.per_buyer,
                    "ends_ms": is.ends.map(convert::moment),
                })
            }
            "reservations" => {
                let page = stock.reservations(None, 100)?.run()?;
                json!({"reservations": page.reservations.iter().map(reservation).collect::<Value>(), "next": page.next})
            }
            _ => stock.ledger(None, 100)?.run()?.iter().map(entry).collect(),
        })
    }

    fn of_several(&self, method: &str) -> Answered {
        let (client, given) = (self.client, self.given);
        let pairs = list(if method == "take_all" { &given["takes"] } else { &given["reservations"] });
        let stocks: Result<Vec<Stock>, Error> = pairs.iter().map(|pair| self.stock(text(&pair[0]))).collect();
        let stocks = stocks?;
        if method == "take_all" {
            let takes = stocks.iter().zip(pairs).map(|(stock, pair)| (stock, pair[1].as_u64().unwrap()));
            let (buyer, request) = (octets(&given["buyer"]).unwrap(), octets(&given["request_id"]));
            let takes: Vec<_> = takes.collect();
            let taken = client.take_all(&takes, &buyer, self.hold(), request.as_deref())?.run()?;
            let reservations: Value = taken.reservations.iter().map(reservation).collect();
            return Ok(json!({
                "outcome": taken.outcome.as_str(), "refused": taken.refused, "reservations": reservations,
                "available": taken.available,
            }));
        }
        let held: Vec<_> = stocks.iter().zip(pairs).map(|(stock, pair)| (stock, text(&pair[1]))).collect();
        let op = match method {
            "confirm_all" => client.confirm_all(&held),
            "cancel_all" => client.cancel_all(&held),
            _ => client.extend_all(&held, self.hold()),
        };
        Ok(op?.run()?.into())
    }

    fn of_once(&mut self, method: &str) -> Answered {
        let usual = OnceOptions::default();
        let (lease, error_ttl) = (self.option("lease_ms", usual.lease), self.option("error_ttl_ms", usual.error_ttl));
        let options = OnceOptions { lease, error_ttl, ..usual };
        let once: Once = self.client.once(self.name, options)?;
        let id = octets(&self.given["id"]).unwrap();
        Ok(match method {
            "claim" => {
                let claimed = once.claim(&id, octets(&self.given["value"]))?.run()?;
                let value = claimed.value.as_deref().map(|value| hex(value));
                json!({"first": claimed.first, "value": value, "running": claimed.running})
            }
            "release" => once.release(&id)?.run()?.into(),
            _ => self.made(once.begin(&id, self.wait())?)?,
        })
    }

    fn of_cache(&mut self, method: &str) -> Answered {
        let usual = CacheOptions::default();
        let options = CacheOptions {
            fresh: self.option("fresh_ms", usual.fresh),
            stale: self.option("stale_ms", usual.stale),
            error_ttl: self.option("error_ttl_ms", usual.error_ttl),
            ..usual
        };
        let cache: Cache = self.client.cache(self.name, options)?;
        let key = octets(&self.given["key"]).unwrap();
        Ok(match method {
            "get" => self.made(cache.get(&key, self.wait())?)?,
            "peek" => match cache.peek(&key)?.run()? {
                Some(seen) => json!({"value": seen.value.as_deref().map(|value| hex(value)), "stale": seen.stale}),
                None => Value::Null,
            },
            "put" => cache.put(&key, octets(&self.given["value"]))?.run()?.into(),
            _ => cache.invalidate(&key)?.run()?.into(),
        })
    }

    /// What is there, or what the loader makes once the file is there that it is to wait for.
    fn made(&mut self, getting: Op<Got>) -> Answered {
        let given = if self.given["load"].is_null() { &self.given["function"] } else { &self.given["load"] };
        let (how, loads) = (given, &mut self.loads);
        let value = Loading::from(getting).run_with(|| {
            *loads += 1;
            while how["until"].as_str().is_some_and(|file| !Path::new(file).exists()) {
                thread::sleep(Duration::from_millis(2));
            }
            match how["fails"].as_str() {
                Some(text) => Err(Failed::Own(text.to_owned())),
                None => Ok(octets(&how["value"])),
            }
        })?;
        Ok(value.as_deref().map(|value| hex(value)).into())
    }

    fn hold(&self) -> u64 {
        self.given["hold_ms"].as_u64().map_or(DEFAULT_HOLD, |ms| ms * 1_000)
    }

    fn wait(&self) -> Duration {
        Duration::from_millis(self.given["wait_ms"].as_u64().unwrap_or(5_000))
    }

    fn option(&self, name: &str, usual: u64) -> u64 {
        self.options[name].as_u64().map_or(usual, |ms| ms * 1_000)
    }
}

fn decision(decided: &Decision) -> Value {
    let of_rule = |rule: &quotalock::RuleDecision| {
        json!({
            "allowed": rule.allowed, "limit": rule.limit, "remaining": rule.remaining,
            "retry_after_ms": rule.retry_after.map(convert::ms), "reset_after_ms": convert::ms(rule.reset_after),
        })
    };
    json!({
        "allowed": decided.allowed, "limit": decided.limit, "remaining": decided.remaining, "cost": decided.cost,
        "retry_after_ms": decided.retry_after.map(convert::ms), "reset_after_ms": convert::ms(decided.reset_after),
        "source": decided.source.as_str(), "healed": decided.healed,
        "rules": decided.rules.iter().map(of_rule).collect::<Value>(),
    })
}

fn reservation(held: &StockReservation) -> Value {
    let prizes: Value = held.prizes.iter().map(|prize| hex(prize)).collect();
    json!({
        "id": held.id, "quantity": held.quantity, "buyer": hex(&held.buyer), "prizes": prizes,
        "until_ms": convert::moment(held.until),
    })
}

fn entry(entry: &LedgerEntry) -> Value {
    let prizes: Value = entry.prizes.iter().map(|prize| hex(prize)).collect();
    json!({
        "id": entry.id, "number": entry.number, "kind": entry.kind.as_str(), "reservation": entry.reservation,
        "buyer": entry.buyer.as_deref().map(hex), "quantity": entry.quantity, "time_ms": convert::moment(entry.time),
        "available": entry.available, "held": entry.held, "sold": entry.sold, "prizes": prizes,
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits, if there are any.
fn octets(value: &Value) -> Option<Vec<u8>> {
    let digits = value["hex"].as_str()?;
    Some((0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect())
}

/// The monotonic clock of the machine, which all workers share.
fn now() -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to `at` only, which outlives the call.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    assert_eq!(done, 0);
    at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64
}

fn client(request: &Value) -> Client {
    Client::new(Options {
        url: Some(text(&request["url"]).into()),
        prefix: text(&request["prefix"]).into(),
        timeout: Duration::from_millis(request["timeout_ms"].as_u64().unwrap()),
        ..Options::default()
    })
    .unwrap()
}

/// A caller: one call after the other. Its locks stay its own.
struct Lane {
    number: u64,
    client: Arc<Client>,
    locks: HashMap<String, Lock>,
}

impl Lane {
    fn serve(mut self, requests: &mpsc::Receiver<Value>) {
        for request in requests {
            let answer = self.answer(&request);
            tell(self.number, &answer);
        }
    }

    /// Makes one call and tells the times before and after it.
    fn answer(&mut self, request: &Value) -> Value {
        let (kind, method) = text(&request["op"]).split_once('.').unwrap();
        if matches!(kind, "lock" | "lock_all" | "semaphore" | "read_lock" | "write_lock") {
            return self.with_lock(kind, method, request);
        }
        let name = request["name"].as_str().unwrap_or_default();
        let (options, given) = (&request["options"], &request["arguments"]);
        let invoke = now();
        let mut call = Call { client: &self.client, name, options, given, loads: 0 };
        let ended = call.run(kind, method);
        said(&json!({"invoke_ns": invoke, "ok_ns": now(), "loads": call.loads}), ended)
    }

    fn with_lock(&mut self, kind: &str, method: &str, request: &Value) -> Value {
        let which = format!("{kind} {} {}", request["name"], request["options"]);
        thread::sleep(Duration::from_nanos(request["at_ns"].as_u64().unwrap_or(0).saturating_sub(now())));
        let invoke = now();
        if method == "adopt" {
            let given = &request["arguments"];
            let adopting = self.client.adopt(text(&given["text"]), given["renew"] != false);
            let adopted = adopting.and_then(|(lock, op)| op.run().map(|_| lock));
            let times = json!({"invoke_ns": invoke, "ok_ns": now(), "loads": 0});
            let told = adopted.as_ref().map_or(Value::Null, |lock| seen(lock, now()));
            let ended = adopted.map(|lock| self.locks.insert(which, lock)).map(|_| true.into());
            return said(&merged(&times, &json!({"seen": told})), ended.map_err(Failed::from));
        }
        let lock = self.locks.entry(which).or_insert_with(|| handle(&self.client, kind, request));
        if request["announce"] == true {
            tell(self.number, &json!({"begun": seen(lock, invoke)}));
        }
        let given = &request["arguments"];
        let ended = match method {
            "acquire" => acquired(lock, Duration::from_millis(given["wait_ms"].as_u64().unwrap_or(0)), self.number)
                .map(Value::from),
            "extend" => lock.extend(None).and_then(|extending| extending.run()).map(Value::from),
            "handover" => lock.handover().map(Value::from),
            _ if self.number % 3 == 2 => block_on(lock.release()).map(Value::from),
            _ => lock.release().run().map(Value::from),
        };
        let times = json!({"invoke_ns": invoke, "ok_ns": now(), "loads": 0, "seen": seen(lock, now())});
        said(&times, ended.map_err(Failed::from))
    }
}

/// What came of a call, with what is told of it in any case.
fn said(of_it: &Value, ended: Answered) -> Value {
    let said = match ended {
        Ok(result) => json!({"result": result}),
        Err(Failed::Own(message)) => json!({"error": "own", "message": message}),
        Err(Failed::Error(error)) => json!({"error": error.code().as_str(), "message": error.message()}),
    };
    merged(of_it, &said)
}

fn merged(one: &Value, other: &Value) -> Value {
    one.as_object().unwrap().clone().into_iter().chain(other.as_object().unwrap().clone()).collect()
}

fn seen(lock: &Lock, at: u64) -> Value {
    json!({"at_ns": at, "held": lock.is_held(), "token": lock.token(), "remaining_ms": lock.remaining() as f64 / 1e3})
}

fn handle(client: &Client, kind: &str, request: &Value) -> Lock {
    let options = &request["options"];
    let chosen = LockOptions {
        ttl: options["ttl_ms"].as_u64().unwrap() * 1_000,
        renew: options["renew"].as_bool().unwrap(),
        fair: options["fair"].as_bool().unwrap(),
        ..LockOptions::default()
    };
    let name = request["name"].as_str().unwrap_or_default().as_bytes();
    match kind {
        "lock" => client.lock(name, chosen),
        "lock_all" => {
            let names: Vec<&[u8]> = list(&request["name"]).iter().map(|name| text(name).as_bytes()).collect();
            client.lock_all(&names, chosen)
        }
        "read_lock" => client.read_lock(name, chosen),
        "write_lock" => client.write_lock(name, chosen),
        _ => {
            let (permits, weight) = (options["permits"].as_u64().unwrap(), options["weight"].as_u64().unwrap());
            client.semaphore(name, permits, weight, chosen)
        }
    }
    .unwrap()
}

/// Each lane in one of the ways to wait.
fn acquired(lock: &Lock, wait: Duration, lane: u64) -> Result<bool, Error> {
    let acquiring = lock.acquire(wait)?;
    match lane % 3 {
        0 => acquiring.run(),
        1 => acquiring.run_among_threads(&mut || false),
        _ => block_on(acquiring),
    }
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

/// Writes a line.
fn tell(lane: u64, answer: &Value) {
    let line = merged(&json!({"lane": lane}), answer);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

fn main() {
    let mut own = None;
    let mut lanes: HashMap<u64, (mpsc::Sender<Value>, thread::JoinHandle<()>)> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let number = request["lane"].as_u64().unwrap();
        if request["op"] == "client" {
            // The lanes of another client end with it.
            lanes.clear();
            own = Some(Arc::new(client(&request)));
            tell(number, &json!({"result": null}));
            continue;
        }
        let lane = lanes.entry(number).or_insert_with(|| {
            let lane = Lane { number, client: own.clone().unwrap(), locks: HashMap::new() };
            let (sender, requests) = mpsc::channel();
            (sender, thread::spawn(move || lane.serve(&requests)))
        });
        lane.0.send(request).unwrap();
    }
    for (_, (sender, thread)) in lanes {
        drop(sender);
        thread.join().unwrap();
    }
}
