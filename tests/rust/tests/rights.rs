//! The rights that SECURITY.md asks for are those that the scripts use.

use std::collections::BTreeSet;

use quotalock_tests::spec::root;

/// The commands that a script calls, in lower case.
fn called(script: &str) -> BTreeSet<String> {
    let calls = script.split("redis.call('").skip(1);
    calls.map(|rest| rest.split('\'').next().unwrap().to_lowercase()).collect()
}

#[test]
fn security_lists_exactly_the_commands_of_the_scripts() {
    let mut needed = BTreeSet::from(["eval".to_owned(), "evalsha".to_owned(), "select".to_owned()]);
    needed.extend(quotalock::scripts().iter().flat_map(|(_, script)| called(script)));
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let words = text.split(|c: char| c.is_whitespace() || c == '`' || c == ',' || c == '.');
    let listed: BTreeSet<String> = words.filter_map(|word| word.strip_prefix('+')).map(str::to_owned).collect();
    assert_eq!(listed, needed);
}

#[test]
fn only_a_log_and_a_lock_need_more_than_get_set_and_del() {
    let usual = ["del", "get", "set", "time"].map(str::to_owned);
    for (name, script) in quotalock::scripts() {
        let more: Vec<String> = called(&script).into_iter().filter(|command| !usual.contains(command)).collect();
        let wakes = name.starts_with("lease-") && more == ["publish"];
        assert!(more.is_empty() || wakes || name.contains("sliding-log") || name.starts_with("consume-all"), "{name}");
    }
}
