//! What the Rust tests share: the spec, and the servers that the harness started.

pub mod caches;
pub mod definitions;
pub mod elsewhere;
pub mod futures;
pub mod gate;
pub mod longer;
pub mod operator;
pub mod own_server;
pub mod puppets;
pub mod spec;
pub mod stalls;
pub mod twins;

use quotalock::{Client, Code, Error, OnError, Options};

/// A server that stands alone and may be slow, as that of `tests/harness/lua54.py`.
pub const ELSEWHERE: &str = "elsewhere";

/// A client of a store, with a prefix of its own.
pub fn client(url: &str, prefix: &str) -> Client {
    let options = Options {
        url: Some(url.into()),
        prefix: prefix.into(),
        // Tests share two cores with builds and other suites: an answer may take its time, a wrong one may not come.
        timeout: std::time::Duration::from_secs(10),
        on_error: OnError::Raise,
        ..Options::default()
    };
    Client::new(options).unwrap()
}

/// Whether a call failed because no server did its work. Which of the two codes it is depends on where the call was when its time
/// ended: the last of its tries may be on its way then.
pub fn is_away(error: &Error) -> bool {
    matches!(error.code(), Code::Unavailable | Code::Timeout)
}

/// Every store, by name: `memory` and the servers of the harness.
pub fn stores() -> Vec<(String, String)> {
    let mut all = vec![("memory".to_owned(), "memory://".to_owned())];
    all.extend(servers());
    all
}

/// The clusters that `tests/harness/with_servers.py` started; the stand-in for rented servers has none.
///
/// # Panics
/// If it did not: a missing cluster is a failure, not a skip.
pub fn clusters() -> Vec<(String, String)> {
    let given = std::env::var("QUOTALOCK_TEST_CLUSTERS").expect("QUOTALOCK_TEST_CLUSTERS is missing");
    let clusters: std::collections::BTreeMap<String, String> = serde_json::from_str(&given).unwrap();
    let has_none = only().is_some() || servers().iter().any(|(name, _)| name == ELSEWHERE);
    let expected: &[&str] = if has_none { &[] } else { &["cluster-7.0", "cluster-9.1"] };
    assert_eq!(clusters.keys().collect::<Vec<_>>(), expected);
    clusters.into_iter().collect()
}

/// The one server that there is, if the tests were asked to run on one.
fn only() -> Option<String> {
    std::env::var("QUOTALOCK_TEST_ONLY").ok()
}

/// The servers that `tests/harness/with_servers.py` started.
///
/// # Panics
/// If it did not: a missing server is a failure, not a skip.
pub fn servers() -> Vec<(String, String)> {
    let given = std::env::var("QUOTALOCK_TEST_SERVERS")
        .expect("QUOTALOCK_TEST_SERVERS is missing: run `make test SUITE=rust` or tests/harness/with_servers.py");
    let servers: std::collections::BTreeMap<String, String> = serde_json::from_str(&given).unwrap();
    let only = only();
    for name in only.as_deref().map_or(vec!["redis-7.0", "redis-6.2", "valkey-9.1"], |only| vec![only]) {
        assert!(servers.contains_key(name) || servers.contains_key(ELSEWHERE), "{name} is missing among the servers");
    }
    servers.into_iter().collect()
}

/// A prefix that no other test of this run uses.
pub fn fresh_prefix(what: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("t{}-{}-{what}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Each file and folder next to a `main.rs`, whose text this is, is a module of it.
///
/// # Panics
/// If one is not: nobody would run its tests.
pub fn assert_all_are_modules(folder: &str, main: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(name == "main" || main.contains(&format!("\nmod {name};\n")), "{name} is no module of main.rs");
    }
}
