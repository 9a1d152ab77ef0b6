//! The vectors of caches and of `once`.

use std::collections::BTreeMap;
use std::time::Duration;

use quotalock::testing;
use quotalock::{Cache, CacheOptions, Client, Got, Once, OnceOptions, Op, Part, Result, Ticket, WhenAway};
use quotalock_tests::elsewhere::{elsewhere, submit};
use quotalock_tests::futures::block_on;
use quotalock_tests::{client, fresh_prefix, spec};
use serde_json::{Value, json};

const NOW: Duration = Duration::ZERO;

/// Who gets.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// This thread alone, as in PHP.
    Here,
    /// This thread, and the process' thread if it came to waiting, as with Python's threads.
    AmongThreads,
    /// The process' thread, as in Node.
    Elsewhere,
    /// A future.
    Awaited,
}

/// What the steps of one case share.
struct Case<'a> {
    way: Way,
    store: &'a str,
    prefix: String,
    client: Client,
    caches: BTreeMap<&'a str, Cache>,
    onces: BTreeMap<&'a str, Once>,
}

/// A case of caches or of onces, and steps.
pub fn steps(case: &Value, store: &str, url: &str) {
    for way in [Way::Here, Way::AmongThreads, Way::Elsewhere, Way::Awaited] {
        let prefix = fresh_prefix("cache");
        let client = client(url, &prefix);
        let labelled = |what: &str| case[what].as_object().into_iter().flatten();
        let caches = labelled("caches").map(|(label, made)| (label.as_str(), cache(&client, made).unwrap())).collect();
        let onces = labelled("onces").map(|(label, made)| (label.as_str(), once(&client, made).unwrap())).collect();
        let all = Case { way, store, prefix, client, caches, onces };
        all.perform_all(&spec::id(case), &case["steps"]);
    }
}

/// A cache or a once that cannot be made, or a call that is refused.
pub fn error(case: &Value, url: &str) {
    let id = spec::id(case);
    super::assert_error(&id, case, &bad_call(case, &client(url, &fresh_prefix("cache"))).expect_err(&id));
}

fn number(made: &Value, name: &str, default: u64) -> u64 {
    made[name].as_u64().unwrap_or(default)
}

fn cache(client: &Client, made: &Value) -> Result<Cache> {
    let defaults = CacheOptions::default();
    let options = CacheOptions {
        fresh: number(made, "fresh", defaults.fresh),
        stale: number(made, "stale", defaults.stale),
        lease: number(made, "lease", defaults.lease),
        negative: made["negative"].as_u64(),
        error_ttl: number(made, "error_ttl", defaults.error_ttl),
        beta: made["beta"].as_f64().unwrap_or(defaults.beta),
        when_away: WhenAway::parse(made["when_away"].as_str().unwrap_or("raise"))?,
    };
    client.cache(made["name"].as_str().unwrap_or("home"), options)
}

fn once(client: &Client, made: &Value) -> Result<Once> {
    let defaults = OnceOptions::default();
    let options = OnceOptions {
        ttl: number(made, "ttl", defaults.ttl),
        lease: number(made, "lease", defaults.lease),
        error_ttl: number(made, "error_ttl", defaults.error_ttl),
    };
    client.once(made["name"].as_str().unwrap_or("coupon"), options)
}

fn bad_call(case: &Value, client: &Client) -> Result<()> {
    let (made, call) = (&case["options"], &case["call"]);
    let large = || call["size"].as_u64().map(|size| vec![b'x'; size as usize]);
    let key = call["key"].as_str().unwrap_or_default().as_bytes();
    let load = |got: Result<Got>| match got? {
        Got::Load(ticket) => ticket.fill(large())?.run().map(drop),
        Got::Found(seen) => panic!("{seen:?}"),
    };
    if case["make"] == "once" {
        let once = once(client, made)?;
        return match call["op"].as_str() {
            Some("claim") => once.claim(key, large())?.run().map(drop),
            Some("run") => load(once.begin(key, NOW)?.run()),
            other => panic!("{other:?} did not fail"),
        };
    }
    let cache = cache(client, made)?;
    match call["op"].as_str() {
        Some("get") => {
            let got = load(cache.get(key, NOW)?.run());
            // The way is free for the next one. What frees it has 100 ms; on a busy machine it may come to nothing, and then the
            // lease ends by itself, after 10 s.
            let is_free =
                |seconds| matches!(cache.get(key, Duration::from_secs(seconds)).unwrap().run(), Ok(Got::Load(_)));
            assert!((0..3).any(|_| is_free(5) || {
                assert!(is_free(20));
                false
            }));
            got
        }
        Some("peek") => cache.peek(key)?.run().map(drop),
        Some("put") => cache.put(key, large())?.run().map(drop),
        Some("get_many") => {
            let keys = spec::list_of_bytes(call, "keys").unwrap();
            cache.get_many(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>(), NOW)?.run().map(drop)
        }
        other => panic!("{other:?} did not fail"),
    }
}

/// How a get ended: a value, and whether it was made for this; or the exception of whoever made it.
type Gotten = std::result::Result<(Option<Vec<u8>>, bool), String>;

impl Case<'_> {
    fn perform_all(&self, id: &str, steps: &Value) {
        for (i, step) in steps.as_array().into_iter().flatten().enumerate() {
            let place = format!("{id} step {i} on {}, {:?}", self.store, self.way);
            self.set_time(step["at"].as_u64().unwrap());
            match (self.perform(&place, step), step["error"].as_str()) {
                (Err(error), Some(code)) => assert_eq!(error.code().as_str(), code, "{place}: {error}"),
                (Err(error), None) => panic!("{place}: {error}"),
                (Ok(found), Some(code)) => panic!("{place}: did not fail with {code}: {found}"),
                (Ok(found), None) => assert_eq!(found, step["expect"], "{place}"),
            }
        }
    }

    fn set_time(&self, at: u64) {
        testing::set_time(&self.client, Some(at)).unwrap();
    }

    /// Performs a step: what it answers, in the form of `expect`; null if nothing.
    fn perform(&self, place: &str, step: &Value) -> Result<Value> {
        match step["cache"].as_str() {
            Some(label) => self.perform_of_cache(place, step, &self.caches[label]),
            None => self.perform_of_once(place, step, &self.onces[step["once"].as_str().unwrap()]),
        }
    }

    fn perform_of_cache(&self, place: &str, step: &Value, cache: &Cache) -> Result<Value> {
        let key = spec::bytes(step, "key").unwrap_or_default();
        Ok(match step["op"].as_str().unwrap() {
            "get" => {
                let gotten = self.get(place, cache.get(&key, NOW)?, &step["load"])?;
                shown(gotten, "loaded", step)
            }
            "get_many" => self.get_many(cache, step)?,
            "peek" => match cache.peek(&key)?.run()? {
                Some(seen) => {
                    let mut found = json!({"stale": seen.stale, "age": seen.age});
                    show_bytes(&mut found, "value", seen.value.map(|value| value.to_vec()), &step["expect"]);
                    found
                }
                None => Value::Null,
            },
            "put" => {
                cache.put(&key, spec::bytes(step, "value"))?.run()?;
                Value::Null
            }
            "invalidate" => json!({"existed": cache.invalidate(&key)?.run()?}),
            _ => return self.perform_on_key(step, &cache.redis_key(&key)?),
        })
    }

    fn perform_of_once(&self, place: &str, step: &Value, once: &Once) -> Result<Value> {
        let id = spec::bytes(step, "id").unwrap();
        Ok(match step["op"].as_str().unwrap() {
            "run" => {
                let gotten = self.get(place, once.begin(&id, NOW)?, &step["function"])?;
                shown(gotten, "ran", step)
            }
            "claim" => {
                let claimed = once.claim(&id, spec::bytes(step, "value"))?.run()?;
                let mut found = json!({"first": claimed.first, "running": claimed.running});
                show_bytes(&mut found, "value", claimed.value.map(|value| value.to_vec()), &step["expect"]);
                found
            }
            "release" => json!({"released": once.release(&id)?.run()?}),
            _ => return self.perform_on_key(step, &once.redis_key(&id)?),
        })
    }

    /// What is done with the Redis key itself.
    fn perform_on_key(&self, step: &Value, redis_key: &[u8]) -> Result<Value> {
        Ok(match step["op"].as_str().unwrap() {
            "redis_key" => {
                let stem = format!("{}:", self.prefix);
                let ours = redis_key.strip_prefix(stem.as_bytes()).unwrap().to_vec();
                let mut found = json!({});
                show_bytes(&mut found, "redis_key", Some(ours), &step["expect"]);
                found
            }
            "plant" => {
                let kind = testing::TestValueKind::parse(step["type"].as_str().unwrap_or("string"))?;
                let value = spec::bytes(step, "value").unwrap_or_else(|| b"x".to_vec());
                testing::put(&self.client, redis_key, kind, &value).run()?;
                Value::Null
            }
            "persist" => {
                testing::put(&self.client, redis_key, testing::TestValueKind::Persist, b"").run()?;
                Value::Null
            }
            "raw" => match testing::get(&self.client, redis_key).run()? {
                Some(stored) => json!({"exists": true, "ttl": stored.ttl_ms.is_some()}),
                None => json!({"exists": false, "ttl": false}),
            },
            other => panic!("unknown op {other}"),
        })
    }

    fn get(&self, place: &str, getting: Op<Got>, load: &Value) -> Result<Gotten> {
        let got = match self.way {
            Way::Here => getting.run(),
            Way::AmongThreads => getting.run_among_threads(&mut || false),
            Way::Elsewhere => elsewhere(|sink| submit(getting, 0, sink)),
            Way::Awaited => block_on(getting),
        };
        match got? {
            Got::Found(seen) => Ok(Ok((seen.value.map(|value| value.to_vec()), false))),
            Got::Load(ticket) => self.load(place, &ticket, load),
        }
    }

    fn load(&self, place: &str, ticket: &Ticket, load: &Value) -> Result<Gotten> {
        self.perform_all(&format!("{place}, in it"), &load["during"]);
        if let Some(until) = load["until"].as_u64() {
            self.set_time(until);
        }
        if let Some(error) = load["error"].as_str() {
            ticket.fail(Some(error)).run()?;
            return Ok(Err(error.to_owned()));
        }
        let value = spec::bytes(load, "value");
        ticket.fill(value.clone())?.run()?;
        Ok(Ok((value, true)))
    }

    fn get_many(&self, cache: &Cache, step: &Value) -> Result<Value> {
        let keys = spec::list_of_bytes(step, "keys").unwrap();
        let getting = cache.get_many(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>(), NOW)?;
        let parts = match self.way {
            Way::Here | Way::AmongThreads => getting.run()?,
            Way::Elsewhere | Way::Awaited => block_on(getting)?,
        };
        let (mut values, mut loaded) = (Vec::new(), Vec::new());
        for (n, part) in parts.into_iter().enumerate() {
            values.push(match part {
                Part::Got(Got::Found(seen)) => text(seen.value.as_deref()),
                Part::Got(Got::Load(ticket)) => {
                    loaded.push(&step["keys"][n]);
                    let value = step["load"]["values"][n].as_str().map(|value| value.as_bytes().to_vec());
                    ticket.fill(value.clone())?.run()?;
                    text(value.as_ref())
                }
                Part::Failed(error) => return Err(error),
                Part::Waits(getting) => text(
                    match self.get("", getting, &Value::Null)? {
                        Ok((value, _)) => value,
                        Err(error) => panic!("{error}"),
                    }
                    .as_ref(),
                ),
            });
        }
        Ok(json!({"values": values, "loaded": loaded}))
    }
}

fn text(value: Option<&Vec<u8>>) -> Option<String> {
    value.map(|value| String::from_utf8(value.clone()).unwrap())
}

fn shown(gotten: Gotten, made: &str, step: &Value) -> Value {
    match gotten {
        Ok((value, was_made)) => {
            let mut found = json!({made: was_made});
            show_bytes(&mut found, "value", value, &step["expect"]);
            found
        }
        Err(error) => json!({"raised": error}),
    }
}

/// Adds bytes in the form in which they are expected: as text, or in hexadecimal.
fn show_bytes(found: &mut Value, field: &str, bytes: Option<Vec<u8>>, expect: &Value) {
    let hex = format!("{field}_hex");
    if expect[&hex].is_string() {
        let digits = bytes.map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        found[&hex] = json!(digits);
    } else {
        found[field] = json!(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()));
    }
}
