//! Who waits in a cluster is told by the server that has the slot, and no other, and wherever the slot is by then.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use quotalock::{Lock, LockOptions};
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{client, clusters, fresh_prefix};

/// One test at a time moves slots.
static ALONE: Mutex<()> = Mutex::new(());
/// Who stands in a line looks again after 0.8 s at least if it is told nothing.
const SOON: Duration = Duration::from_millis(600);
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection that speaks for itself.
struct Wire(TcpStream);

impl Wire {
    fn new(address: &str) -> Wire {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Wire(stream)
    }

    /// All lines up to the answer to a PING behind the command, which is one even while it listens.
    fn ask(&mut self, command: &str) -> String {
        self.0.write_all(format!("{command}\r\nPING over\r\n").as_bytes()).unwrap();
        let (mut said, mut buffer) = (String::new(), [0; 4096]);
        while !said.ends_with("over\r\n") {
            let count = self.0.read(&mut buffer).unwrap();
            said.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        said
    }
}

struct Bench {
    name: &'static str,
    prefix: String,
    url: String,
    addresses: Vec<String>,
    key: String,
    slot: String,
    owner: usize,
}

impl Bench {
    /// Slots move, so each test has a name of its own.
    fn new(url: &str, name: &'static str) -> Bench {
        let prefix = fresh_prefix("waits");
        let addresses: Vec<String> =
            url.strip_prefix("redis+cluster://").unwrap().split(',').map(str::to_owned).collect();
        let key = format!("{prefix}:lock:{{{name}}}");
        let said = Wire::new(&addresses[0]).ask(&format!("CLUSTER KEYSLOT {key}"));
        let slot = said.lines().next().unwrap()[1..].to_owned();
        let mut bench = Bench { name, prefix, url: url.to_owned(), addresses, key, slot, owner: 0 };
        let owns = |at: &usize| !bench.at(*at, &format!("GET {}", bench.key)).starts_with("-MOVED");
        bench.owner = (0..3).find(owns).unwrap();
        bench
    }

    fn at(&self, node: usize, command: &str) -> String {
        Wire::new(&self.addresses[node]).ask(command)
    }

    fn lock(&self) -> Lock {
        let options = LockOptions { ttl: 60_000_000, fair: true, ..LockOptions::default() };
        client(&self.url, &self.prefix).lock(self.name.as_bytes(), options).unwrap()
    }

    /// The channels of slots at which somebody listens at a server.
    fn channels(&self, node: usize) -> Vec<String> {
        let said = self.at(node, &format!("PUBSUB SHARDCHANNELS {}:wake:s*", self.prefix));
        said.lines().filter(|line| line.starts_with(&self.prefix)).map(str::to_owned).collect()
    }

    /// Returns once somebody is listed who is told by the server of the slot, and by no other.
    fn until_told(&self) {
        let is_told = || {
            let listed = self.at(self.owner, &format!("GET {}", self.key));
            let elsewhere = (0..3).any(|node| node != self.owner && !self.channels(node).is_empty());
            !elsewhere
                && self.channels(self.owner).iter().any(|channel| listed.contains(&channel[channel.len() - 16..]))
        };
        let give_up = Instant::now() + PATIENCE;
        while !is_told() {
            assert!(Instant::now() < give_up, "nobody is told");
            sleep(Duration::from_millis(5));
        }
    }

    /// One holds it, and another waits.
    fn waiting(&self, among_threads: bool) -> (Lock, JoinHandle<Instant>) {
        let (holder, waiter) = (self.lock(), self.lock());
        assert!(holder.acquire(PATIENCE).unwrap().run().unwrap());
        let thread = spawn(move || {
            let acquiring = waiter.acquire(PATIENCE).unwrap();
            let got = if among_threads { acquiring.run_among_threads(&mut || false) } else { acquiring.run() };
            assert!(got.unwrap());
            let now = Instant::now();
            assert!(waiter.release().run().unwrap());
            now
        });
        self.until_told();
        (holder, thread)
    }

    fn id(&self, node: usize) -> String {
        self.at(node, "CLUSTER MYID").lines().nth(1).unwrap().to_owned()
    }

    fn tell(&self, node: usize, command: &str) {
        let said = self.at(node, command);
        assert!(said.starts_with('+'), "{command}: {said}");
    }

    /// Moves the slot: its key, then, if it is to be finished, the slot.
    fn move_to(&mut self, to: usize, between: impl FnOnce()) {
        let (from, slot) = (self.owner, &self.slot);
        self.tell(to, &format!("CLUSTER SETSLOT {slot} IMPORTING {}", self.id(from)));
        self.tell(from, &format!("CLUSTER SETSLOT {slot} MIGRATING {}", self.id(to)));
        let (host, port) = self.addresses[to].split_once(':').unwrap();
        // Earlier tests have left theirs.
        let said = self.at(from, &format!("CLUSTER GETKEYSINSLOT {slot} 1000"));
        let keys: Vec<&str> = said.lines().filter(|line| line.contains('{')).collect();
        self.tell(from, &format!("MIGRATE {host} {port} \"\" 0 5000 KEYS {}", keys.join(" ")));
        between();
        for node in [to, from, 3 - to - from] {
            self.tell(node, &format!("CLUSTER SETSLOT {slot} NODE {}", self.id(to)));
        }
        self.owner = to;
        self.until_agreed();
    }

    /// Returns once all servers know with which epoch the slot was taken: who moves it on before that may take it with
    /// the same one, and then each believes another.
    fn until_agreed(&self) {
        let id = self.id(self.owner);
        let epoch = |node: usize| {
            let nodes = self.at(node, "CLUSTER NODES");
            let line = nodes.lines().find(|line| line.starts_with(&id)).unwrap_or_default();
            line.split(' ').nth(6).map(str::to_owned)
        };
        let is_agreed = || {
            (0..3).all(|node| {
                let is_elsewhere = self.at(node, &format!("GET {}", self.key)).starts_with("-MOVED");
                epoch(node) == epoch(self.owner) && is_elsewhere == (node != self.owner)
            })
        };
        let give_up = Instant::now() + PATIENCE;
        while !is_agreed() {
            assert!(Instant::now() < give_up, "the servers do not agree");
            sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn the_server_of_the_slot_alone_tells_and_is_followed() {
    let _alone = ALONE.lock();
    for (name, url) in clusters() {
        for among_threads in [false, true] {
            let mut bench = Bench::new(&url, "followed");
            let first = bench.owner;
            let mut others: Vec<Wire> = bench.addresses.iter().map(|address| Wire::new(address)).collect();
            for other in &mut others {
                other.ask(&format!("PSUBSCRIBE {}:wake:*", bench.prefix));
            }
            let (holder, waiter) = bench.waiting(among_threads);
            let (stalls, began) = (Stalls::watch(), Instant::now());
            assert!(holder.release().run().unwrap());
            assert!(waiter.join().unwrap() - began < SOON + stalls.lost(), "{name}");
            for to in [(first + 1) % 3, (first + 2) % 3, first] {
                let (holder, waiter) = bench.waiting(among_threads);
                bench.move_to(to, || {});
                bench.until_told();
                let (stalls, began) = (Stalls::watch(), Instant::now());
                assert!(holder.release().run().unwrap());
                assert!(waiter.join().unwrap() - began < SOON + stalls.lost(), "{name}: at its new server");
            }
            for other in &mut others {
                let heard = other.ask("PING");
                assert!(!heard.contains("pmessage"), "{name}: all servers were told: {heard}");
            }
        }
    }
}

#[test]
fn a_hint_of_a_slot_on_its_way_reaches_who_listens_where_it_was() {
    let _alone = ALONE.lock();
    for (name, url) in clusters() {
        for among_threads in [false, true] {
            let mut bench = Bench::new(&url, "on-its-way");
            let first = bench.owner;
            for to in [(first + 1) % 3, first] {
                let (holder, waiter) = bench.waiting(among_threads);
                let (mut took, mut stalled) = (PATIENCE, Duration::ZERO);
                bench.move_to(to, || {
                    let (stalls, began) = (Stalls::watch(), Instant::now());
                    assert!(holder.release().run().unwrap());
                    took = waiter.join().unwrap() - began;
                    stalled = stalls.lost();
                });
                assert!(took < SOON + stalled, "{name}: after {took:?}");
            }
        }
    }
}
