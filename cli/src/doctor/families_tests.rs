use super::*;

const NOW: u64 = 1_763_900_000_000;

fn recognised(name: &str, value: &str) -> Option<(&'static str, bool, Option<u64>)> {
    let found = recognise(name.as_bytes(), &Seen::Text(value.as_bytes().to_vec()), NOW)?;
    let life = match found.life {
        Life::Told(ms, _) => Some(ms),
        Life::Asked => None,
    };
    Some((found.family.id, found.is_sure, life))
}

#[test]
fn each_family_is_known_by_how_it_names_and_stores_its_keys() {
    for (name, value, expected) in [
        ("limit:sku:42", "-37412", ("set-nx-decr", true, None)),
        ("stock:42", "-3", ("negative", false, None)),
        (
            "laravel_database_laravel_cache_:1574bddb75c78a6fd2251d61e2993b5146201319",
            "61",
            ("laravel-limiter", true, None),
        ),
        ("laravel_cache:x:timer", "1763900060", ("laravel-limiter", true, Some(60_000))),
        ("laravel_cache:x:timer", "1763800060", ("laravel-limiter", true, Some(1_000))),
        ("laravel_cache:import", "aB3dEfGh1jKlMn0p", ("laravel-lock", true, None)),
        ("myapp_cache_:lock:import", "s:16:\"aB3dEfGh1jKlMn0p\";", ("laravel-lock", true, None)),
        ("framework/schedule-0a1b2c", "aB3dEfGh1jKlMn0p", ("laravel-lock", true, None)),
        ("LIMITS:LIMITER/127.0.0.1/index/5/1/minute", "6", ("limits", true, Some(60_000))),
        ("LIMITS:{LIMITER/k/5/2/hour}/-1", "6", ("limits", true, Some(14_400_000))),
        ("rlflx:42", "11", ("rate-limiter-flexible", true, None)),
        ("rl:::1", "11", ("rate-limit-redis", true, None)),
        ("fastify-rate-limit-127.0.0.1", "3", ("fastify-rate-limit", true, None)),
        (":1:rl:d41d8cd98f00b204e9800998ecf8427e", "3", ("django-ratelimit", true, None)),
        ("@upstash/ratelimit:ip:176390000", "3", ("upstash", true, Some(20_000))),
        ("nightly-lock", "7c1f6e0e6a3611ee8c990242ac120002", ("redis-py-lock", true, None)),
        ("nightly", "7c1f6e0e6a3611ee8c990242ac120002", ("redis-py-lock", false, None)),
        ("locks:sku:42", "9f86d081884c7d659a2feaa0c55ad015", ("redlock", true, None)),
        ("mutex:import", "7c1f6e0e-6a36-41ee-8c99-0242ac120002", ("redlock", true, None)),
        ("api:127.0.0.1:3600", "100", ("nikolaposa", true, Some(3_600_000))),
        ("uniquejobs:d41d8cd98f00b204e9800998ecf8427e", "x", ("job-lock", true, None)),
        ("bull:mail:7:lock", "x", ("job-lock", true, None)),
        ("login_attempts:10.0.0.1", "9", ("counter", false, None)),
    ] {
        assert_eq!(recognised(name, value), Some(expected), "{name} {value}");
    }
    assert_eq!(recognise(b"import", &Seen::Marked, NOW).map(|found| found.family.id), Some("symfony-lock"));
    let throttled = recognise(b"throttled:v1:token_bucket:k", &Seen::Other, NOW);
    assert_eq!(throttled.map(|found| found.family.id), Some("throttled-py"));
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
    assert_eq!(recognise(b"bull:mail:meta", &Seen::Other, NOW), None);
    assert_eq!(recognise(b"\xff\xfe", &Seen::Text(b"1".to_vec()), NOW), None);
}
