//! What decisions tell over HTTP.

use std::collections::BTreeMap;

use quotalock::testing;
use quotalock::{
    Charge, Client, DEFAULT_IPV6_PREFIX, HeaderOptions, HeaderSyntax, Limiter, LimiterOptions, OnError, Options,
    Policy, Problem, Result, RuleDecision, RuleDecisions, client_address,
};
use quotalock_tests::{client, fresh_prefix, spec};
use serde_json::{Value, json};

/// Where no server is.
const NOBODY: &str = "redis://127.0.0.1:1";

/// Header fields, of these options.
type Headers = Box<dyn Fn(&HeaderOptions) -> Vec<(&'static str, String)>>;

/// What a decision tells, of one key or of several.
struct Told {
    headers: Headers,
    problem: Result<Problem>,
    rules: RuleDecisions,
}

/// Executes a case.
pub fn steps(case: &Value, url: &str) {
    let client = match case["away"].as_str() {
        None => client(url, &fresh_prefix("answers")),
        Some(on_error) => {
            let on_error = OnError::parse(on_error).unwrap();
            Client::new(Options { url: Some(NOBODY.into()), on_error, ..Options::default() }).unwrap()
        }
    };
    let make = |(name, how): (&String, &Value)| {
        let options = LimiterOptions { enforce: how["enforce"].as_bool().unwrap_or(true), ..LimiterOptions::default() };
        let policy = Policy::parse(how["policy"].as_str().unwrap()).unwrap();
        (name.clone(), client.limiter_with(name, policy, options).unwrap())
    };
    let limiters: BTreeMap<String, Limiter> = case["limiters"].as_object().unwrap().iter().map(make).collect();
    for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let place = format!("{} step {i}", spec::id(case));
        testing::set_time(&client, step["at"].as_u64()).unwrap();
        check(&place, step, &told(&client, &limiters, step));
    }
}

/// Executes a case about a client's address.
pub fn address(case: &Value) {
    let id = spec::id(case);
    let texts = |name: &str| case[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    let (forwarded, trusted): (Vec<_>, Vec<_>) = (texts("forwarded").collect(), texts("trusted").collect());
    let prefix = case["ipv6_prefix"].as_u64().unwrap_or(DEFAULT_IPV6_PREFIX);
    match client_address(case["peer"].as_str().unwrap(), &forwarded, &trusted, prefix) {
        Ok(found) => assert_eq!(Some(found.as_str()), case["expect"].as_str(), "{id}"),
        Err(error) => {
            assert!(case["code"].is_string(), "{id}: {error}");
            super::assert_error(&id, case, &error);
        }
    }
}

fn told(client: &Client, limiters: &BTreeMap<String, Limiter>, step: &Value) -> Told {
    let text = |step: &Value, name: &str| step[name].as_str().unwrap().to_owned();
    if let Some(charges) = step["charges"].as_array() {
        let keys: Vec<String> = charges.iter().map(|charge| text(charge, "key")).collect();
        let charge = |(charge, key): (&Value, _)| Charge {
            limiter: &limiters[charge["limiter"].as_str().unwrap()],
            key,
            cost: charge["cost"].as_u64().unwrap(),
        };
        let charges: Vec<Charge> = charges.iter().zip(keys.iter().map(String::as_bytes)).map(charge).collect();
        let combined = client.consume_all(&charges, None).unwrap().run().unwrap();
        let names: Vec<&str> = combined.decisions.iter().map(|decision| &*decision.name).collect();
        assert_eq!(names, charges.iter().map(|charge| charge.limiter.name()).collect::<Vec<_>>());
        let rules = combined.decisions.iter().flat_map(|decision| decision.rules.clone()).collect();
        let problem = combined.problem();
        return Told { headers: Box::new(move |options| combined.headers(options)), problem, rules };
    }
    let (limiter, key) = (&limiters[step["limiter"].as_str().unwrap()], text(step, "key"));
    let amount = |name: &str| step[name].as_u64().unwrap();
    let op = match step["op"].as_str().unwrap() {
        "consume" => limiter.consume(key.as_bytes(), amount("cost")),
        "peek" => limiter.peek(key.as_bytes(), amount("cost")),
        "block" => limiter.block(key.as_bytes(), amount("duration")),
        other => panic!("unknown op {other}"),
    };
    let decision = op.unwrap().run().unwrap();
    assert_eq!(&*decision.name, limiter.name());
    let (problem, rules) = (decision.problem(), decision.rules.clone());
    Told { headers: Box::new(move |options| decision.headers(options)), problem, rules }
}

fn check(place: &str, step: &Value, told: &Told) {
    for wanted in step["headers"].as_array().into_iter().flatten() {
        let syntax = HeaderSyntax::parse(wanted["syntax"].as_str().unwrap_or("draft-11"));
        let legacy = wanted["legacy"].as_bool().unwrap_or(false);
        let found = match syntax {
            Ok(syntax) => json!({"expect": (told.headers)(&HeaderOptions { syntax, legacy })}),
            Err(error) => json!({"error": error.code().as_str()}),
        };
        assert_eq!(found.get("expect"), wanted.get("expect"), "{place}");
        assert_eq!(found.get("error"), wanted.get("error"), "{place}");
    }
    if let Some(expected) = step.get("problem") {
        let found = match &told.problem {
            Ok(problem) => json!({"type": problem.kind, "title": problem.title, "status": problem.status,
                "detail": problem.detail, "violated-policies": problem.violated_policies}),
            Err(error) => json!({"error": error.code().as_str()}),
        };
        assert_eq!(&found, expected, "{place}");
    }
    if let Some(expected) = step.get("rules") {
        let shown = |rule: &RuleDecision| json!([rule.algorithm, rule.quota, rule.period, rule.capacity]);
        assert_eq!(&Value::from_iter(told.rules.iter().map(shown)), expected, "{place}");
    }
}
