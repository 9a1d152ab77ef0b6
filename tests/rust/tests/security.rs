//! Every feature works with the rights that SECURITY.md lists for it, and none of them is listed in vain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use quotalock::reports::Report;
use quotalock::testing;
use quotalock::{
    CacheOptions, Client, Code, Error, Got, Lock, LockOptions, OnceOptions, Opening, Policy, Result, StockOptions,
};
use quotalock_tests::operator::{ask, command, login, nodes, refused, rights, rights_at, takes_setinfo};
use quotalock_tests::spec::root;
use quotalock_tests::{client, clusters, fresh_prefix, servers};

const HOUR: u64 = 3_600_000_000;
const SOON: Duration = Duration::from_secs(4);
/// Two tests have servers forget their scripts, which the other would give them again: one at a time.
static FORGETS: Mutex<()> = Mutex::new(());

/// The features and the rights that the table lists for each.
fn features() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let table = text.split("| for | rights |\n|---|---|\n").nth(1).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (cells[1].to_owned(), cells[2].trim_matches('`').split(' ').map(str::to_owned).collect())
    };
    table.lines().take_while(|line| line.starts_with('|')).map(row).collect()
}

/// What a feature needs: its own rights, those of what it is part of, and what everything needs.
fn needed(feature: &str) -> Vec<String> {
    let of = features();
    let part_of = if feature.contains("lock") { "locks" } else { "everything" };
    let mut all = vec!["on", ">secret", "resetkeys", "~ql:*", "resetchannels", "nocommands"];
    all.extend([feature, part_of, "everything"].iter().flat_map(|name| &of[*name]).map(String::as_str));
    all.into_iter().map(str::to_owned).collect()
}

/// Uses a feature in every way that takes another command. What is not refused by an ACL went well.
fn used(feature: &str, urls: &[String], prefix: &str) -> Result<()> {
    let client = client(&urls[0], prefix);
    match feature {
        "everything" => limits(&client, "5/h"),
        "limiters with a `sliding-log` in one of their policies" => limits(&client, "sliding-log 5/h"),
        "a database other than 0" => limits(&self::client(&format!("{}/1", urls[0]), prefix), "5/h"),
        "locks" => lock(&client),
        "`replicas_ack` of locks" => {
            let options = LockOptions { replicas_ack: 1, ack_timeout: 1_000, ..LockOptions::default() };
            client.lock(b"acknowledged", options)?.acquire(Duration::ZERO)?.run().map(drop)
        }
        "a lock over several servers" => {
            let clients: Vec<Client> = urls.iter().map(|url| self::client(url, prefix)).collect();
            // Servers that are younger than a ttl have no vote.
            let options = LockOptions { ttl: 900_000, ..LockOptions::default() };
            let lock = Lock::quorum(&clients, b"most", options)?;
            // What a server has against it is told with the lock that was not acquired.
            if lock.acquire(SOON)?.run()? { lock.release().run().map(drop) } else { Err(lock.not_acquired()) }
        }
        "caches and `once`" => cache(&client),
        "stocks" => stock(&client),
        "reports (`report`)" => {
            let report = Report::read(b"1-0", &[("v", "1"), ("host", "h"), ("pid", "1"), ("ms", "1000")]).unwrap();
            testing::reports::append(&client, &report).run().map(drop)
        }
        other => panic!("SECURITY.md has a feature that is not tested: {other}"),
    }
}

fn limits(client: &Client, policy: &str) -> Result<()> {
    let limiter = client.limiter("n", Policy::parse(policy)?)?;
    for _ in 0..3 {
        limiter.consume(b"k", 1)?.run()?;
    }
    limiter.refund(b"k", 1)?.run()?;
    limiter.block(b"k", 1_000_000)?.run()?;
    assert!(limiter.reset(b"k")?.run()?);
    Ok(())
}

fn lock(client: &Client) -> Result<()> {
    let options = || LockOptions { ttl: 20_000_000, ..LockOptions::default() };
    let [first, second] = [client.lock(b"n", options())?, client.lock(b"n", options())?];
    assert!(first.acquire(Duration::ZERO)?.run()?);
    let acquiring = second.acquire(SOON)?;
    let waiter = std::thread::spawn(move || acquiring.run());
    while first.inspect().run()?.waiters == 0 && !waiter.is_finished() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (released, told) = (first.release().run(), Instant::now());
    let waited = waiter.join().unwrap();
    first.force_release().run()?;
    assert!(released? && waited?);
    // It was told, and did not have to ask.
    assert!(told.elapsed() < SOON, "nobody told the waiter");
    Ok(())
}

fn cache(client: &Client) -> Result<()> {
    let cache = client.cache("n", CacheOptions::default())?;
    let Got::Load(ticket) = cache.get(b"k", Duration::ZERO)?.run()? else { panic!("no ticket") };
    let getting = cache.get(b"k", SOON)?;
    let waiter = std::thread::spawn(move || getting.run());
    std::thread::sleep(Duration::from_millis(50));
    let filled = ticket.fill(Some(vec![b'v'; 9_000]))?.run();
    let waited = waiter.join().unwrap();
    assert!(filled? && matches!(waited?, Got::Found(_)));
    assert!(cache.invalidate(b"k")?.run()?);
    // One that is stale is loaded again, and kept meanwhile.
    let brief = client.cache("m", CacheOptions { fresh: 1_000, stale: 60_000_000, ..CacheOptions::default() })?;
    brief.put(b"k", Some(vec![b'v'; 9_000]))?.run()?;
    std::thread::sleep(Duration::from_millis(5));
    brief.get(b"k", Duration::ZERO)?.run()?;
    let once = client.once("n", OnceOptions::default())?;
    assert!(once.claim(b"k", Some(vec![b'v'; 9_000]))?.run()?.first);
    assert!(!once.claim(b"k", None)?.run()?.first);
    Ok(())
}

fn stock(client: &Client) -> Result<()> {
    let stock = client.stock(b"n", StockOptions::default())?;
    let opening = Opening { per_buyer: Some(9), prizes: vec![b"p".to_vec(); 9], ..Opening::default() };
    stock.open(9, opening)?.run()?;
    stock.restock(1, &[b"p".to_vec()], None)?.run()?;
    let taken: Vec<_> = (0..4)
        .map(|n| Ok(stock.take(b"b", 1, HOUR, (n == 0).then_some(b"request"))?.run()?.reservation.unwrap().id))
        .collect::<Result<_>>()?;
    let page = stock.reservations(None, 1)?.run()?;
    stock.reservations(page.next.as_deref(), 1)?.run()?;
    assert!(stock.extend(&taken[0], HOUR)?.run()? && stock.confirm(&taken[0])?.run()?);
    assert!(stock.cancel(&taken[1])?.run()?);
    stock.status().run()?;
    stock.ledger(None, 9)?.run()?;
    assert!(stock.close()?.run()?);
    Ok(())
}

/// Fails unless the error names the right.
fn assert_names(error: &Error, right: &str, place: &str) {
    let code = if right == "+info" { Code::NotAcquired } else { Code::NotPermitted };
    assert_eq!(error.code(), code, "{place}: {error}");
    assert!(error.message().contains(&format!("ACL SETUSER <user> {right}")), "{place}: {error}");
}

#[test]
fn the_table_and_the_line_are_the_same() {
    let commands = |words: &[String]| words.iter().filter(|word| word.starts_with('+')).cloned().collect();
    let line: BTreeSet<String> = commands(&rights()[0].1);
    let table: Vec<String> = features().into_values().flatten().collect();
    assert_eq!(line, commands(&table));
}

#[test]
fn every_right_of_a_server_is_needed_and_enough() {
    let _forgets = FORGETS.lock();
    std::thread::scope(|scope| {
        for at in 0..servers().len() {
            scope.spawn(move || {
                // One over several servers uses all of them anyway.
                let features = features().into_iter().filter(|(feature, _)| at == 0 || !feature.contains("several"));
                features.for_each(|(feature, own)| every_right_is_needed_and_enough(&feature, &own, at));
            });
        }
    });
}

fn every_right_is_needed_and_enough(feature: &str, own: &[String], at: usize) {
    let servers = servers();
    let (store, url) = &servers[at];
    for lacking in [""].into_iter().chain(own.iter().map(String::as_str)) {
        let prefix = fresh_prefix("security");
        let words: Vec<String> = needed(feature).into_iter().filter(|word| *word != lacking).collect();
        let mut urls: Vec<String> = servers.iter().map(|(_, url)| login(url, &prefix, &prefix, &words)).collect();
        urls.swap(0, at);
        if lacking == "+eval" {
            command(url, &["SCRIPT", "FLUSH"]);
        }
        let done = used(feature, &urls, &prefix);
        let place = format!("{feature} on {store} without {lacking}");
        match lacking {
            "" => {
                assert!(done.is_ok(), "{place}: {:?}", done.err());
                // Those of names are not among them.
                let denied = refused(url, &prefix);
                assert!(denied.iter().all(|object| object.starts_with("client")), "{place}: {denied:?}");
            }
            _ if lacking.starts_with('&') => assert_eq!(done.expect_err(&place).code(), Code::NotPermitted, "{place}"),
            _ => assert_names(&done.expect_err(&place), lacking, &place),
        }
    }
}

#[test]
fn who_sells_what_another_opened_is_told_which_right_lacks() {
    let _forgets = FORGETS.lock();
    for (store, url) in servers() {
        let prefix = fresh_prefix("security");
        let rich = client(&login(&url, &prefix, &prefix, &needed("stocks")), &prefix);
        for (at, right) in needed("stocks").iter().filter(|word| word.starts_with('+')).enumerate() {
            let words: Vec<String> = needed("stocks").into_iter().filter(|word| word != right).collect();
            let user = format!("{prefix}-{at}");
            let poor = client(&login(&url, &user, &prefix, &words), &prefix);
            if right == "+eval" {
                command(&url, &["SCRIPT", "FLUSH"]);
            }
            let stocks = [&rich, &poor].map(|client| {
                let options = || StockOptions { scope: Some(b"s".to_vec()), ..StockOptions::default() };
                ["a", "b"].map(|name| client.stock(format!("{name}{at}").as_bytes(), options()).unwrap())
            });
            let [[own, other], [stock, second]] = &stocks;
            let prizes = || Opening { per_buyer: Some(9), prizes: vec![b"p".to_vec(); 9], ..Opening::default() };
            own.open(9, Opening { prizes: Vec::new(), ..prizes() }).unwrap().run().unwrap();
            other.open(9, prizes()).unwrap().run().unwrap();
            let held: Vec<String> = [own, other]
                .iter()
                .flat_map(|stock| (0..4).map(|_| stock.take(b"c", 1, HOUR, None).unwrap().run().unwrap()))
                .map(|taken| taken.reservation.unwrap().id)
                .collect();
            let sold: Vec<Error> = [
                stock.take(b"b", 1, HOUR, None).unwrap().run().err(),
                stock.take(b"b", 1, HOUR, Some(b"request")).unwrap().run().err(),
                second.take(b"b", 1, HOUR, None).unwrap().run().err(),
                poor.take_all(&[(stock, 1), (second, 1)], b"b", HOUR, None).unwrap().run().err(),
                stock.extend(&held[0], HOUR).unwrap().run().err(),
                stock.confirm(&held[0]).unwrap().run().err(),
                stock.cancel(&held[1]).unwrap().run().err(),
                second.confirm(&held[4]).unwrap().run().err(),
                second.cancel(&held[5]).unwrap().run().err(),
                stock.restock(1, &[], None).unwrap().run().err(),
                stock.status().run().err(),
                stock.reservations(None, 1).unwrap().run().err(),
                stock.ledger(None, 9).unwrap().run().err(),
                stock.close().unwrap().run().err(),
                second.close().unwrap().run().err(),
            ]
            .into_iter()
            .flatten()
            .collect();
            sold.iter().for_each(|error| assert_names(error, right, &store));
        }
    }
}

/// Asks for a key whose slot is on its way from one server of a cluster to another.
fn asked_on_the_way(url: &str, as_user: &str, prefix: &str) -> Result<()> {
    let client = client(as_user, prefix);
    let limiter = client.limiter("moves", Policy::parse("5/h")?)?;
    let key = String::from_utf8(limiter.redis_key(b"moves")?).unwrap();
    // The map is known before.
    limiter.reset(b"moves")?.run()?;
    let nodes = nodes(url);
    let slot = ask(&nodes[0], &["CLUSTER", "KEYSLOT", &key]).trim_start_matches(':').to_owned();
    let set = |at: usize, words: &[&str]| ask(&nodes[at], &[&["CLUSTER", "SETSLOT", &slot], words].concat()) == "+OK";
    let id = |at: usize| ask(&nodes[at], &["CLUSTER", "MYID"]).lines().last().unwrap().to_owned();
    let from = (0..nodes.len()).find(|at| set(*at, &["MIGRATING", &id((at + 1) % nodes.len())])).unwrap();
    let to = (from + 1) % nodes.len();
    assert!(set(to, &["IMPORTING", &id(from)]));
    let done = limiter.consume(b"moves", 1)?.run();
    // Whom it moves to is told first, so that there is always one who has it.
    for at in (0..nodes.len()).map(|n| (to + n) % nodes.len()) {
        let answer = ask(&nodes[at], &["CLUSTER", "SETSLOT", &slot, "NODE", &id(to)]);
        assert_eq!(answer, "+OK", "slot {slot} at {}", nodes[at]);
    }
    // A server that has keys of a slot does not give it away: the next move begins without them.
    let all = self::client(url, prefix).limiter("moves", Policy::parse("5/h")?)?;
    all.reset(b"moves")?.run()?;
    done.map(drop)
}

#[test]
fn every_right_of_a_cluster_is_needed_and_enough() {
    for (store, url) in clusters() {
        let words = rights_at(&store, &url);
        for lacking in [
            "",
            "+cluster|slots",
            "+cluster|info",
            "+asking",
            "+ssubscribe",
            "+spublish",
            "+client|setname",
            "+client|setinfo",
        ] {
            let prefix = fresh_prefix("security");
            let words: Vec<String> = words.iter().filter(|word| *word != lacking).cloned().collect();
            let as_user = login(&url, &prefix, &prefix, &words);
            let place = format!("{store} without {lacking}");
            let mut done = asked_on_the_way(&url, &as_user, &prefix);
            for feature in
                features().into_keys().filter(|feature| !feature.contains("several") && !feature.contains("database"))
            {
                done = done.and_then(|()| used(&feature, std::slice::from_ref(&as_user), &prefix));
            }
            let denied: Vec<String> = refused(&url, &prefix).into_iter().collect();
            match lacking {
                "+cluster|slots" | "+asking" => assert_names(&done.expect_err(&place), lacking, &place),
                "" => assert!(done.is_ok() && denied.is_empty(), "{place}: {done:?}, {denied:?}"),
                // There is a way around, but the server notes that it refused.
                _ => {
                    assert!(done.is_ok(), "{place}: {done:?}");
                    let is_unknown = lacking == "+client|setinfo" && !takes_setinfo(&url);
                    let expected = if is_unknown { vec![] } else { vec![lacking.trim_start_matches('+')] };
                    assert_eq!(denied, expected, "{place}");
                }
            }
        }
    }
}
