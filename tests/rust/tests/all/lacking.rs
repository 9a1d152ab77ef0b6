//! Who lacks the right to one of the commands is told so, and then nothing was changed: no script writes before all that may
//! be refused.

use quotalock::testing::{self, TestValueKind};
use quotalock::{Charge, Client, Code, Limiter, LimiterOptions, Policy, Result, Unsettled};
use quotalock_tests::operator::command;
use quotalock_tests::{client, fresh_prefix, servers};

const COMMANDS: [&str; 7] = ["time", "get", "set", "del", "getrange", "setrange", "pexpire"];
const POLICIES: [&str; 4] = ["5/h", "token-bucket 5/h;sliding-window 9/h", "sliding-log 5/h", "sliding-log 5/h;5/day"];
const KEY: &[u8] = b"k";
const START: u64 = 1_700_000_000_000_000;

/// What a key has before a call.
const BEFORE: [&str; 6] = ["nothing", "some", "all", "a block", "a reservation", "a foreign value"];

/// The limiters of one client.
struct Side {
    client: Client,
    limiter: Limiter,
    plain: Limiter,
    trial: Limiter,
}

impl Side {
    fn new(url: &str, prefix: &str, policy: &str) -> Side {
        let client = client(url, prefix);
        testing::set_time(&client, Some(START)).unwrap();
        let limiter = |name: &str, policy: &str, enforce| {
            let options = LimiterOptions { enforce, ..LimiterOptions::default() };
            client.limiter_with(name, Policy::parse(policy).unwrap(), options).unwrap()
        };
        let (own, plain, trial) =
            (limiter("own", policy, true), limiter("plain", "9/h", true), limiter("trial", "1/h", false));
        Side { limiter: own, plain, trial, client }
    }

    fn prepare(&self, before: &str) {
        let limiter = &self.limiter;
        let consume = |cost| drop(limiter.consume(KEY, cost).unwrap().run().unwrap());
        for limiter in [limiter, &self.plain, &self.trial] {
            limiter.reset(KEY).unwrap().run().unwrap();
        }
        match before {
            "some" => [2, 1].into_iter().for_each(consume),
            "all" => consume(5),
            "a block" => drop(limiter.block(KEY, 1_000_000).unwrap().run().unwrap()),
            "a reservation" => {
                let reserved = testing::reserve(limiter, KEY, &"7".repeat(32), 2, 9_000_000, Unsettled::Returned);
                drop(reserved.unwrap().run().unwrap());
            }
            "a foreign value" => {
                for limiter in [limiter, &self.trial] {
                    let key = limiter.redis_key(KEY).unwrap();
                    testing::put(&self.client, &key, TestValueKind::Text, b"-37412").run().unwrap();
                }
            }
            _ => {}
        }
    }

    /// Every call that may write; the last ones with an id, so that they remember.
    fn call(&self, number: usize, id: &str) -> Option<Result<()>> {
        let (limiter, id) = (&self.limiter, Some(id.as_bytes()));
        let all = |limiters: &[&Limiter], cost, id| {
            let charges: Vec<Charge> = limiters.iter().map(|limiter| Charge { limiter, key: KEY, cost }).collect();
            self.client.consume_all(&charges, id).unwrap().run().map(drop)
        };
        Some(match number {
            0 => limiter.consume(KEY, 1).unwrap().run().map(drop),
            1 => limiter.consume_up_to(KEY, 9).unwrap().run().map(drop),
            2 => limiter.refund(KEY, 1).unwrap().run().map(drop),
            3 => limiter.refund(KEY, 99).unwrap().run().map(drop),
            4 => limiter.block(KEY, 5_000_000).unwrap().run().map(drop),
            5 => limiter.reserve(KEY, 1, 5_000_000, Unsettled::Spent).unwrap().1.run().map(drop),
            6 => limiter.reservation(KEY, &"7".repeat(32)).unwrap().settle(0).unwrap().run().map(drop),
            7 => limiter.reset(KEY).unwrap().run().map(drop),
            8 => all(&[limiter, &self.plain], 1, None),
            9 => all(&[&self.plain, limiter, &self.trial], 2, None),
            10 => all(&[&self.plain, limiter, &self.trial], 2, id),
            11 => limiter.consume_once(KEY, 1, id).unwrap().run().map(drop),
            12 => limiter.refund_once(KEY, 1, id).unwrap().run().map(drop),
            13 => limiter.refund_once(KEY, 99, id).unwrap().run().map(drop),
            _ => return None,
        })
    }

    fn stored(&self) -> Vec<Option<(Vec<u8>, bool)>> {
        let stored = |limiter: &Limiter| {
            let key = limiter.redis_key(KEY).unwrap();
            testing::get(&self.client, &key).run().unwrap().map(|stored| (stored.value, stored.ttl_ms.is_some()))
        };
        [&self.limiter, &self.plain, &self.trial].map(stored).into()
    }
}

#[test]
fn who_may_not_call_a_command_changes_nothing() {
    let mut refused = 0;
    for (name, url) in servers() {
        let (prefix, address) = (fresh_prefix("lacking"), url.trim_start_matches("redis://"));
        for policy in POLICIES {
            let own = Side::new(&url, &prefix, policy);
            for lacking in COMMANDS {
                let user = format!("{prefix}-{lacking}");
                let rights = "nocommands +eval +evalsha +time +get +set +del +getrange +setrange +pexpire";
                let mut words = vec!["ACL", "SETUSER", &user, "on", ">secret", "~*"];
                words.extend(rights.split(' '));
                let minus = format!("-{lacking}");
                words.push(&minus);
                command(&url, &words);
                let poor = Side::new(&format!("redis://{user}:secret@{address}"), &prefix, policy);
                for (b, before) in BEFORE.into_iter().enumerate() {
                    for number in 0.. {
                        own.prepare(before);
                        let stored = own.stored();
                        let id = format!("{policy}-{lacking}-{b}-{number}");
                        let Some(outcome) = poor.call(number, &id) else { break };
                        let Err(error) = outcome else { continue };
                        let place = format!("call {number} by {policy} with {before}, without {lacking}, on {name}");
                        assert_eq!(error.code(), Code::NotPermitted, "{place}: {error}");
                        assert_eq!(own.stored(), stored, "{place}");
                        refused += 1;
                        // Nor is it remembered as if it had been done.
                        let again = own.call(number, &id).unwrap();
                        assert!(again.is_ok(), "{place}");
                        let admitted = ["nothing", "some", "a reservation", "a foreign value"].contains(&before);
                        if admitted && [10, 11].contains(&number) {
                            assert_ne!(own.stored(), stored, "{place}: remembered, but not done");
                        }
                    }
                }
            }
        }
    }
    assert!(refused > 1_000, "only {refused} calls were refused");
}
