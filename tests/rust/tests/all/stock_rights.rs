//! Who lacks a right that a sale takes later on does not open one, and is told so.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use quotalock::{Code, Opening, StockOptions};
use quotalock_tests::operator::command;
use quotalock_tests::{client, fresh_prefix, servers};

/// What writes a sale, or is asked for between two writes.
const NEEDED: &str = "hset hincrby hdel hget hscan pexpire set del zadd zrem zrange xadd xtrim";
/// What only looks, or is asked for before anything is written.
const READING: &str = "get hmget zscore zrank zcard zrangebyscore xlen xrange";

/// What a server answers to a command in one line.
fn ask(url: &str, words: &[&str]) -> String {
    let mut connection = TcpStream::connect(url.strip_prefix("redis://").unwrap()).unwrap();
    connection.write_all(format!("{}\r\n", words.join(" ")).as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

#[test]
fn who_lacks_a_right_opens_nothing() {
    for (server, url) in servers() {
        let (prefix, address) = (fresh_prefix("rights"), url.trim_start_matches("redis://"));
        let own = client(&url, &prefix);
        for lacking in NEEDED.split(' ').chain([""]) {
            // Valkey names the user in a refusal, beside the words for a mistake.
            let user = format!("integer-arguments-{prefix}-{lacking}");
            let rights: Vec<String> = format!("eval evalsha time {NEEDED} {READING}")
                .split(' ')
                .filter(|right| *right != lacking)
                .map(|right| format!("+{right}"))
                .collect();
            let mut words = vec!["ACL", "SETUSER", &user, "on", ">secret", "~*", "&*", "nocommands"];
            words.extend(rights.iter().map(String::as_str));
            command(&url, &words);
            let poor = client(&format!("redis://{user}:secret@{address}"), &prefix);
            for before in ["nothing", "a ledger", "something else"] {
                let name = format!("{lacking}-{}", before.replace(' ', "-"));
                let [own, poor] =
                    [&own, &poor].map(|client| client.stock(name.as_bytes(), StockOptions::default()).unwrap());
                let keys: Vec<&str> = own.redis_keys().iter().map(|key| std::str::from_utf8(key).unwrap()).collect();
                match before {
                    "a ledger" => {
                        own.open(3, Opening::default()).unwrap().run().unwrap();
                        assert_eq!(ask(&url, &["DEL", keys[0], keys[1]]), ":1");
                    }
                    "something else" => command(&url, &["HSET", keys[0], "", "other", "-", "1"]),
                    _ => {}
                }
                let state = || {
                    [["HLEN", keys[0]], ["EXISTS", keys[1]], ["XLEN", keys[2]]]
                        .map(|asked: [&str; 2]| ask(&url, &asked))
                };
                let stood = state();
                let opening = Opening { prizes: vec![b"p".to_vec(); 3], ..Opening::default() };
                let opened = poor.open(3, opening).unwrap().run();
                if lacking.is_empty() {
                    assert!(opened.is_ok(), "{server}, {before}: {opened:?}");
                    continue;
                }
                let error = opened.err().unwrap();
                assert_eq!(error.code(), Code::NotPermitted, "{server}, {before}, without {lacking}: {error}");
                assert!(error.message().contains(&format!("SETUSER <user> +{lacking}")), "{server}, {before}: {error}");
                assert_eq!(state(), stood, "{server}, {before}, without {lacking}");
            }
        }
    }
}
