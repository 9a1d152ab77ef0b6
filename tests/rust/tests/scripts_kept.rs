//! However many kinds of policies a program has, alone and together, a server and a process keep few scripts.

use std::io::{Read, Write};
use std::net::TcpStream;

use quotalock::{Charge, Limiter, Policy};
use quotalock_tests::{client, fresh_prefix, servers};

/// How many policies, and sets of them.
const KINDS: usize = 1_000;
const MOST_SCRIPTS: u64 = 250;
const MOST_BYTES: u64 = 24 << 20;

/// A number that a server tells of itself.
fn info(url: &str, name: &str) -> u64 {
    let mut connection = TcpStream::connect(url.trim_start_matches("redis://")).unwrap();
    connection.write_all(b"INFO memory\r\nQUIT\r\n").unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().parse().unwrap()
}

/// The bytes of this process that are in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The policy of this number: one of five algorithms for each digit.
fn policy(number: usize) -> Policy {
    let (mut rules, mut left) = (Vec::new(), number + 1);
    while left > 0 {
        rules.push(format!("{} 1000/{}h", quotalock::ALGORITHMS[left % 5].name(), 1 + rules.len()));
        left /= 5;
    }
    Policy::parse(&rules.join(";")).unwrap()
}

#[test]
fn a_thousand_kinds_of_policies_need_few_scripts() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("kept"));
        let told = || (info(&url, "number_of_cached_scripts"), info(&url, "used_memory_scripts"));
        let (before, resident_before) = (told(), resident());
        let limiters: Vec<Limiter> = (0..KINDS).map(|n| client.limiter(&n.to_string(), policy(n)).unwrap()).collect();
        for (n, limiter) in limiters.iter().enumerate() {
            assert!(limiter.consume(b"k", 1).unwrap().run().unwrap().allowed);
            // Sets of one to four kinds, each set another one.
            let others = (0..=n % 4).map(|step| &limiters[(n + step * (n + 7)) % KINDS]);
            let mut charges: Vec<Charge> = others.map(|limiter| Charge { limiter, key: b"all", cost: 1 }).collect();
            charges.sort_by_key(|charge| charge.limiter.name().to_owned());
            charges.dedup_by_key(|charge| charge.limiter.name().to_owned());
            let id = n.to_string();
            for id in [None, Some(id.as_bytes())] {
                assert!(client.consume_all(&charges, id).unwrap().run().unwrap().allowed);
            }
        }
        let after = told();
        let (scripts, bytes, grown) =
            (after.0 - before.0, after.1.saturating_sub(before.1), resident().saturating_sub(resident_before));
        println!("{name}: {scripts} scripts of {bytes} bytes, {grown} bytes in this process");
        assert!(scripts <= MOST_SCRIPTS && bytes <= MOST_BYTES, "{name}: {scripts} scripts of {bytes} bytes");
        assert!(grown <= MOST_BYTES, "{grown} bytes more in this process");
    }
}
