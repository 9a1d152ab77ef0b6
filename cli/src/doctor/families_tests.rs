use super::*;

const NOW: u64 = 1_763_900_000_000;

const SHA: &str = "1574bddb75c78a6fd2251d61e2993b5146201319";

fn text(value: &str) -> ValueView {
    ValueView::Text(value.as_bytes().to_vec())
}

fn recognised(name: &str, value: &str) -> Option<(&'static str, Option<u64>)> {
    let found = recognise(name.as_bytes(), &text(value), NOW)?;
    let life = match found.life {
        Life::Told(ms, _) => Some(ms),
        Life::Asked => None,
    };
    Some((found.family.id, life))
}

#[test]
fn each_family_is_known_by_how_it_names_and_stores_its_keys() {
    for (name, value, expected) in [
        ("limit:sku:42", "-37412", ("set-nx-decr", None)),
        ("stock:42", "-3", ("negative", None)),
        ("laravel_database_laravel_cache_:1574bddb75c78a6fd2251d61e2993b5146201319", "61", ("laravel-limiter", None)),
        ("laravel_cache:x:timer", "1763900060", ("laravel-limiter", Some(60_000))),
        ("laravel_cache:x:timer", "1763800060", ("laravel-limiter", Some(1_000))),
        ("laravel_cache:import", "aB3dEfGh1jKlMn0p", ("laravel-lock", None)),
        ("myapp_cache_:lock:import", "s:16:\"aB3dEfGh1jKlMn0p\";", ("laravel-lock", None)),
        ("framework/schedule-0a1b2c", "aB3dEfGh1jKlMn0p", ("laravel-lock", None)),
        ("LIMITS:LIMITER/127.0.0.1/index/5/1/minute", "6", ("limits", Some(60_000))),
        ("LIMITS:{LIMITER/k/5/2/hour}/-1", "6", ("limits", Some(14_400_000))),
        ("rlflx:42", "11", ("rate-limiter-flexible", None)),
        ("rl:::1", "11", ("rate-limit-redis", None)),
        ("fastify-rate-limit-127.0.0.1", "3", ("fastify-rate-limit", None)),
        (":1:rl:d41d8cd98f00b204e9800998ecf8427e", "3", ("django-ratelimit", None)),
        ("@upstash/ratelimit:ip:176390000", "3", ("upstash", Some(20_000))),
        ("nightly-lock", "7c1f6e0e6a3611ee8c990242ac120002", ("redis-py-lock", None)),
        ("nightly", "7c1f6e0e6a3611ee8c990242ac120002", ("redis-py-lock", None)),
        ("locks:sku:42", "9f86d081884c7d659a2feaa0c55ad015", ("redlock", None)),
        ("import", "9f86d081884c7d659a2feaa0c55ad015", ("token", None)),
        ("mutex:import", "7c1f6e0e-6a36-41ee-8c99-0242ac120002", ("redlock", None)),
        ("api:127.0.0.1:3600", "100", ("nikolaposa", Some(3_600_000))),
        ("uniquejobs:d41d8cd98f00b204e9800998ecf8427e", "x", ("job-lock", None)),
        ("bull:mail:7:lock", "x", ("job-lock", None)),
        ("login_attempts:10.0.0.1", "9", ("counter", None)),
    ] {
        assert_eq!(recognised(name, value), Some(expected), "{name} {value}");
    }
    assert_eq!(
        recognise(b"import", &ValueView::Marked(Some(1)), NOW).map(|found| found.family.id),
        Some("symfony-lock")
    );
    let throttled = recognise(b"throttled:v1:token_bucket:k", &ValueView::Other(b"hash".to_vec(), Vec::new()), NOW);
    assert_eq!(throttled.map(|found| found.family.id), Some("throttled-py"));
}

#[test]
fn only_where_something_can_be_seen_is_there_a_proof() {
    let timer = format!("laravel_cache_:{SHA}:timer");
    let auction = format!("laravel_cache_:auction:{SHA}:timer");
    for (name, value, expected) in [
        ("limit:sku:42", "-1", Some(Proof::Falls)),
        ("limit:user:1", "-1", Some(Proof::Falls)),
        ("limit:credit:7", "-1", None),
        ("stock:42", "-3", None),
        ("LIMITS:LIMITER/127.0.0.1/index/5/1/minute", "6", Some(Proof::Refuses(5))),
        ("LIMITS:{LIMITER/k/5/2/hour}/-1", "6", None),
        (&timer, "1763800060", Some(Proof::Ended)),
        (&auction, "1763800060", None),
        ("auction:42:timer", "1763800060", None),
        ("rl:10.0.0.1", "11", None),
        ("fastify-rate-limit-127.0.0.1", "3", None),
        ("locks:sku:42", "9f86d081884c7d659a2feaa0c55ad015", None),
        ("nightly", "7c1f6e0e6a3611ee8c990242ac120002", None),
        ("qo_report", "7c1f6e0e6a3611ee8c990242ac120002", None),
    ] {
        let proof = recognise(name.as_bytes(), &text(value), NOW).map(|found| found.proof);
        let proof = proof.filter(|proof| !matches!(proof, Proof::Never(_)));
        assert_eq!(proof, expected, "{name} {value}");
    }
    // The user's word gives a name, and no more.
    for (name, value, expected) in [
        ("buy:42", "-1", Some(Proof::Falls)),
        ("buy:42", "7", Some(Proof::Counts)),
        ("rl:10.0.0.1", "11", Some(Proof::Counts)),
        ("auction:42:timer", "1763800060", Some(Proof::Ended)),
        ("nightly", "7c1f6e0e6a3611ee8c990242ac120002", None),
        ("page", "hello", None),
    ] {
        let proof = recognise_named(name.as_bytes(), &text(value), NOW).map(|found| found.proof);
        let proof = proof.filter(|proof| !matches!(proof, Proof::Never(_)));
        assert_eq!(proof, expected, "{name} {value}");
    }
}

#[test]
fn what_may_live_for_ever_is_not_recognised() {
    for (name, value) in [
        ("stat:processed", "12345"),
        ("views:page:1", "10"),
        ("user:60", "5"),
        ("user:7:balance", "250"),
        ("config:rate_limit", "100"),
        ("plan:42:limit", "1000"),
        ("laravel_cache:settings", "5"),
        ("session:1", "7c1f6e0e-6a36-41ee-8c99-0242ac120002"),
        ("user:1:name", "Ada"),
        ("token:abc", "9f86d081884c7d659a2feaa0c55ad015"),
        ("lock:door", "closed"),
        ("rq:job:1", "x"),
        ("x", ""),
    ] {
        assert_eq!(recognised(name, value), None, "{name} {value}");
    }
    assert_eq!(recognise(b"bull:mail:meta", &ValueView::Other(b"hash".to_vec(), Vec::new()), NOW), None);
    assert_eq!(recognise(b"\xff\xfe", &ValueView::Text(b"1".to_vec()), NOW), None);
}
