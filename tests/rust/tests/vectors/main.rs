//! Executes every vector of the spec on every store.

mod answers;
mod caches;
mod locks;
mod stocks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use quotalock::testing::{self, TestValueKind};
use quotalock::{
    Charge, Client, CombinedDecision, Decision, Error, Limiter, LimiterOptions, OnError, Options, Policy, Result,
    Source, Unsettled, convert,
};
use quotalock_tests::operator::{login, refused, rights_at};
use quotalock_tests::{client, clusters, fresh_prefix, servers, spec};
use serde_json::Value;

/// Some vectors name their keys, prefix and all: the tests take turns at them.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn every_vector_in_memory() {
    let _turn = TURN.lock();
    spec::assert_all_executed("rust", "memory", &execute("memory", "memory://"));
}

#[test]
fn every_vector_on_every_server() {
    let _turn = TURN.lock();
    for (store, url) in servers().into_iter().chain(clusters()) {
        spec::assert_all_executed("rust", &store, &execute(&store, &url));
    }
}

#[test]
fn every_vector_as_a_user_who_has_the_rights_that_security_lists_and_no_other() {
    let _turn = TURN.lock();
    for (store, url) in servers().into_iter().chain(clusters()) {
        let user = fresh_prefix("limited");
        let mut words = rights_at(&store, &url);
        words.extend(PLANTING.map(str::to_owned));
        // The vectors have many prefixes.
        let limited = login(&url, &user, "*", &words);
        let all: BTreeSet<String> =
            spec::files().iter().flat_map(|f| spec::cases(f)).map(|case| spec::id(&case)).collect();
        assert_eq!(execute(&store, &limited), all, "{store}");
        // Nor was there a way around.
        assert_eq!(refused(&url, &user), BTreeSet::new(), "{store}");
    }
}

/// What the steps need that plant a state or look at one, beside what the library calls.
const PLANTING: [&str; 3] = ["+persist", "+pttl", "+rpush"];

/// Executes all vectors and returns their ids.
fn execute(store: &str, url: &str) -> BTreeSet<String> {
    let mut executed = BTreeSet::new();
    for file in spec::files() {
        for case in spec::cases(&file) {
            match file.as_str() {
                "policies.json" => policy(&case),
                "keys.json" => key(&case, url),
                "errors.json" => error(&case, url),
                "addresses.json" => answers::address(&case),
                "answers.json" => answers::steps(&case, url),
                "locks.json" => locks::steps(&case, store, url),
                "lock-errors.json" => locks::error(&case, url),
                "stock.json" => stocks::steps(&case, store, url),
                "stock-errors.json" => stocks::error(&case, url),
                "cache.json" | "once.json" => caches::steps(&case, store, url),
                "cache-errors.json" => caches::error(&case, url),
                _ => limiter(&case, store, url),
            }
            executed.insert(spec::id(&case));
        }
    }
    executed
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
    let options = LimiterOptions { scope: spec::bytes(case, "scope"), enforce: true, prefetch: None };
    let policy = Policy::parse("1/hour").unwrap();
    let limiter = client.limiter_with(case["name"].as_str().unwrap(), policy, options).unwrap();
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
        request_memory: convert::duration(micros("request_memory", 60_000_000)?),
        ..Options::default()
    })?;
    let options =
        LimiterOptions { scope: args["scope"].as_str().map(|s| s.as_bytes().to_vec()), enforce: true, prefetch: None };
    let limiter = client.limiter_with(&text("name", "n"), Policy::parse(&text("policy", "1/s"))?, options)?;
    let key = text("key", "k");
    let key = key.as_bytes();
    let cost = convert::unsigned("cost", number("cost", 1))?;
    let request = args["request"].as_str().map(str::as_bytes);
    match op {
        "consume" => limiter.consume_once(key, cost, request)?.run().map(drop),
        "consume_up_to" => limiter.consume_up_to(key, convert::unsigned("most", number("most", 1))?)?.run().map(drop),
        "reserve" => {
            let unsettled = Unsettled::parse(&text("unsettled", "spent"))?;
            let estimate = convert::unsigned("estimate", number("estimate", 1))?;
            limiter.reserve(key, estimate, micros("ttl", 1_000_000)?, unsettled)?.1.run().map(drop)
        }
        "reservation" => limiter.reservation(key, &text("id", "")).map(drop),
        "settle" => {
            let reservation = limiter.reservation(key, "00112233445566778899aabbccddeeff")?;
            reservation.settle(convert::unsigned("actual", number("actual", 1))?)?.run().map(drop)
        }
        "consume_all" => {
            // The charges are keys and costs for this limiter.
            let charges: Vec<(String, u64)> = serde_json::from_value(args["charges"].clone()).unwrap();
            let charge = |(key, cost): &'_ (String, u64)| (key.as_bytes().to_vec(), *cost);
            let charges: Vec<(Vec<u8>, u64)> = charges.iter().map(charge).collect();
            let charges: Vec<Charge> =
                charges.iter().map(|(key, cost)| Charge { limiter: &limiter, key, cost: *cost }).collect();
            client.consume_all(&charges, request)?.run().map(drop)
        }
        "peek" => limiter.peek(key, cost)?.run().map(drop),
        "wait" => limiter.wait(key, cost, convert::duration(micros("timeout", 0)?))?.run().map(drop),
        "refund" => {
            limiter.refund_once(key, convert::unsigned("amount", number("amount", 1))?, request)?.run().map(drop)
        }
        "block" => limiter.block(key, micros("duration", 1)?)?.run().map(drop),
        "reset" => limiter.reset(key)?.run().map(drop),
        _ => Ok(()),
    }
}

/// What the steps of one case share.
struct Case {
    client: Client,
    /// By label; the first one's is empty.
    limiters: BTreeMap<String, Limiter>,
    /// The ids of reservations, by label.
    reservations: BTreeMap<String, String>,
}

fn limiter(case: &Value, store: &str, url: &str) {
    let id = spec::id(case);
    let client = client(url, &fresh_prefix("vector"));
    let make = |label: &str, spec: &Value| {
        let shared = label.is_empty() || spec["name"] == "main";
        let options = LimiterOptions {
            scope: spec["scope"].as_str().map(|scope| scope.as_bytes().to_vec()),
            enforce: spec["enforce"].as_bool().unwrap_or(true),
            prefetch: spec["prefetch"].as_u64(),
        };
        let policy = Policy::parse(spec["policy"].as_str().unwrap()).unwrap();
        client.limiter_with(if shared { "vector" } else { label }, policy, options).unwrap()
    };
    let mut limiters = BTreeMap::from([(String::new(), make("", case))]);
    for (label, spec) in case["limiters"].as_object().into_iter().flatten() {
        limiters.insert(label.clone(), make(label, spec));
    }
    let mut all = Case { client, limiters, reservations: BTreeMap::new() };
    for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let place = format!("{id} step {i} on {store}");
        testing::set_time(&all.client, Some(step["at"].as_u64().unwrap())).unwrap();
        match (perform(&mut all, step, &place, store), &step["error"]) {
            (Err(error), expected) if !expected.is_null() => assert_error(&place, expected, &error),
            (Err(error), _) => panic!("{place}: {error}"),
            (Ok(_), expected) if !expected.is_null() => panic!("{place}: did not fail with {expected}"),
            (Ok(Some(decision)), _) => assert_decision(&place, &decision, &step["expect"], store),
            (Ok(None), _) => {}
        }
    }
}

fn consume_all(case: &Case, step: &Value) -> Result<CombinedDecision> {
    let charges = step["charges"].as_array().unwrap();
    let keys: Vec<Vec<u8>> = charges.iter().map(|charge| spec::bytes(charge, "key").unwrap()).collect();
    let charge = |(charge, key): (&Value, _)| Charge {
        limiter: &case.limiters[charge["limiter"].as_str().unwrap_or_default()],
        key,
        cost: charge["cost"].as_u64().unwrap(),
    };
    let charges: Vec<Charge> = charges.iter().zip(keys.iter().map(Vec::as_slice)).map(charge).collect();
    case.client.consume_all(&charges, step["request"].as_str().map(str::as_bytes))?.run()
}

/// Performs a step; those that answer no decision are asserted here.
fn perform(case: &mut Case, step: &Value, place: &str, store: &str) -> Result<Option<Decision>> {
    let (client, limiter) = (&case.client, &case.limiters[step["limiter"].as_str().unwrap_or_default()]);
    if step["op"] == "consume_all" {
        assert_combined(place, &consume_all(case, step)?, &step["expect"], store);
        return Ok(None);
    }
    let request = step["request"].as_str().map(str::as_bytes);
    let key = spec::bytes(step, "key").unwrap();
    let redis_key = limiter.redis_key(&key).unwrap();
    let cost = step["cost"].as_u64().unwrap_or(1);
    let decision = match step["op"].as_str().unwrap() {
        "consume" => limiter.consume_once(&key, cost, request)?.run()?,
        "consume_up_to" => limiter.consume_up_to(&key, step["most"].as_u64().unwrap())?.run()?,
        "reserve" => {
            let unsettled = Unsettled::parse(step["unsettled"].as_str().unwrap_or("spent"))?;
            let (estimate, ttl) = (step["estimate"].as_u64().unwrap(), step["ttl"].as_u64().unwrap());
            let (reservation, op) = limiter.reserve(&key, estimate, ttl, unsettled)?;
            let decision = op.run()?;
            case.reservations.insert(step["as"].as_str().unwrap().to_owned(), reservation.id());
            decision
        }
        "settle" | "cancel" => {
            let reservation = limiter.reservation(&key, &case.reservations[step["reservation"].as_str().unwrap()])?;
            let op = step["actual"].as_u64().map_or_else(|| reservation.cancel(), |actual| reservation.settle(actual));
            assert_eq!(op?.run()?, step["expect"]["settled"].as_bool().unwrap(), "{place}");
            return Ok(None);
        }
        "peek" => limiter.peek(&key, cost)?.run()?,
        "refund" => limiter.refund_once(&key, step["amount"].as_u64().unwrap(), request)?.run()?,
        "block" => limiter.block(&key, step["duration"].as_u64().unwrap())?.run()?,
        "reset" => {
            let existed = limiter.reset(&key)?.run()?;
            assert_eq!(existed, step["expect"]["existed"].as_bool().unwrap(), "{place}");
            return Ok(None);
        }
        "plant" => {
            let kind = TestValueKind::parse(step["type"].as_str().unwrap_or("string")).unwrap();
            let value = spec::bytes(step, "value").unwrap_or_else(|| b"x".to_vec());
            testing::put(client, &redis_key, kind, &value).run()?;
            return Ok(None);
        }
        "persist" => {
            testing::put(client, &redis_key, TestValueKind::Persist, b"").run()?;
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

fn shown(decision: &Decision) -> Value {
    let rules: Vec<Value> = decision
        .rules
        .iter()
        .map(|r| {
            serde_json::json!({"allowed": r.allowed, "limit": r.limit, "remaining": r.remaining,
                "retry_after": r.retry_after, "reset_after": r.reset_after})
        })
        .collect();
    let mut shown = serde_json::json!({"allowed": decision.allowed, "limit": decision.limit,
        "remaining": decision.remaining, "retry_after": decision.retry_after, "reset_after": decision.reset_after,
        "cost": decision.cost, "healed": decision.healed, "rules": rules});
    if decision.would_deny {
        shown["would_deny"] = Value::Bool(true);
    }
    shown
}

fn assert_decision(place: &str, decision: &Decision, expect: &Value, store: &str) {
    assert_eq!(&shown(decision), expect, "{place}");
    assert_source(place, decision.source, store);
}

fn assert_combined(place: &str, combined: &CombinedDecision, expect: &Value, store: &str) {
    let found = serde_json::json!({"allowed": combined.allowed, "would_deny": combined.would_deny,
        "binding": combined.binding, "retry_after": combined.retry_after,
        "decisions": combined.decisions.iter().map(shown).collect::<Vec<_>>()});
    assert_eq!(&found, expect, "{place}");
    assert_source(place, combined.source, store);
}

fn assert_source(place: &str, source: Source, store: &str) {
    assert_eq!(source.as_str(), if store == "memory" { "memory" } else { "redis" }, "{place}");
}
