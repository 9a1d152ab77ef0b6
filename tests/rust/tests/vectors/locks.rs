//! The vectors of locks.

use std::collections::BTreeMap;
use std::time::Duration;

use quotalock::testing;
use quotalock::{Client, Error, Inspection, Lock, LockOptions, Result, convert};
use quotalock_tests::elsewhere::{elsewhere, submit};
use quotalock_tests::{client, fresh_prefix, spec};
use serde_json::{Value, json};

/// Who acquires and releases.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// This thread alone, as in PHP.
    Here,
    /// This thread, and the process' thread if it came to waiting, as with Python's threads.
    AmongThreads,
    /// The process' thread, as in event loops.
    Elsewhere,
}

/// A case of handles and steps.
pub fn steps(case: &Value, store: &str, url: &str) {
    for way in [Way::Here, Way::AmongThreads, Way::Elsewhere] {
        steps_in(way, case, store, url);
    }
}

fn steps_in(way: Way, case: &Value, store: &str, url: &str) {
    let id = spec::id(case);
    let prefix = fresh_prefix("lock");
    let client = client(url, &prefix);
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut handles: BTreeMap<&str, Lock> = (case["handles"].as_object().unwrap().iter())
        .map(|(label, spec)| (label.as_str(), make(&client, spec).unwrap_or_else(|e| panic!("{id}: {label}: {e}"))))
        .collect();
    for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let place = format!("{id} step {i} on {store}, {way:?}");
        testing::set_time(&client, Some(step["at"].as_u64().unwrap())).unwrap();
        let label = step["handle"].as_str().unwrap();
        let done = match step["op"].as_str().unwrap() {
            "handover" => handles[label].handover().map(|text| {
                texts.insert(step["as"].as_str().unwrap(), text);
                json!({})
            }),
            "adopt" => {
                let (text, name) = (&texts[step["text"].as_str().unwrap()], step["name"].as_str().map(str::as_bytes));
                client.adopt_named(text, name, false, None).and_then(|(lock, adopting)| {
                    let adopted = adopting.run()?;
                    handles.insert(label, lock);
                    Ok(json!({"adopted": adopted}))
                })
            }
            _ => perform(way, &client, &prefix, &handles[label], step),
        };
        match (done, step["error"].as_str()) {
            (Err(error), Some(code)) => assert_eq!(error.code().as_str(), code, "{place}: {error}"),
            (Err(error), None) => panic!("{place}: {error}"),
            (Ok(found), Some(code)) => panic!("{place}: did not fail with {code}: {found}"),
            (Ok(found), None) => assert_eq!(found, step["expect"], "{place}"),
        }
    }
}

/// A handle that cannot be made.
pub fn error(case: &Value, url: &str) {
    let id = spec::id(case);
    let client = client(url, &fresh_prefix("lock"));
    let error: Error = make(&client, &case["handle"]).err().unwrap_or_else(|| panic!("{id}: was made"));
    assert_eq!(error.code().as_str(), case["error"].as_str().unwrap(), "{id}: {error}");
}

fn make(client: &Client, spec: &Value) -> Result<Lock> {
    let number = |name: &str, default: i64| convert::unsigned(name, spec[name].as_i64().unwrap_or(default));
    let options = LockOptions {
        ttl: number("ttl", 0)?,
        renew: false,
        token_above: number("token_above", 0)?,
        label: spec["label"].as_str().unwrap_or_default().to_owned(),
        ..LockOptions::default()
    };
    let name = spec::bytes(spec, "name").unwrap_or_default();
    match spec["kind"].as_str().unwrap() {
        "lock" => client.lock(&name, options),
        "lock_all" => {
            let names = spec::list_of_bytes(spec, "names").unwrap();
            client.lock_all(&names.iter().map(Vec::as_slice).collect::<Vec<_>>(), options)
        }
        "semaphore" => client.semaphore(&name, number("permits", 1)?, number("weight", 1)?, options),
        "read_lock" => client.read_lock(&name, options),
        "write_lock" => client.write_lock(&name, options),
        other => panic!("unknown kind {other}"),
    }
}

/// Performs a step: what it answers, in the form of `expect`; null if nothing.
fn perform(way: Way, client: &Client, prefix: &str, lock: &Lock, step: &Value) -> Result<Value> {
    let redis_key = &lock.redis_keys()[0];
    Ok(match step["op"].as_str().unwrap() {
        "acquire" => json!({"acquired": acquire(way, lock)?}),
        "release" => json!({"released": release(way, lock)?}),
        "extend" => json!({"extended": lock.extend(step["ttl"].as_u64())?.run()?}),
        "state" => json!({"state": lock.state().as_str(), "held": lock.is_held(), "remaining": lock.remaining(),
            "token": lock.token()}),
        "inspect" => shown(&lock.inspect().run()?),
        "force_release" => json!({"count": lock.force_release().run()?}),
        "raise_floor" => {
            lock.raise_floor(step["floor"].as_u64().unwrap())?;
            Value::Null
        }
        "assert_held" => {
            lock.assert_held()?;
            json!({})
        }
        "redis_keys" => {
            let stem = format!("{prefix}:");
            let ours = |key: &Vec<u8>| key.strip_prefix(stem.as_bytes()).unwrap().to_vec();
            let found: Vec<Vec<u8>> = lock.redis_keys().iter().map(ours).collect();
            let is_expected = spec::list_of_bytes(&step["expect"], "redis_keys").unwrap() == found;
            // Bytes that differ are shown as they are.
            if is_expected { step["expect"].clone() } else { json!({"bytes": found}) }
        }
        "plant" => {
            let kind = testing::TestValueKind::parse(step["type"].as_str().unwrap_or("string"))?;
            let value = spec::bytes(step, "value").unwrap_or_else(|| b"x".to_vec());
            testing::put(client, redis_key, kind, &value).run()?;
            Value::Null
        }
        "persist" => {
            testing::put(client, redis_key, testing::TestValueKind::Persist, b"").run()?;
            Value::Null
        }
        "raw" => match testing::get(client, redis_key).run()? {
            Some(stored) => json!({"exists": true, "ttl": stored.ttl_ms.is_some()}),
            None => json!({"exists": false, "ttl": false}),
        },
        other => panic!("unknown op {other}"),
    })
}

fn acquire(way: Way, lock: &Lock) -> Result<bool> {
    let acquiring = lock.acquire(Duration::ZERO)?;
    match way {
        Way::Here => acquiring.run(),
        Way::AmongThreads => acquiring.run_among_threads(&mut || false),
        Way::Elsewhere => elsewhere(|sink| submit(acquiring, 0, sink)),
    }
}

fn release(way: Way, lock: &Lock) -> Result<bool> {
    let releasing = lock.release();
    match way {
        Way::Here | Way::AmongThreads => releasing.run(),
        Way::Elsewhere => elsewhere(|sink| submit(releasing, 0, sink)),
    }
}

fn shown(inspection: &Inspection) -> Value {
    let holders: Vec<Value> = (inspection.holders.iter())
        .map(|h| json!({"label": h.label, "token": h.token, "permits": h.permits, "since": h.since, "until": h.until}))
        .collect();
    json!({"token": inspection.token, "waiters": inspection.waiters, "healed": inspection.healed, "holders": holders})
}
