//! The rights that SECURITY.md asks for are those that the scripts use, and enough for locks.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use quotalock::{CacheOptions, Code, Got, Lock, LockOptions, OnceOptions, Policy};
use quotalock_tests::spec::listed;
use quotalock_tests::{client, fresh_prefix, servers};

/// The commands that a script calls, in lower case.
fn called(script: &str) -> BTreeSet<String> {
    // `redis.pcall` too.
    let calls = script.split("call('").skip(1);
    calls.map(|rest| rest.split('\'').next().unwrap().to_lowercase()).collect()
}

#[test]
fn security_lists_exactly_the_commands_of_the_scripts() {
    // What is no script: waiting for hints, for replicas, and asking how old a server is.
    let others = ["eval", "evalsha", "select", "subscribe", "wait", "info", "role", "client|setname", "client|setinfo"];
    let elsewhere = ["ssubscribe", "asking", "cluster|slots", "cluster|info", "sentinel|get-master-addr-by-name"];
    let mut needed: BTreeSet<String> = others.iter().chain(&elsewhere).map(|name| (*name).to_owned()).collect();
    needed.extend(quotalock::scripts().iter().flat_map(|(_, script)| called(script)));
    assert_eq!(listed("SECURITY.md"), needed);
}

#[test]
fn most_scripts_need_little_more_than_get_set_and_del() {
    let usual = ["del", "get", "set", "time"].map(str::to_owned);
    for (name, script) in quotalock::scripts() {
        let more: Vec<String> = called(&script).into_iter().filter(|command| !usual.contains(command)).collect();
        // A log is written in part, also that of another policy of the name. Other policies only read.
        let logs = ["getrange", "pexpire", "setrange"];
        let is_limit = more.contains(&"getrange".to_owned()) && more.iter().all(|c| logs.contains(&c.as_str()));
        let is_lock =
            name.starts_with("lease") && more == ["publish", "spublish"] || name == "lock-age" && more == ["info"];
        let ranges = ["getrange", "pexpire", "publish", "setrange", "spublish", "strlen"];
        let is_flight =
            name.starts_with("single-flight") && more.iter().all(|command| ranges.contains(&command.as_str()));
        let is_other = name.starts_with("stock") || name.starts_with("reports");
        assert!(more.is_empty() || is_limit || is_lock || is_flight || is_other, "{name}: {more:?}");
    }
}

#[test]
fn the_guides_of_stocks_and_caches_list_what_their_scripts_call() {
    for (file, family, more) in [
        ("docs/guide/stock-failures.md", "stock-", &["eval", "evalsha", "select"][..]),
        ("docs/guide/cache.md", "single-flight-", &["eval", "evalsha", "select", "subscribe"]),
    ] {
        let mut needed: BTreeSet<String> = more.iter().map(|command| (*command).to_owned()).collect();
        let scripts = quotalock::scripts();
        needed
            .extend(scripts.iter().filter(|(name, _)| name.starts_with(family)).flat_map(|(_, script)| called(script)));
        // That is for clusters, and their guide names it.
        needed.remove("spublish");
        assert_eq!(listed(file), needed, "{file}");
    }
}

#[test]
fn what_the_guide_lists_is_enough_for_locks() {
    let given = listed("docs/guide/lock-failures.md");
    assert!(given.is_subset(&listed("SECURITY.md")), "{given:?}");
    let prefix = fresh_prefix("rights");
    let limited: Vec<String> = servers()
        .iter()
        .map(|(_, url)| {
            let address = url.strip_prefix("redis://").unwrap();
            let rights: Vec<String> = given.iter().map(|command| format!("+{command}")).collect();
            command(
                address,
                &format!(
                    "ACL SETUSER {prefix} on >secret resetkeys ~{prefix}:* resetchannels &{prefix}:wake:* nocommands {}",
                    rights.join(" ")
                ),
            );
            format!("redis://{prefix}:secret@{address}")
        })
        .collect();
    let clients: Vec<_> = limited.iter().map(|url| client(url, &prefix)).collect();
    for client in &clients {
        let [first, second] = [(); 2].map(|()| client.lock(b"n", LockOptions::default()).unwrap());
        assert!(first.acquire(Duration::ZERO).unwrap().run().unwrap());
        assert_eq!(first.inspect().run().unwrap().holders.len(), 1);
        let waiter = std::thread::spawn(move || second.acquire(Duration::from_secs(20)).unwrap().run().unwrap());
        // Who waits has subscribed before.
        let give_up = Instant::now() + Duration::from_secs(20);
        while first.inspect().run().unwrap().waiters == 0 {
            assert!(Instant::now() < give_up, "nobody waits");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(first.extend(None).unwrap().run().unwrap() && first.release().run().unwrap());
        assert!(waiter.join().unwrap());
    }
    // Servers that are younger than a ttl have no vote.
    let options = LockOptions { ttl: 900_000, ..LockOptions::default() };
    let quorum = Lock::quorum(&clients, b"most", options).unwrap();
    assert!(quorum.acquire(Duration::from_secs(20)).unwrap().run().unwrap());
}

/// A user with some rights, on each server.
fn users(prefix: &str, rights: &str) -> Vec<String> {
    let user = |(_, url): (String, String)| {
        let address = url.strip_prefix("redis://").unwrap();
        let keys = format!("resetkeys ~{prefix}:* resetchannels &{prefix}:wake:*");
        command(address, &format!("ACL SETUSER {prefix} on >secret {keys} nocommands +eval +evalsha +time {rights}"));
        format!("redis://{prefix}:secret@{address}")
    };
    servers().into_iter().map(user).collect()
}

#[test]
fn caches_need_what_security_lists_for_them() {
    let rights = "+get +set +del +getrange +setrange +strlen +pexpire +publish";
    let (deaf, hearing) = (fresh_prefix("rights"), fresh_prefix("rights"));
    let (deaf_users, hearing_users) = (users(&deaf, rights), users(&hearing, &format!("{rights} +subscribe")));
    for (url, prefix) in
        hearing_users.iter().map(|url| (url, &hearing)).chain(deaf_users.iter().map(|url| (url, &deaf)))
    {
        let client = client(url, prefix);
        let cache = client.cache("home", CacheOptions::default()).unwrap();
        let Ok(Got::Load(ticket)) = cache.get(b"x", Duration::ZERO).unwrap().run() else { panic!("no ticket") };
        let waiters: Vec<_> = (0..6)
            .map(|n| {
                let getting = cache.get(b"x", Duration::from_secs(20)).unwrap();
                std::thread::spawn(move || match n % 2 {
                    0 => getting.run(),
                    _ => getting.run_among_threads(&mut || false),
                })
            })
            .collect();
        // A waiter that cannot listen gives up by itself. It must do so before there is a value, or it would find that.
        let give_up = Instant::now() + Duration::from_secs(20);
        while prefix == &deaf && !waiters.iter().all(|waiter| waiter.is_finished()) {
            assert!(Instant::now() < give_up, "who cannot listen waits");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(200));
        assert!(ticket.fill(Some(b"v".to_vec())).unwrap().run().unwrap());
        for waiter in waiters {
            match waiter.join().unwrap() {
                Ok(Got::Found(_)) => assert_eq!(prefix, &hearing),
                Err(error) => {
                    assert_eq!((error.code(), prefix), (Code::NotPermitted, &deaf), "{error}");
                    assert!(error.message().contains("+subscribe"), "{error}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(cache.invalidate(b"x").unwrap().run().unwrap());
        let once = client.once("coupon", OnceOptions::default()).unwrap();
        assert!(once.claim(b"x", Some(vec![b'x'; 9_000])).unwrap().run().unwrap().first);
        assert!(!once.claim(b"x", None).unwrap().run().unwrap().first);
    }
}

#[test]
fn a_command_that_is_lacking_is_named_on_every_server() {
    for lacking in ["evalsha", "time", "getrange", "set"] {
        let prefix = fresh_prefix("rights");
        for url in users(&prefix, &format!("+getrange +set -{lacking}")) {
            let client = client(&url, &prefix);
            let limiter = client.limiter("n", Policy::parse("5/hour").unwrap()).unwrap();
            let error = limiter.consume(b"k", 1).unwrap().run().unwrap_err();
            assert_eq!(error.code(), Code::NotPermitted, "{error}");
            assert!(error.message().contains(&format!("ACL SETUSER <user> +{lacking}")), "{error}");
        }
    }
}

#[test]
fn a_channel_that_is_lacking_is_a_right_on_every_server() {
    let prefix = fresh_prefix("rights");
    let rights = "+get +set +del +publish resetchannels";
    for (mute, (_, url)) in users(&prefix, rights).into_iter().zip(servers()) {
        let lock = |url: &str| client(url, &prefix).lock(b"n", LockOptions::default()).unwrap();
        let (first, second) = (lock(&mute), lock(&url));
        assert!(first.acquire(Duration::ZERO).unwrap().run().unwrap());
        let waiter = std::thread::spawn(move || second.acquire(Duration::from_secs(20)).unwrap().run().unwrap());
        let give_up = Instant::now() + Duration::from_secs(20);
        while first.inspect().run().unwrap().waiters == 0 {
            assert!(Instant::now() < give_up, "nobody waits");
            std::thread::sleep(Duration::from_millis(5));
        }
        let error = first.release().run().unwrap_err();
        assert_eq!(error.code(), Code::NotPermitted, "{error}");
        assert!(error.message().contains("channel"), "{error}");
        assert!(waiter.join().unwrap());
    }
}

fn command(address: &str, words: &str) {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(format!("{words}\r\n").as_bytes()).unwrap();
    let mut reply = [0; 5];
    connection.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+OK\r\n", "{words}");
}
