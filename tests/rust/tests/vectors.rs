//! Executes every vector of the spec on every store.

use std::collections::BTreeSet;

use quotalock::testing::{self, Kind};
use quotalock::{Client, Decision, Error, Limiter, OnError, Options, Policy, Result, convert};
use quotalock_tests::{client, fresh_prefix, spec, stores};
use serde_json::Value;

#[test]
fn every_vector_on_every_store() {
    for (store, url) in stores() {
        let mut executed = BTreeSet::new();
        for file in spec::files() {
            for case in spec::cases(&file) {
                match file.as_str() {
                    "policies.json" => policy(&case),
                    "keys.json" => key(&case, &url),
                    "errors.json" => error(&case, &url),
                    _ => limiter(&case, &store, &url),
                }
                executed.insert(spec::id(&case));
            }
        }
        spec::assert_all_executed("rust", &store, &executed);
    }
}

fn assert_error(id: &str, case: &Value, error: &Error) {
    assert_eq!(error.code().as_str(), case["code"].as_str().unwrap(), "{id}: {error}");
    for part in case["contains"].as_array().into_iter().flatten() {
        assert!(error.message().contains(part.as_str().unwrap()), "{id}: {part} is not in {error}");
    }
    for secret in case["never"].as_array().into_iter().flatten() {
        assert!(!format!("{error} {error:?}").contains(secret.as_str().unwrap()), "{id}: {secret} shows in {error}");
    }
}

fn policy(case: &Value) {
    let (id, input) = (spec::id(case), case["input"].as_str().unwrap());
    let Some(canonical) = case["canonical"].as_str() else {
        return assert_error(&id, case, &Policy::parse(input).expect_err(&id));
    };
    let policy = Policy::parse(input).unwrap_or_else(|e| panic!("{id}: {e}"));
    assert_eq!(policy.to_string(), canonical, "{id}");
    assert_eq!(Policy::parse(canonical).unwrap(), policy, "{id}: the canonical form is another policy");
    let rules = case["rules"].as_array().unwrap();
    assert_eq!(policy.rules().len(), rules.len(), "{id}");
    for (rule, expected) in policy.rules().iter().zip(rules) {
        assert_eq!(rule.algorithm().name(), expected["algorithm"].as_str().unwrap(), "{id}");
        assert_eq!(rule.limit(), expected["limit"].as_u64().unwrap(), "{id}");
        assert_eq!(rule.period(), expected["period"].as_u64().unwrap(), "{id}");
        assert_eq!(rule.capacity(), expected["capacity"].as_u64().unwrap_or(rule.limit()), "{id}");
    }
}

fn key(case: &Value, url: &str) {
    let id = spec::id(case);
    let client = client(url, case["prefix"].as_str().unwrap());
    let limiter = client.limiter(case["name"].as_str().unwrap(), Policy::parse("1/hour").unwrap()).unwrap();
    let redis_key = limiter.redis_key(&spec::bytes(case, "key").unwrap()).unwrap();
    assert_eq!(redis_key, spec::bytes(case, "redis_key").unwrap(), "{id}");
    limiter.reset(&spec::bytes(case, "key").unwrap()).unwrap().run().unwrap();
    assert!(testing::get(&client, &redis_key).run().unwrap().is_none(), "{id}");
    limiter.consume(&spec::bytes(case, "key").unwrap(), 1).unwrap().run().unwrap();
    assert!(testing::get(&client, &redis_key).run().unwrap().is_some(), "{id}: the state is at another key");
}

fn error(case: &Value, url: &str) {
    let id = spec::id(case);
    let error = bad_call(case["op"].as_str().unwrap(), &case["args"], url).expect_err(&id);
    assert_error(&id, case, &error);
}

fn bad_call(op: &str, args: &Value, url: &str) -> Result<()> {
    let text = |name: &str, default: &str| args[name].as_str().unwrap_or(default).to_owned();
    let number = |name: &str, default: i64| args[name].as_i64().unwrap_or(default);
    let micros = |name: &str, default: i64| convert::unsigned(name, number(name, default));
    let client = Client::new(Options {
        url: Some(text("url", url)),
        prefix: text("prefix", "ql"),
        timeout: convert::duration(micros("timeout", 500_000)?),
        on_error: OnError::parse(&text("on_error", "raise"))?,
    })?;
    let limiter = client.limiter(&text("name", "n"), Policy::parse(&text("policy", "1/s"))?)?;
    let key = text("key", "k");
    let key = key.as_bytes();
    let cost = convert::unsigned("cost", number("cost", 1))?;
    match op {
        "consume" => limiter.consume(key, cost)?.run().map(drop),
        "peek" => limiter.peek(key, cost)?.run().map(drop),
        "wait" => limiter.wait(key, cost, convert::duration(micros("timeout", 0)?))?.run().map(drop),
        "refund" => limiter.refund(key, convert::unsigned("amount", number("amount", 1))?)?.run().map(drop),
        "block" => limiter.block(key, micros("duration", 1)?)?.run().map(drop),
        "reset" => limiter.reset(key)?.run().map(drop),
        _ => Ok(()),
    }
}

fn limiter(case: &Value, store: &str, url: &str) {
    let id = spec::id(case);
    let client = client(url, &fresh_prefix("vector"));
    let policy = Policy::parse(case["policy"].as_str().unwrap()).unwrap();
    let limiter = client.limiter("vector", policy).unwrap();
    for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let place = format!("{id} step {i} on {store}");
        testing::set_time(&client, Some(step["at"].as_u64().unwrap())).unwrap();
        match (perform(&client, &limiter, step, &place), &step["error"]) {
            (Err(error), expected) if !expected.is_null() => assert_error(&place, expected, &error),
            (Err(error), _) => panic!("{place}: {error}"),
            (Ok(_), expected) if !expected.is_null() => panic!("{place}: did not fail with {expected}"),
            (Ok(Some(decision)), _) => assert_decision(&place, &decision, &step["expect"], store),
            (Ok(None), _) => {}
        }
    }
}

/// Performs a step; those that answer no decision are asserted here.
fn perform(client: &Client, limiter: &Limiter, step: &Value, place: &str) -> Result<Option<Decision>> {
    let key = spec::bytes(step, "key").unwrap();
    let redis_key = limiter.redis_key(&key).unwrap();
    let cost = step["cost"].as_u64().unwrap_or(1);
    let decision = match step["op"].as_str().unwrap() {
        "consume" => limiter.consume(&key, cost)?.run()?,
        "peek" => limiter.peek(&key, cost)?.run()?,
        "refund" => limiter.refund(&key, step["amount"].as_u64().unwrap())?.run()?,
        "block" => limiter.block(&key, step["duration"].as_u64().unwrap())?.run()?,
        "reset" => {
            let existed = limiter.reset(&key)?.run()?;
            assert_eq!(existed, step["expect"]["existed"].as_bool().unwrap(), "{place}");
            return Ok(None);
        }
        "plant" => {
            let kind = Kind::parse(step["type"].as_str().unwrap_or("string")).unwrap();
            let value = spec::bytes(step, "value").unwrap_or_else(|| b"x".to_vec());
            testing::put(client, &redis_key, kind, &value).run()?;
            return Ok(None);
        }
        "persist" => {
            testing::put(client, &redis_key, Kind::Persist, b"").run()?;
            return Ok(None);
        }
        "raw" => {
            let stored = testing::get(client, &redis_key).run()?;
            assert_eq!(stored.is_some(), step["expect"]["exists"].as_bool().unwrap(), "{place}");
            if let (Some(stored), Some(ttl)) = (stored, step["expect"]["ttl"].as_bool()) {
                assert_eq!(stored.ttl_ms.is_some(), ttl, "{place}");
            }
            return Ok(None);
        }
        other => panic!("{place}: unknown op {other}"),
    };
    Ok(Some(decision))
}

fn assert_decision(place: &str, decision: &Decision, expect: &Value, store: &str) {
    let rules: Vec<Value> = decision
        .rules
        .iter()
        .map(|r| {
            serde_json::json!({"allowed": r.allowed, "limit": r.limit, "remaining": r.remaining,
                "retry_after": r.retry_after, "reset_after": r.reset_after})
        })
        .collect();
    let found = serde_json::json!({"allowed": decision.allowed, "limit": decision.limit,
        "remaining": decision.remaining, "retry_after": decision.retry_after, "reset_after": decision.reset_after,
        "cost": decision.cost, "healed": decision.healed, "rules": rules});
    assert_eq!(&found, expect, "{place}");
    let source = if store == "memory" { "memory" } else { "redis" };
    assert_eq!(decision.source.as_str(), source, "{place}");
}
