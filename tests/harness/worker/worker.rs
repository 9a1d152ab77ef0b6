//! Does with quotalock in Rust what JSON lines on its input say. See workers.py for the protocol.

use std::fmt;
use std::io::{BufRead, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use quotalock::{
    Cache, CacheOptions, Client, DEFAULT_HOLD, Decision, Error, Getting, LedgerEntry, Once, OnceOptions, Opening,
    Options, Policy, Stock, StockOptions, StockReservation, convert,
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
            "stock" => self.of_stock(method),
            "client" => self.of_several(method),
            "once" => self.of_once(method),
            _ => self.of_cache(method),
        }
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
        let (lease, errors) = (self.option("lease_ms", usual.lease), self.option("errors_ms", usual.errors));
        let options = OnceOptions { lease, errors, ..usual };
        let once: Once = self.client.once(self.name, options)?;
        let id = octets(&self.given["key"]).unwrap();
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
            errors: self.option("errors_ms", usual.errors),
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
    fn made(&mut self, getting: Getting) -> Answered {
        let (how, loads) = (&self.given["load"], &mut self.loads);
        let value = getting.run_with(|| {
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

/// One call of a limiter.
fn decide(client: &Client, request: &Value) -> Answered {
    let limiter = client.limiter(text(&request["limiter"]), Policy::parse(text(&request["policy"]))?)?;
    let (key, cost) = (octets(&request["key"]).unwrap(), request["cost"].as_u64().unwrap_or(1));
    let op = match text(&request["op"]) {
        "consume" => limiter.consume(&key, cost),
        "peek" => limiter.peek(&key, cost),
        "refund" => limiter.refund(&key, request["amount"].as_u64().unwrap()),
        "block" => limiter.block(&key, request["duration_ms"].as_u64().unwrap() * 1_000),
        _ => return Ok(limiter.reset(&key)?.run()?.into()),
    };
    Ok(decision(&op?.run()?))
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
    let digits = value.as_str()?;
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

/// Makes one call and tells the times before and after it.
fn answer(client: &Client, request: &Value) -> Value {
    let invoke = now();
    let (ended, loads) = match text(&request["op"]).split_once('.') {
        None => (decide(client, request), 0),
        Some((kind, method)) => {
            let name = text(&request["name"]);
            let mut call = Call { client, name, options: &request["options"], given: &request["arguments"], loads: 0 };
            (call.run(kind, method), call.loads)
        }
    };
    let times = json!({"invoke_ns": invoke, "ok_ns": now(), "loads": loads});
    let said = match ended {
        Ok(result) => json!({"result": result}),
        Err(Failed::Own(message)) => json!({"error": "own", "message": message}),
        Err(Failed::Error(error)) => json!({"error": error.code().as_str(), "message": error.message()}),
    };
    times.as_object().unwrap().clone().into_iter().chain(said.as_object().unwrap().clone()).collect()
}

fn main() {
    let mut own = None;
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let said = if request["op"] == "client" {
            own = Some(client(&request));
            json!({"result": null})
        } else {
            answer(own.as_ref().unwrap(), &request)
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{said}").unwrap();
        out.flush().unwrap();
    }
}
