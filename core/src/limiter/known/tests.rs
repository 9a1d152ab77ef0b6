//! Decisions without Redis, in virtual time: what they know of Redis' last answer is never more than the policy would admit from
//! there, what a process admits by itself fulfils the policy by itself, and memory has its bound.

use crate::client::{Client, Options};
use crate::limiter::call::{LimiterCall, Verb};
use crate::limiter::decision::{CombinedDecision, Decision};
use crate::limiter::policy::Policy;
use crate::limiter::{Charge, Limiter};
use wire::base::source::Source;
use wire::call::command::Command;
use wire::call::command::{Around, OnError};
use wire::call::space::Lesson;
use wire::memory::stand_in::BOUND;
use wire::memory::store::{Bound, MemoryStore, StoreSize};

const START: u64 = 2_000_000_000_000;
const SECOND: u64 = 1_000_000;
const SERVER: u64 = 7;
const POLICIES: [&str; 7] = [
    "7/10s",
    "calendar-window 7/10s",
    "sliding-window 7/10s",
    "token-bucket 7/10s",
    "token-bucket 3/10s capacity 9",
    "sliding-log 7/10s",
    "calendar-window 3/s;sliding-window 7/10s;token-bucket 20/min",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// A client of a server that nobody runs.
fn client(prefix: &str, on_error: OnError) -> Client {
    let (url, prefix) = (Some("redis://127.0.0.1:1".to_owned()), prefix.to_owned());
    Client::new(Options { url, prefix, on_error, ..Options::default() }).unwrap()
}

fn limiter(client: &Client, policy: &str) -> Limiter {
    client.limiter("n", Policy::parse(policy).unwrap()).unwrap()
}

fn call(limiter: &Limiter, verb: Verb, cost: u64) -> LimiterCall {
    limiter.command(verb, b"k", cost, None)
}

fn table() -> MemoryStore {
    MemoryStore::bounded(BOUND)
}

/// What Redis decides, which the table hears.
fn redis(server: &MemoryStore, table: &MemoryStore, call: &LimiterCall, now: u64) -> Decision {
    let mut reply = server.run(call, Some(now)).unwrap();
    call.teach(&reply[2..], &mut |key, lesson| table.learn(SERVER, key, lesson, now));
    call.decode(&mut reply[2..], Source::Redis.into()).unwrap().take().unwrap()
}

/// What is decided without Redis.
fn local(table: &MemoryStore, call: &LimiterCall, now: u64) -> Decision {
    let mut reply = table.run_for(SERVER, call, Some(now), now).unwrap().unwrap();
    call.decode(&mut reply[2..], Source::Local.into()).unwrap().take().unwrap()
}

#[test]
fn what_is_admitted_after_redis_answer_the_policy_would_have_admitted_too() {
    let client = client("after", OnError::Local);
    for policy in POLICIES {
        let limiter = limiter(&client, policy);
        let mut admitted = 0;
        for seed in 1..=400 {
            let (server, table, mut dice) = (MemoryStore::default(), table(), Dice(seed * 7_919));
            let mut now = START + dice.below(20 * SECOND);
            let mut end = now;
            for _ in 0..dice.below(12) {
                now += dice.below(3 * SECOND);
                let told = redis(&server, &table, &call(&limiter, Verb::Consume, 1 + dice.below(3)), now);
                end = now + told.reset_after;
            }
            for _ in 0..25 {
                now += dice.below(3 * SECOND);
                // A fixed window that opens here ends at another time than the one that Redis opened.
                if policy == POLICIES[0] && now >= end {
                    break;
                }
                let consume = call(&limiter, Verb::Consume, 1 + dice.below(3));
                let decision = local(&table, &consume, now);
                if decision.allowed {
                    admitted += 1;
                    // It counts what was decided without it too: as if Redis had not been away.
                    let mut reply = server.run(&consume, Some(now)).unwrap();
                    let truth: Decision =
                        consume.decode(&mut reply[2..], Source::Redis.into()).unwrap().take().unwrap();
                    assert!(truth.allowed, "{policy}, seed {seed}: {decision:?}\n{truth:?}");
                }
            }
        }
        assert!(admitted > 300, "{policy}: only {admitted} were admitted");
    }
}

#[test]
fn what_a_process_admits_by_itself_fulfils_the_policy_whatever_redis_answers_meanwhile() {
    let client = client("itself", OnError::Local);
    for policy in POLICIES {
        let limiter = limiter(&client, policy);
        let mut admitted = 0;
        for seed in 1..=200 {
            let (server, table, itself) = (MemoryStore::default(), table(), MemoryStore::default());
            let (mut dice, mut now) = (Dice(seed * 104_729), START);
            for _ in 0..120 {
                now += dice.below(SECOND);
                let consume = call(&limiter, Verb::Consume, 1 + dice.below(2));
                if dice.below(3) == 0 {
                    redis(&server, &table, &consume, now);
                } else if local(&table, &consume, now).allowed {
                    admitted += 1;
                    let mut reply = itself.run(&consume, Some(now)).unwrap();
                    let alone: Decision =
                        consume.decode(&mut reply[2..], Source::Memory.into()).unwrap().take().unwrap();
                    assert!(alone.allowed, "{policy}, seed {seed}");
                }
            }
        }
        assert!(admitted > 500, "{policy}: only {admitted} were admitted");
    }
}

#[test]
fn a_denial_says_a_time_after_which_the_call_is_admitted() {
    let client = client("waits", OnError::Local);
    for policy in POLICIES {
        let limiter = limiter(&client, policy);
        let mut denied = 0;
        for seed in 1..=200 {
            let (server, table, mut dice, mut now) = (MemoryStore::default(), table(), Dice(seed * 31), START);
            for _ in 0..40 {
                now += dice.below(SECOND);
                let consume = call(&limiter, Verb::Consume, 1 + dice.below(3));
                if dice.below(2) == 0 {
                    redis(&server, &table, &consume, now);
                    continue;
                }
                let decision = local(&table, &consume, now);
                assert!(decision.remaining <= decision.limit);
                if !decision.allowed {
                    let wait = decision.retry_after.unwrap();
                    assert!(wait > 0 && wait <= decision.reset_after.max(wait), "{policy}: {decision:?}");
                    let later = local(&table, &call(&limiter, Verb::Look, decision.cost), now + wait);
                    assert!(later.allowed, "{policy}, seed {seed}: {decision:?}\n{later:?}");
                    denied += 1;
                }
            }
        }
        assert!(denied > 500, "{policy}: only {denied} were denied");
    }
}

#[test]
fn it_begins_where_redis_ended() {
    let client = client("begins", OnError::Local);
    for policy in POLICIES {
        let limiter = limiter(&client, policy);
        let (server, table) = (MemoryStore::default(), table());
        let told = redis(&server, &table, &call(&limiter, Verb::Consume, 2), START);
        let peeked = local(&table, &call(&limiter, Verb::Look, 1), START);
        let said = |decision: &Decision| -> Vec<_> {
            decision.rules.iter().map(|rule| (rule.remaining, rule.reset_after)).collect()
        };
        assert_eq!(said(&peeked), said(&told), "{policy}");
        assert_eq!(local(&table, &call(&limiter, Verb::UpTo, 9), START).cost, told.remaining, "{policy}");
        // Another policy of the name knows nothing of these rules.
        let other = self::limiter(&client, "8/10s");
        assert_eq!(local(&table, &call(&other, Verb::Look, 1), START).rules[0].limit, 8);
    }
}

#[test]
fn a_block_a_refund_and_a_reset_that_redis_has_taken_count() {
    let client = client("verbs", OnError::Local);
    let (limiter, server, table) = (limiter(&client, "3/10s"), MemoryStore::default(), table());
    let look = |now| local(&table, &call(&limiter, Verb::Look, 1), now);
    redis(&server, &table, &call(&limiter, Verb::Consume, 3), START);
    assert_eq!(look(START).remaining, 0);
    redis(&server, &table, &call(&limiter, Verb::Refund, 2), START);
    assert_eq!(look(START).remaining, 2);
    redis(&server, &table, &call(&limiter, Verb::Block, 60 * SECOND), START);
    let blocked = look(START + 10 * SECOND);
    assert_eq!((blocked.allowed, blocked.remaining, blocked.retry_after), (false, 0, Some(50 * SECOND)));
    assert!(!local(&table, &call(&limiter, Verb::Consume, 1), START).allowed);
    assert!(look(START + 60 * SECOND).allowed);
    let reset = call(&limiter, Verb::Reset, 0);
    let reply = server.run(&reset, Some(START)).unwrap();
    reset.teach(&reply[2..], &mut |key, lesson| table.learn(SERVER, key, lesson, START));
    assert_eq!((look(START).allowed, look(START).remaining), (true, 3));
    // What was counted here is forgotten by a reset as well, and given back by a refund here.
    assert!(local(&table, &call(&limiter, Verb::Consume, 3), START).allowed);
    assert_eq!(local(&table, &call(&limiter, Verb::Refund, 1), START).remaining, 1);
    table.learn(SERVER, &call(&limiter, Verb::Look, 1).key, Lesson::Reset, START);
    assert_eq!(look(START).remaining, 3);
}

#[test]
fn clients_of_a_process_share_it_and_servers_do_not() {
    let consume = |limiter: &Limiter| limiter.consume(b"k", 1).unwrap().run().unwrap();
    let first = client("shared", OnError::Local);
    assert!((0..3).all(|_| consume(&limiter(&first, "3/hour")).allowed));
    first.close();
    drop(first);
    let denied = consume(&limiter(&client("shared", OnError::Local), "3/hour"));
    assert_eq!((denied.allowed, denied.source), (false, Source::Local));
    for (url, prefix) in [("redis://127.0.0.1:1/1", "shared"), ("redis://127.0.0.1:1", "others")] {
        let (url, prefix) = (Some(url.to_owned()), prefix.to_owned());
        let other = Client::new(Options { url, prefix, on_error: OnError::Local, ..Options::default() }).unwrap();
        assert_eq!(consume(&limiter(&other, "3/hour")).remaining, 2);
    }
    // Whoever logs in, the server is the same.
    let (url, prefix) = (Some("redis://user:secret@127.0.0.1:1".to_owned()), "shared".to_owned());
    let same = Client::new(Options { url, prefix, on_error: OnError::Local, ..Options::default() }).unwrap();
    let limiter = limiter(&same, "3/hour");
    assert!(!consume(&limiter).allowed);
    let charges = [(&limiter, b"k"), (&limiter, b"l")].map(|(limiter, key)| Charge { limiter, key, cost: 1 });
    let combined: CombinedDecision = same.consume_all(&charges, None).unwrap().run().unwrap();
    assert!(!combined.allowed);
    assert_eq!(limiter.peek(b"l", 1).unwrap().run().unwrap().remaining, 3, "all or none");
}

#[test]
fn nothing_is_kept_unless_it_stands_in() {
    for on_error in [OnError::Raise, OnError::Open, OnError::Closed] {
        assert!(client("none", on_error).session.stand_in.is_none());
    }
    let url = Some("memory://".to_owned());
    let memory = Client::new(Options { url, on_error: OnError::Local, ..Options::default() }).unwrap();
    assert!(memory.session.stand_in.is_none());
}

#[test]
fn a_million_keys_have_a_bound_and_who_is_at_the_limit_is_not_forgotten_for_them() {
    let client = client("million", OnError::Local);
    let (limiter, table) = (limiter(&client, "5/hour"), table());
    let consume = |key: &[u8]| local(&table, &limiter.command(Verb::Consume, key, 1, None), START).allowed;
    let learn = |key: &[u8]| {
        let (server, look) = (MemoryStore::default(), limiter.command(Verb::Consume, key, 5, None));
        redis(&server, &table, &look, START);
    };
    assert!((0..5).all(|_| consume(b"spent")));
    learn(b"told");
    let refused = || [b"spent".as_slice(), b"told"].map(|key| !consume(key));
    assert_eq!(refused(), [true, true]);
    for number in 0..1_000_000_u32 {
        assert!(consume(format!("user:{number}").as_bytes()));
        if number % 50_000 == 0 {
            let StoreSize { keys, bytes, .. } = table.size();
            assert!(keys <= BOUND.keys && bytes <= BOUND.bytes, "{keys} keys, {bytes} bytes");
        }
    }
    // What is only known of Redis goes before what was counted here.
    assert_eq!(refused(), [true, false]);
    assert!(table.size().keys > BOUND.keys / 4 * 3);
    // Those that are only known have the same bound, and what was counted here is not forgotten for them.
    (0..100_000_u32).for_each(|number| learn(format!("known:{number}").as_bytes()));
    assert!(table.size().keys <= BOUND.keys && table.size().bytes <= BOUND.bytes);
    assert!(!consume(b"spent"));
}

#[test]
fn the_least_used_share_goes_first_and_what_has_ended_before_it() {
    let client = client("order", OnError::Local);
    let limiters = ["5/hour", "1000/hour"].map(|policy| limiter(&client, policy));
    let table = MemoryStore::bounded(Bound { keys: 16 * 64, bytes: 1 << 20, value: 1 << 16 });
    let consume = |at: usize, key: &str, cost, now| {
        local(&table, &limiters[at].command(Verb::Consume, key.as_bytes(), cost, None), now)
    };
    // 3 of 5 are more than 300 of 1,000.
    for number in 0..200 {
        consume(0, &format!("few:{number}"), 3, START);
    }
    for number in 0..2_000 {
        consume(1, &format!("many:{number}"), 300, START);
    }
    let left = |at: usize, key: String| {
        local(&table, &limiters[at].command(Verb::Look, key.as_bytes(), 1, None), START).remaining
    };
    assert!((0..200).all(|number| left(0, format!("few:{number}")) == 2));
    assert!((0..2_000).filter(|number| left(1, format!("many:{number}")) == 1_000).count() > 1_000);
}

#[test]
fn a_log_that_is_too_long_denies_and_others_are_not_forgotten_for_it() {
    let client = client("log", OnError::Local);
    let limiter = limiter(&client, "sliding-log 100000/hour");
    let table = MemoryStore::bounded(Bound { keys: 16 * 64, bytes: 16 << 16, value: 1 << 14 });
    let consume = |now| table.run_for(SERVER, &call(&limiter, Verb::Consume, 1), Some(now), now).unwrap();
    let admitted = (0..10_000).filter(|number| consume(START + number).is_some()).count();
    assert!((1_000..2_000).contains(&admitted), "{admitted}");
    assert!(table.size().bytes <= 1 << 16);
}
