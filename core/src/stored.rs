//! What stands at a Redis key of ours, for programs that look at it from outside: what the key is about, by its name, and
//! what its value says, by the server's clock. Nothing here asks a server or changes anything.
//!
//! A call of a feature answers the same; this needs no policy, and no call for each key.

pub use crate::cache::single_flight::{EntryKind, HEADER as ENTRY_HEADER, StoredEntry};
pub use crate::key::{KeyKind, KeyName};
pub use crate::limiter::{StoredHold, StoredLimiter};
pub use crate::lock::lease_table::{StoredLock, StoredWaiter};
pub use crate::stock::StoredStock;
pub use wire::base::format::newer_format;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::testing::{advance, get, set_time};
    use crate::{CacheOptions, Client, Got, LockOptions, Options, Policy, Unsettled};

    const NOW: u64 = 1_700_000_000_123_457;
    const SECOND: u64 = 1_000_000;

    fn client(name: &str) -> Client {
        let client = Client::new(Options { url: Some(format!("memory://{name}")), ..Options::default() }).unwrap();
        set_time(&client, Some(NOW)).unwrap();
        client
    }

    fn raw(client: &Client, key: &[u8]) -> Vec<u8> {
        get(client, key).run().unwrap().unwrap().value
    }

    #[test]
    fn a_limiters_value_says_what_a_peek_does() {
        let policies = [
            "3/10s",
            "calendar-window 3/10s",
            "sliding-window 3/10s",
            "token-bucket 3/10s capacity 4",
            "sliding-log 3/10s",
            "sliding-log 12/10s;sliding-log 5/2s",
            "3/10s;calendar-window 9/60s;token-bucket 7/30s;sliding-window 20/5s;sliding-log 4/7s",
        ];
        for policy in policies {
            let client = client("stored-limiter");
            let limiter = client.limiter("l", Policy::parse(policy).unwrap()).unwrap();
            let key = limiter.redis_key(b"k").unwrap();
            let mut now = NOW;
            for passed in [0, 1, SECOND, 2 * SECOND + 7, 0, 3 * SECOND] {
                advance(&client, passed).unwrap();
                now += passed;
                limiter.consume(b"k", 1).unwrap().run().unwrap();
                let peeked = limiter.peek(b"k", 1).unwrap().run().unwrap();
                let stored = StoredLimiter::read(&raw(&client, &key), now).unwrap();
                assert_eq!(stored.policy().as_ref(), Some(limiter.policy()));
                assert_eq!(
                    stored.rules.iter().map(|(_, said)| *said).collect::<Vec<_>>(),
                    peeked.rules.to_vec(),
                    "{policy}"
                );
                assert_eq!((stored.block_left, stored.is_ahead), (0, false));
            }
            limiter.block(b"k", 60 * SECOND).unwrap().run().unwrap();
            let stored = StoredLimiter::read(&raw(&client, &key), now + SECOND).unwrap();
            assert_eq!(stored.block_left, 59 * SECOND);
            assert!(StoredLimiter::read(&raw(&client, &key), now - 600 * SECOND).unwrap().is_ahead, "{policy}");
        }
    }

    #[test]
    fn rules_of_other_policies_and_holds_are_told() {
        let client = client("stored-holds");
        for policy in ["9/10s", "token-bucket 5/minute"] {
            let limiter = client.limiter("l", Policy::parse(policy).unwrap()).unwrap();
            limiter.consume(b"k", 1).unwrap().run().unwrap();
            let (_held, asked) = limiter.reserve(b"k", 2, 5 * SECOND, Unsettled::Returned).unwrap();
            asked.run().unwrap();
        }
        let stored = StoredLimiter::read(&raw(&client, b"ql:limit:l:{k}"), NOW + SECOND).unwrap();
        let rules: Vec<String> = stored.rules.iter().map(|(rule, _)| rule.to_string()).collect();
        assert_eq!(rules, ["token-bucket 5/minute", "9/10 seconds"]);
        let hold = StoredHold { amount: 2, left: 4 * SECOND, unsettled: Some(Unsettled::Returned) };
        assert_eq!(stored.holds, [hold.clone(), hold]);
    }

    #[test]
    fn a_locks_value_says_what_inspect_does() {
        let client = client("stored-lock");
        let lock = client.lock(b"x", LockOptions { label: "import".into(), ..LockOptions::default() }).unwrap();
        assert!(lock.acquire(Duration::ZERO).unwrap().run().unwrap());
        let inspected = lock.inspect().run().unwrap();
        let value = raw(&client, &lock.redis_keys()[0]);
        let stored = StoredLock::read(&value, NOW).unwrap();
        assert_eq!((stored.token, stored.is_ahead), (inspected.token, false));
        assert_eq!(stored.holders, inspected.holders);
        assert!(StoredLock::read(&value, NOW - SECOND).unwrap().is_ahead);
        assert_eq!(StoredLock::read(&value, NOW + 60 * SECOND).unwrap().holders, []);
    }

    #[test]
    fn an_entrys_value_says_how_long_it_lasts_and_who_loads_it() {
        let client = client("stored-entry");
        let options = CacheOptions { fresh: 10 * SECOND, stale: 5 * SECOND, beta: 0.0, ..CacheOptions::default() };
        let cache = client.cache("c", options).unwrap();
        let read = |passed| {
            let value = raw(&client, b"ql:cache:c:{k}");
            StoredEntry::read(&value[..ENTRY_HEADER], value.len(), NOW + passed).unwrap()
        };
        let got = cache.get(b"k", None).unwrap().run().unwrap();
        let loading = read(SECOND);
        assert_eq!((loading.kind, loading.lease, loading.lease_ttl), (EntryKind::Nothing, 9 * SECOND, 10 * SECOND));
        let Got::Load(ticket) = got else { panic!("nothing is there") };
        drop(ticket);
        cache.put(b"k", Some(b"value".to_vec())).unwrap().run().unwrap();
        let fresh = read(4 * SECOND);
        assert_eq!((fresh.kind, fresh.size, fresh.age), (EntryKind::Value, 5, 4 * SECOND));
        assert_eq!((fresh.fresh, fresh.served), (6 * SECOND, 11 * SECOND));
        assert_eq!((read(12 * SECOND).fresh, read(12 * SECOND).served), (0, 3 * SECOND));
        assert_eq!(read(16 * SECOND).kind, EntryKind::Nothing);
        assert!(StoredEntry::read(&[0; ENTRY_HEADER], ENTRY_HEADER, NOW).is_none());
    }

    #[test]
    fn what_is_damaged_is_not_ours_and_stops_nobody() {
        let client = client("stored-damage");
        let limiter = client.limiter("l", Policy::parse("3/10s;sliding-log 4/7s;token-bucket 3/s").unwrap()).unwrap();
        limiter.consume(b"k", 1).unwrap().run().unwrap();
        let (_held, asked) = limiter.reserve(b"k", 1, SECOND, Unsettled::Spent).unwrap();
        asked.run().unwrap();
        let lock = client.lock(b"x", LockOptions::default()).unwrap();
        assert!(lock.acquire(Duration::ZERO).unwrap().run().unwrap());
        client.cache("c", CacheOptions::default()).unwrap().put(b"k", Some(vec![1])).unwrap().run().unwrap();
        let keys = [limiter.redis_key(b"k").unwrap(), lock.redis_keys()[0].clone(), b"ql:cache:c:{k}".to_vec()];
        for value in keys.map(|key| raw(&client, &key)) {
            for at in 0..value.len() {
                for byte in [0, 1, 0x7f, 0xff, value[at] ^ 0x80] {
                    let damaged = [&value[..at], &[byte], &value[at + 1..]].concat();
                    for value in [&damaged[..], &damaged[..at]] {
                        for now in [0, NOW, (1 << 53) - 1] {
                            StoredLimiter::read(value, now);
                            StoredLock::read(value, now);
                            StoredEntry::read(value, value.len(), now);
                        }
                    }
                }
            }
        }
        for value in [&b""[..], b"42", b"QL\x02", b"QK\x01"] {
            assert!(StoredLimiter::read(value, NOW).is_none() && StoredLock::read(value, NOW).is_none());
        }
    }
}
