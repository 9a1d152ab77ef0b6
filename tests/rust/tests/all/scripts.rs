//! `tests/spec/scripts` holds every script as the server gets it, so that a reviewer reads what the server runs.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use quotalock::{LockOptions, Policy, StockOptions};
use quotalock_tests::{client, fresh_prefix, servers};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/scripts");

#[test]
fn committed_scripts_are_those_that_are_composed() {
    let folder = Path::new(FOLDER);
    let mut differ = Vec::new();
    let mut committed: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".lua"))
        .collect();
    for (name, text) in quotalock::scripts() {
        let name = format!("{name}.lua");
        committed.remove(&name);
        match fs::read_to_string(folder.join(&name)) {
            Ok(there) if there == text => {}
            Ok(there) => {
                let same = there.lines().zip(text.lines()).take_while(|(there, composed)| there == composed).count();
                differ.push(format!("tests/spec/scripts/{name} differs from line {}", same + 1));
            }
            Err(error) => differ.push(format!("tests/spec/scripts/{name}: {error}")),
        }
    }
    differ.extend(committed.into_iter().map(|name| format!("tests/spec/scripts/{name} is no script any more")));
    assert!(differ.is_empty(), "{}\nrun `make scripts`, and read what changed", differ.join("\n"));
}

/// What a server answers to a command, as its bytes.
fn answer(url: &str, command: &[&str]) -> String {
    let mut connection = TcpStream::connect(url.trim_start_matches("redis://")).unwrap();
    let mut sent = format!("*{}\r\n", command.len());
    command.iter().for_each(|part| sent.push_str(&format!("${}\r\n{part}\r\n", part.len())));
    sent.push_str("*1\r\n$4\r\nQUIT\r\n");
    connection.write_all(sent.as_bytes()).unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).unwrap();
    text
}

/// Whether a server was given the script that is committed under this name.
fn knows(url: &str, name: &str) -> bool {
    let text = fs::read_to_string(Path::new(FOLDER).join(format!("{name}.lua"))).unwrap();
    let sha = answer(url, &["EVAL", "return redis.sha1hex(ARGV[1])", "0", &text]);
    let sha = sha.lines().nth(1).unwrap();
    answer(url, &["SCRIPT", "EXISTS", sha]).contains(":1")
}

#[test]
fn committed_scripts_are_what_a_server_gets() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("scripts"));
        let policy = |policy: &str| Policy::parse(policy).unwrap();
        let mut asked = Vec::new();
        for algorithm in quotalock::ALGORITHMS {
            let policy = policy(&format!("{} 5/minute", algorithm.name()));
            client.limiter("one", policy).unwrap().consume(b"k", 1).unwrap().run().unwrap();
            asked.push(format!("consume-{}", algorithm.name()));
        }
        let every: Vec<String> = quotalock::ALGORITHMS.iter().map(|a| format!("{} 5/minute", a.name())).collect();
        client.limiter("every", policy(&every.join(";"))).unwrap().consume(b"k", 1).unwrap().run().unwrap();
        client.lock(b"scripts", LockOptions::default()).unwrap().inspect().run().unwrap();
        client.stock(b"scripts", StockOptions::default()).unwrap().status().run().unwrap();
        asked.extend(["consume-any", "lease-inspect", "stock-status"].map(String::from));
        for script in asked {
            assert!(knows(&url, &script), "{name} was not given tests/spec/scripts/{script}.lua");
        }
    }
}
