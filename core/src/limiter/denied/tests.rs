//! Random calls of several processes, whose requests and replies take their time or get lost: whatever is denied from memory, the
//! server would have denied at that moment.

use std::cell::Cell;
use std::time::Duration;

use crate::client::{Client, Options};
use crate::limiter::call::{LimiterCall, Verb};
use crate::limiter::decision::Decision;
use crate::limiter::holds::Unsettled;
use crate::limiter::policy::Policy;
use crate::limiter::{Limiter, LimiterOptions};
use wire::base::source::Source;
use wire::call::answer::Answer;
use wire::call::command::Around;
use wire::call::command::Command;
use wire::call::resp::Reply;
use wire::memory::store::MemoryStore;

thread_local! {
    static TIME: Cell<Option<u64>> = const { Cell::new(None) };
}

pub(super) fn virtual_time() -> Option<u64> {
    TIME.get()
}

/// What a call may take at most, in microseconds.
const TIMEOUT: u64 = 20_000;

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// A call on its way.
struct Flight {
    call: LimiterCall,
    deadline: u64,
    reply: Option<Vec<Reply>>,
    is_lost: bool,
}

struct World {
    dice: Dice,
    now: u64,
    server: MemoryStore,
    limiters: Vec<Limiter>,
    keys: Vec<Vec<u8>>,
    flights: Vec<Flight>,
    holds: Vec<[u8; 16]>,
    hits: usize,
}

fn is_remembered(limiter: &Limiter, key: &[u8], cost: u64) -> bool {
    limiter.remembered(key, cost, |_| ()).is_some()
}

fn client(prefix: String, max: u64) -> Client {
    let deny_cache_max = Duration::from_micros(max);
    Client::new(Options { url: Some("redis://server".into()), prefix, deny_cache_max, ..Options::default() }).unwrap()
}

fn call(limiter: &Limiter, verb: Verb, key: &[u8], amount: u64) -> LimiterCall {
    let (recall, key) = (limiter.recall(key), limiter.redis_key(key).unwrap());
    LimiterCall { spec: limiter.spec.clone(), verb, key, amount, memory: None, recall, prefetch: None }
}

impl World {
    fn new(seed: u64) -> World {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..9).for_each(|_| {
            dice.below(2);
        });
        let policies = [
            ["3/100 ms", "5/300 ms"],
            ["sliding-window 4/200 ms", "sliding-log 3/300 ms"],
            ["token-bucket 5/400 ms", "token-bucket 3/200 ms capacity 6"],
            ["calendar-window 3/200 ms;6/s", "token-bucket 4/100 ms;sliding-log 9/500 ms"],
        ][dice.below(4) as usize];
        let max = [1_000_000, 60_000_000, 50_000][dice.below(3) as usize];
        let client = client(format!("world-{seed}"), max);
        let limiter = |policy: &&str| client.limiter("a", Policy::parse(policy).unwrap()).unwrap();
        World {
            dice,
            now: 1_000_000_000_000,
            server: MemoryStore::default(),
            limiters: policies.iter().map(limiter).collect(),
            keys: vec![b"x".to_vec(), b"y".to_vec()],
            flights: Vec::new(),
            holds: vec![[9; 16]],
            hits: 0,
        }
    }

    fn pick(&mut self) -> LimiterCall {
        let limiter = self.limiters[usize::from(self.dice.below(12) == 0)].clone();
        let key = self.keys[self.dice.below(2) as usize].clone();
        let (verb, amount) = match self.dice.below(60) {
            0 => (Verb::Reset, 0),
            1 => (Verb::Refund, 1 + self.dice.below(3)),
            2 => (Verb::Block, 1_000 + self.dice.below(300_000)),
            3 | 4 => {
                let mut id = [0; 16];
                id[..8].copy_from_slice(&self.now.to_le_bytes());
                self.holds.push(id);
                let unsettled = if self.dice.below(2) == 0 { Unsettled::Spent } else { Unsettled::Returned };
                (Verb::Reserve { id, length: 1_000 + self.dice.below(40_000), unsettled }, 1 + self.dice.below(3))
            }
            5 => {
                let id = self.holds[self.dice.below(self.holds.len() as u64) as usize];
                (Verb::Settle { id }, self.dice.below(4))
            }
            6 => (Verb::UpTo, 1 + self.dice.below(4)),
            7 => (Verb::Require, 1 + self.dice.below(7)),
            _ => (Verb::Consume, 1 + self.dice.below(3)),
        };
        call(&limiter, verb, &key, amount)
    }

    /// What the server would say now.
    fn truth(&self, of: &LimiterCall) -> Decision {
        let look = LimiterCall {
            verb: Verb::Look,
            recall: None,
            memory: None,
            prefetch: None,
            spec: of.spec.clone(),
            key: of.key.clone(),
            ..*of
        };
        let mut reply = self.server.run(&look, Some(self.now)).unwrap();
        look.decode(&mut reply[2..], Source::Redis.into()).unwrap().take().unwrap()
    }

    fn step(&mut self) {
        let pause = [0, 20, 1_000, 30_000][self.dice.below(4) as usize];
        self.now += self.dice.below(pause + 1);
        TIME.set(Some(self.now));
        match self.dice.below(3) {
            0 if self.flights.len() < 5 => self.send(),
            // Requests and replies of different connections overtake each other.
            _ if !self.flights.is_empty() => self.go_on(),
            _ => {}
        }
    }

    fn send(&mut self) {
        let mut call = self.pick();
        if let Some(answer) = call.known() {
            let (told, truth) = (answer.get::<Decision>().unwrap().clone(), self.truth(&call));
            assert!(!told.allowed && told.source == Source::DenyCache && told.cost == call.amount);
            assert!(!truth.allowed, "denied {told:?} where the server says {truth:?}");
            assert!(told.retry_after.is_none() || told.retry_after > Some(0));
            self.hits += 1;
            return;
        }
        call.on_send(Duration::from_micros(TIMEOUT));
        self.flights.push(Flight { call, deadline: self.now + TIMEOUT, reply: None, is_lost: false });
    }

    fn go_on(&mut self) {
        let at = self.dice.below(self.flights.len() as u64) as usize;
        let fate = self.dice.below(100);
        let (now, flight) = (self.now, &mut self.flights[at]);
        flight.is_lost |= fate == 0;
        if flight.reply.is_none() && now < flight.deadline {
            flight.reply = Some(self.server.run(&flight.call, Some(now)).unwrap());
            return;
        }
        let flight = self.flights.swap_remove(at);
        if let Some(mut reply) = flight.reply.filter(|_| !flight.is_lost) {
            let answer: Answer = flight.call.decode(&mut reply[2..], Source::Redis.into()).unwrap();
            flight.call.on_answer(&answer);
        }
    }
}

#[test]
fn nothing_is_denied_that_the_server_would_admit() {
    let worlds = std::env::var("WORLDS").ok().and_then(|worlds| worlds.parse().ok()).unwrap_or(400);
    let mut hits = 0;
    for seed in 1..=worlds {
        let mut world = World::new(seed);
        (0..1_500).for_each(|_| world.step());
        hits += world.hits;
    }
    TIME.set(None);
    assert!(hits > 20 * worlds as usize, "only {hits} calls were denied from memory");
}

/// Makes a call, at once.
fn make(server: &MemoryStore, mut call: LimiterCall, now: u64) -> Decision {
    TIME.set(Some(now));
    if let Some(answer) = call.known() {
        return answer.take().unwrap();
    }
    call.on_send(Duration::from_millis(500));
    let mut reply = server.run(&call, Some(now)).unwrap();
    let answer = call.decode(&mut reply[2..], Source::Redis.into()).unwrap();
    call.on_answer(&answer);
    answer.take().unwrap()
}

const START: u64 = 2_000_000_000_000;

fn consume(server: &MemoryStore, limiter: &Limiter, cost: u64, now: u64) -> Decision {
    make(server, call(limiter, Verb::Consume, b"k", cost), now)
}

fn limiter(name: &str, policy: &str, max: u64, enforce: bool) -> Limiter {
    let options = LimiterOptions { enforce, ..LimiterOptions::default() };
    client("rules".into(), max).limiter_with(name, Policy::parse(policy).unwrap(), options).unwrap()
}

/// A limiter whose key was charged 6 of 10, and denied 5.
fn denied(name: &str, max: u64) -> (MemoryStore, Limiter) {
    let (server, limiter) = (MemoryStore::default(), limiter(name, "10/s", max, true));
    assert!(consume(&server, &limiter, 6, START).allowed);
    assert_eq!(consume(&server, &limiter, 5, START).source, Source::Redis);
    (server, limiter)
}

#[test]
fn a_denial_holds_for_its_cost_and_above_and_counts_down() {
    let (server, limiter) = denied("costs", 60_000_000);
    let again = consume(&server, &limiter, 5, START + 200_000);
    assert_eq!((again.source, again.allowed, again.remaining), (Source::DenyCache, false, 4));
    assert_eq!((again.retry_after, again.reset_after, again.cost), (Some(800_000), 800_000, 5));
    assert_eq!((again.rules[0].retry_after, again.rules[0].remaining), (Some(800_000), 4));
    assert_eq!(consume(&server, &limiter, 7, START + 300_000).source, Source::DenyCache);
    let never = consume(&server, &limiter, 11, START + 300_000);
    assert_eq!((never.source, never.retry_after), (Source::DenyCache, None));
    assert!(consume(&server, &limiter, 4, START + 400_000).allowed, "a lower cost is asked about");
    assert_eq!(consume(&server, &limiter, 5, START + 1_000_000).source, Source::Redis);
    TIME.set(None);
}

#[test]
fn a_denial_is_trusted_for_so_long_and_no_longer() {
    let (server, limiter) = denied("max", 100_000);
    assert_eq!(consume(&server, &limiter, 5, START + 99_999).source, Source::DenyCache);
    assert_eq!(consume(&server, &limiter, 5, START + 100_000).source, Source::Redis);
    let (server, limiter) = denied("off", 0);
    assert_eq!(consume(&server, &limiter, 5, START).source, Source::Redis);
    TIME.set(None);
}

#[test]
fn a_blocked_key_is_as_blocked_from_memory() {
    let (server, limiter) = (MemoryStore::default(), limiter("block", "10/s;100/h", 60_000_000, true));
    make(&server, call(&limiter, Verb::Block, b"k", 5_000_000), START);
    // What was announced is over.
    let asked = consume(&server, &limiter, 1, START + 1_000);
    let known = consume(&server, &limiter, 1, START + 1_001);
    assert_eq!(known, Decision { source: Source::DenyCache, ..truth_of(&server, &limiter, START + 1_001) });
    assert_eq!((asked.source, known.remaining, known.retry_after), (Source::Redis, 0, Some(4_998_999)));
    TIME.set(None);
}

fn truth_of(server: &MemoryStore, limiter: &Limiter, now: u64) -> Decision {
    make(server, call(limiter, Verb::Look, b"k", 1), now)
}

#[test]
fn what_passes_anyway_and_what_is_asked_in_a_tests_time_is_not_remembered() {
    let server = MemoryStore::default();
    let lax = limiter("lax", "1/s", 60_000_000, false);
    (0..3).for_each(|_| assert_eq!(consume(&server, &lax, 1, START).source, Source::Redis));
    let (_, limiter) = denied("time", 60_000_000);
    assert!(is_remembered(&limiter, b"k", 5));
    limiter.client.session.test_time.set(Some(START));
    assert!(!is_remembered(&limiter, b"k", 5));
    assert!(call(&limiter, Verb::Consume, b"k", 5).known().is_none());
    TIME.set(None);
}

#[test]
fn calls_that_say_nothing_of_others_neither_ask_nor_remember() {
    let (_, limiter) = denied("verbs", 60_000_000);
    for verb in [Verb::Look, Verb::UpTo, Verb::Refund, Verb::Block, Verb::Reset] {
        assert!(call(&limiter, verb, b"k", 5).known().is_none());
    }
    assert!(call(&limiter, Verb::Require, b"k", 5).known().is_some());
    TIME.set(None);
}

#[test]
fn the_same_key_elsewhere_is_another() {
    let (_, limiter) = denied("places", 60_000_000);
    assert!(is_remembered(&limiter, b"k", 5) && !is_remembered(&limiter, b"K", 5));
    for url in ["redis://other", "redis://server/1", "redis://server:6380"] {
        let options = Options { url: Some(url.into()), prefix: "rules".into(), ..Options::default() };
        let other = Client::new(options).unwrap().limiter("places", Policy::parse("10/s").unwrap()).unwrap();
        assert!(!is_remembered(&other, b"k", 5), "{url}");
    }
    TIME.set(None);
}

#[test]
fn what_a_rule_may_deny_of_a_higher_cost_is_asked() {
    let (server, limiter) = (MemoryStore::default(), limiter("rules", "10/s;12/h", 60_000_000, true));
    assert!(consume(&server, &limiter, 8, START).allowed);
    assert_eq!(consume(&server, &limiter, 3, START + 1).source, Source::Redis);
    let known = consume(&server, &limiter, 4, START + 2);
    assert_eq!((known.source, known.rules[1].allowed), (Source::DenyCache, true), "4 are left of 12");
    let asked = consume(&server, &limiter, 5, START + 3);
    assert_eq!((asked.source, asked.rules[1].allowed), (Source::Redis, false));
    let never = consume(&server, &limiter, 11, START + 4);
    assert_eq!((never.source, never.retry_after), (Source::DenyCache, None), "both deny it, one for ever");
    TIME.set(None);
}

#[test]
fn a_rule_whose_wait_is_over_admits_again() {
    let (server, limiter) = (MemoryStore::default(), limiter("waits", "4/100 ms;4/s", 60_000_000, true));
    assert!(consume(&server, &limiter, 4, START).allowed);
    assert_eq!(consume(&server, &limiter, 1, START + 1).source, Source::Redis);
    let early = consume(&server, &limiter, 1, START + 50_000);
    assert_eq!((early.rules[0].allowed, early.rules[0].retry_after), (false, Some(50_000)));
    let late = consume(&server, &limiter, 1, START + 200_000);
    assert_eq!((late.source, late.retry_after, late.limit), (Source::DenyCache, Some(800_000), 4));
    let rules: Vec<_> = late.rules.iter().map(|rule| (rule.allowed, rule.remaining, rule.retry_after)).collect();
    assert_eq!(rules, [(true, 4, Some(0)), (false, 0, Some(800_000))]);
    TIME.set(None);
}
