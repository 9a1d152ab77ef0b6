//! `once` through its handle: the first claims or runs, and the others get what it made.

use std::time::Duration;

use quotalock::OnceOptions;
use quotalock_tests::caches::{fill, found, text, ticket};
use quotalock_tests::{client, fresh_prefix, stores};

const NOW: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(20);

#[test]
fn the_first_claims() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("once"));
        let once = client.once("coupon", OnceOptions { ttl: 60_000_000, ..OnceOptions::default() }).unwrap();
        let claim = |value: &str| once.claim(b"a", Some(value.into())).unwrap().run().unwrap();
        let first = claim("1");
        assert!(first.first && first.value.as_deref().is_some_and(|value| value == b"1"), "{name}: {first:?}");
        let second = claim("2");
        assert!(!second.first && second.value.as_deref().is_some_and(|value| value == b"1"), "{name}: {second:?}");
        assert!((50_000_000..=60_000_000).contains(&second.left), "{name}: {second:?}");
        assert!(once.release(b"a").unwrap().run().unwrap());
        assert!(!once.release(b"a").unwrap().run().unwrap());
        assert!(once.claim(b"a", None).unwrap().run().unwrap().first, "{name}");
        assert_eq!(once.claim(b"a", None).unwrap().run().unwrap().value, None);
    }
}

#[test]
fn the_first_runs_and_the_others_get_its_result() {
    for (name, url) in stores() {
        let client = client(&url, &fresh_prefix("run"));
        let once = client.once("order", OnceOptions::default()).unwrap();
        let mine = ticket(once.begin(b"42", NOW).unwrap().run());
        let claimed = once.claim(b"42", None).unwrap().run().unwrap();
        assert!(!claimed.first && claimed.running && claimed.left > 5_000_000, "{name}: {claimed:?}");
        let waiter = {
            let once = once.clone();
            std::thread::spawn(move || ticket(once.begin(b"42", LONG).unwrap().run()))
        };
        std::thread::sleep(Duration::from_millis(50));
        // A failure is not remembered: the next caller runs.
        assert!(mine.fail(Some("declined")).run().unwrap());
        let second = waiter.join().unwrap();
        assert!(fill(&second, "paid"), "{name}");
        assert_eq!(text(&found(once.begin(b"42", NOW).unwrap().run())), Some("paid"));
        assert_eq!(once.claim(b"42", None).unwrap().run().unwrap().value.unwrap().as_slice(), b"paid");
    }
}
