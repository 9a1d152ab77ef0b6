//! A lock that is handed over: what the deadline and the end of the renewals of whoever adopts it count from.

use std::time::{Duration, Instant};

use quotalock::{Client, Code, Lock, LockOptions, LockState, testing};
use quotalock_tests::{client, fresh_prefix, stores};

const NOW: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;

fn held(client: &Client, options: LockOptions) -> Lock {
    let lock = client.lock(b"sku:42", options).unwrap();
    assert!(lock.acquire(Duration::ZERO).unwrap().run().unwrap());
    lock
}

#[test]
fn the_deadline_counts_from_before_the_call_was_sent() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("handover"));
        testing::set_time(&client, Some(NOW)).unwrap();
        let giver = held(&client, LockOptions { ttl: 10 * SECOND, renew: false, ..LockOptions::default() });
        let (heir, adopting) = client.adopt(&giver.handover().unwrap(), false).unwrap();
        // The answer takes three seconds.
        testing::set_time(&client, Some(NOW + 3 * SECOND)).unwrap();
        assert!(adopting.run().unwrap(), "{name}");
        // The ttl, less 1 % and 2 ms, less those seconds.
        assert_eq!(heir.remaining(), 10 * SECOND - 100_000 - 2_000 - 3 * SECOND, "{name}");
    }
}

#[test]
fn only_the_text_as_it_was_written_is_adopted() {
    let client = client("memory://handover-exact", &fresh_prefix("handover"));
    // Texts of every length modulo three bytes: their last letters have bits to spare, or none.
    for label in ["", "a", "ab", "abc"] {
        let giver = held(&client, LockOptions { label: label.to_owned(), ..LockOptions::default() });
        let text = giver.handover().unwrap();
        let (start, last) = text.split_at(text.len() - 1);
        let letters = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_', '=', '+', '/', ' ', '\n']);
        for letter in letters {
            let changed = [start, &letter.to_string()].concat();
            for wrong in [format!("{text}{letter}"), changed].iter().filter(|wrong| **wrong != text) {
                let error = client.adopt(wrong, false).map(|_| ()).unwrap_err();
                assert_eq!(error.code(), Code::InvalidArgument, "{last} {letter}");
            }
        }
        let (heir, adopting) = client.adopt(&text, false).unwrap();
        assert!(adopting.run().unwrap());
        assert!(heir.release().run().unwrap());
    }
}

#[test]
fn it_is_renewed_for_no_longer_than_its_giver_would_have() {
    std::thread::scope(|scope| {
        for (name, url) in stores() {
            scope.spawn(move || {
                let client = client(&url, &fresh_prefix("handover"));
                // Longer than a machine stands still between the two calls.
                let (ttl, max_hold) = (2 * SECOND, 3 * SECOND);
                let giver = held(&client, LockOptions { ttl, max_hold, ..LockOptions::default() });
                let (heir, adopting) = client.adopt(&giver.handover().unwrap(), true).unwrap();
                assert!(adopting.run().unwrap(), "{name}");
                let began = Instant::now();
                while heir.state() != LockState::Lost {
                    assert!(began.elapsed() < Duration::from_secs(20), "{name}: renewed without an end");
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
    });
}
