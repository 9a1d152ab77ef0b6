//! What documentation claims about bounds and defaults is what the core has: each number is read from the text.

use std::collections::BTreeMap;

use quotalock::{
    DEFAULT_CACHE_LEASE, DEFAULT_ERROR_TTL, DEFAULT_HOLD, DEFAULT_LEDGER_CAP, DEFAULT_LOCK_TTL, DEFAULT_MAX_HOLD,
    DEFAULT_REQUEST_MEMORY, DEFAULT_TIMEOUT, DEFAULT_WAIT_AFTER_LEASE, MAX_ACK_TIMEOUT, MAX_COST, MAX_DENY_CACHE_MAX,
    MAX_FRESH, MAX_GET_MANY, MAX_HOLD, MAX_LEASE, MAX_LEDGER_CAP, MAX_LIMIT, MAX_LOCK_TTL, MAX_PAGE, MAX_PERIOD,
    MAX_PERMITS, MAX_PRIZE_BYTES, MAX_PRIZES, MAX_PRIZES_MOVED, MAX_PRIZES_OF_A_TAKE, MAX_QUANTITY, MAX_REQUEST_MEMORY,
    MAX_RESERVATIONS, MAX_STOCK_RETENTION, MAX_STOCKS, MAX_TIMEOUT, MIN_BLOCK, MIN_CACHE_LEASE, MIN_HOLD,
    MIN_LEDGER_CAP, MIN_LOCK_TTL, MIN_PERIOD, MIN_STOCK_RETENTION, OnceOptions,
};

fn read(file: &str) -> String {
    std::fs::read_to_string(format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Microseconds in milliseconds.
fn ms(micros: u64) -> u64 {
    micros / 1_000
}

/// A number as texts write it.
fn written(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[test]
fn the_ranges_of_the_php_stub_are_those_of_the_core() {
    let period = ms(MAX_PERIOD);
    let fresh = ms(MAX_FRESH);
    let timeouts = [(1, MAX_TIMEOUT.as_millis() as u64), (0, period)];
    let known: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::from([
        // Of a client; of a wait for a limiter.
        ("timeoutMs", timeouts.to_vec()),
        ("waitMs", vec![(0, period)]),
        ("staleMs", vec![(0, fresh)]),
        ("negativeMs", vec![(0, fresh)]),
        ("freshMs", vec![(1, fresh)]),
        ("errorTtlMs", vec![(0, ms(MAX_LEASE))]),
        ("leaseMs", vec![(ms(MIN_CACHE_LEASE), ms(MAX_LEASE))]),
        // Of a lock; of a reservation; of what is done once.
        ("ttlMs", vec![(ms(MIN_LOCK_TTL), ms(MAX_LOCK_TTL)), (1, period), (1, fresh)]),
        ("replicasAck", vec![(0, u64::from(u32::MAX))]),
        ("ackTimeoutMs", vec![(1, ms(MAX_ACK_TIMEOUT))]),
        ("actual", vec![(0, MAX_COST)]),
        ("cost", vec![(0, MAX_COST)]),
        ("floor", vec![(0, 1 << 52)]),
        ("tokenAbove", vec![(0, 1 << 52)]),
        ("count", vec![(1, MAX_PAGE)]),
        ("permits", vec![(1, MAX_PERMITS)]),
        ("weight", vec![(1, MAX_PERMITS)]),
        ("holdMs", vec![(ms(MIN_HOLD), ms(MAX_HOLD))]),
        ("durationMs", vec![(ms(MIN_BLOCK), period)]),
        ("periodMs", vec![(ms(MIN_PERIOD), period)]),
        ("endsMs", vec![(1, period)]),
        ("amount", vec![(1, MAX_COST)]),
        ("estimate", vec![(1, MAX_COST)]),
        ("limit", vec![(1, MAX_LIMIT)]),
        ("capacity", vec![(1, MAX_LIMIT)]),
        ("most", vec![(1, MAX_COST)]),
        ("quantity", vec![(1, MAX_QUANTITY)]),
        ("perBuyer", vec![(1, MAX_QUANTITY)]),
        ("ipv6Prefix", vec![(32, 128)]),
        ("micros", vec![(100_000_000_000_000, 1 << 52)]),
        ("requestMemoryMs", vec![(1, MAX_REQUEST_MEMORY.as_millis() as u64)]),
        ("denyCacheMaxMs", vec![(0, MAX_DENY_CACHE_MAX.as_millis() as u64)]),
        ("ledgerCap", vec![(MIN_LEDGER_CAP, MAX_LEDGER_CAP)]),
        ("retentionMs", vec![(ms(MIN_STOCK_RETENTION), ms(MAX_STOCK_RETENTION))]),
    ]);
    let stub = read("bindings-php/ratelimit.stub.php");
    let mut seen: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for claim in stub.split("@param int<").skip(1) {
        let (range, rest) = claim.split_once('>').unwrap();
        let name = rest.split_once('$').unwrap().1.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap();
        let (low, high) = range.split_once(", ").unwrap();
        seen.entry(name).or_default().push((low.parse().unwrap(), high.parse().unwrap()));
    }
    for (name, ranges) in &seen {
        let known = known.get(name).unwrap_or_else(|| panic!("${name} has a range in the stub: say here what it is"));
        for range in ranges {
            assert!(known.contains(range), "${name} is claimed to be {range:?}, and is {known:?}");
        }
        for range in known {
            assert!(ranges.contains(range), "${name} may be {range:?}, which the stub does not say: {ranges:?}");
        }
    }
    assert_eq!(seen.keys().collect::<Vec<_>>(), known.keys().collect::<Vec<_>>());
}

#[test]
fn the_defaults_of_the_declarations_for_node_are_those_of_the_core() {
    let wait = ms(DEFAULT_WAIT_AFTER_LEASE);
    let known: BTreeMap<&str, Vec<u64>> = BTreeMap::from([
        ("timeoutMs", vec![DEFAULT_TIMEOUT.as_millis() as u64]),
        ("requestMemoryMs", vec![DEFAULT_REQUEST_MEMORY.as_millis() as u64]),
        ("ttlMs", vec![ms(DEFAULT_LOCK_TTL), ms(OnceOptions::default().ttl)]),
        ("leaseMs", vec![ms(DEFAULT_CACHE_LEASE), ms(OnceOptions::default().lease)]),
        ("errorTtlMs", vec![ms(DEFAULT_ERROR_TTL), ms(OnceOptions::default().error_ttl)]),
        ("ledgerCap", vec![DEFAULT_LEDGER_CAP]),
        ("holdMs", vec![ms(DEFAULT_HOLD)]),
        ("waitMs", vec![wait]),
    ]);
    let declarations = read("bindings-node/index.d.ts");
    let mut seen: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for comment in declarations.split("/**").skip(1) {
        let (text, after) = comment.split_once("*/").unwrap();
        let name = after.trim_start().trim_start_matches("readonly ");
        let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap();
        let number = |text: &str| -> Option<u64> {
            let digits: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
            digits.trim_end_matches(',').replace(',', "").parse().ok()
        };
        // Lines may be broken anywhere.
        let text = text.split_whitespace().filter(|word| *word != "*").collect::<Vec<_>>().join(" ");
        let default = text.split_once("default: ").and_then(|(_, default)| {
            // A wait is declared as so much more than the lease.
            number(default.strip_prefix("the lease plus ").unwrap_or(default))
        });
        if let (Some(default), true) = (default, known.contains_key(name)) {
            seen.entry(name).or_default().push(default);
        }
    }
    for (name, defaults) in &known {
        let seen = seen.get(name).unwrap_or_else(|| panic!("no default of {name} was found"));
        assert!(seen.iter().all(|default| defaults.contains(default)), "{name}: {seen:?} is not {defaults:?}");
    }
    assert_eq!(ms(DEFAULT_MAX_HOLD), 3_600_000, "`maxHoldMs` is said to be an hour");
}

#[test]
fn the_numbers_in_prose_are_those_of_the_core() {
    let seconds = |micros: u64| micros / 1_000_000;
    let (lease, after) = (seconds(DEFAULT_CACHE_LEASE), seconds(DEFAULT_WAIT_AFTER_LEASE));
    let claims = [
        ("bindings-php/README.md", format!("by default {} seconds (`leaseMs` + {after} seconds)", lease + after)),
        ("docs/guide/once.md", format!("its `lease` ({lease} s; 10 ms to an hour; not renewed)")),
        ("docs/guide/once.md", format!("longer than `wait` ({after} s more than `lease`)")),
        ("docs/guide/stock-baskets.md", format!("{} in one call; `restock` adds more", written(MAX_PRIZES as u64))),
        ("docs/guide/stock-baskets.md", format!("1 to {} bytes each", written(MAX_PRIZE_BYTES as u64))),
        (
            "docs/guide/stock-failures.md",
            format!("with prizes {}, which a basket's stocks share", written(MAX_PRIZES_OF_A_TAKE)),
        ),
        ("docs/guide/stock-failures.md", format!("in one call | {} |", written(MAX_PRIZES_MOVED))),
        ("docs/guide/stock-failures.md", format!("of one call | {MAX_STOCKS} |")),
        ("docs/guide/stock-failures.md", format!("of the ledger | {} |", written(MAX_PAGE))),
        ("docs/guide/stock-ledger.md", format!("`ledger_cap` entries ({};", written(DEFAULT_LEDGER_CAP))),
        (
            "bindings-php/ratelimit.stub.php",
            format!("at most {} keys, without duplicates", written(MAX_GET_MANY as u64)),
        ),
    ];
    assert_eq!(MAX_STOCKS, MAX_RESERVATIONS);
    for (file, claim) in claims {
        // Lines may be broken anywhere.
        let text = read(file).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&claim), "{file} does not say \"{claim}\": mend one of them");
    }
}
