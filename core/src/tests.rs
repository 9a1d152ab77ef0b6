//! What clients show of the crate below: their memory, and what a call is told.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use wire::base::clock::ServerClock;
use wire::base::error::Code;
use wire::call::resp::Reply;
use wire::machine::Call;
use wire::memory::store::StoreSize;
use wire::session::exchange::Step;

use crate::client::{Client, Options};
use crate::testing;

fn client(url: &str) -> Client {
    Client::new(Options { url: Some(url.into()), ..Options::default() }).unwrap()
}

/// What is left of three after one more call.
fn left(client: &Client) -> u64 {
    let limiter = client.limiter("shared", "3/hour".parse().unwrap()).unwrap();
    limiter.consume(b"k", 1).unwrap().run().unwrap().remaining
}

#[test]
fn a_memory_is_shared_by_all_clients_of_its_name() {
    let (one, other, third) = (client("memory://one"), client("memory://one"), client("memory://third"));
    assert_eq!([left(&one), left(&other), left(&third)], [2, 1, 2]);
    assert_eq!((one.server(), one.is_in_memory()), ("memory://one".into(), true));
    let (first, second) = (client("memory://"), client("memory://"));
    assert_eq!([left(&first), left(&second)], [2, 1]);
}

#[test]
fn a_memory_with_a_name_is_forgotten_with_its_last_client() {
    let (one, other) = (client("memory://kept"), client("memory://kept"));
    assert_eq!(left(&one), 2);
    one.close();
    one.close();
    drop(one);
    let third = client("memory://kept");
    assert_eq!(left(&third), 1, "another client keeps it");
    drop((third, other));
    assert_eq!(left(&client("memory://kept")), 2);
    drop(client("memory://plain"));
}

#[test]
fn the_memory_without_a_name_is_kept_as_long_as_the_process_lives() {
    let count = || {
        let own = client("memory://");
        own.limiter("for good", "9/hour".parse().unwrap()).unwrap().consume(b"k", 1).unwrap().run().unwrap().remaining
    };
    assert_eq!([count(), count()], [8, 7]);
}

#[test]
fn a_time_of_a_test_forgets_nothing_of_others() {
    let (one, other) = (client("memory://times"), client("memory://times"));
    testing::set_time(&other, Some(1_000_000_000_000_000)).unwrap();
    let limiter = |client: &Client, name| client.limiter(name, "3/s".parse().unwrap()).unwrap();
    let [mine, theirs] = [limiter(&one, "mine"), limiter(&other, "theirs")];
    let ask = |limiter: &crate::Limiter| limiter.consume(b"k", 1).unwrap().run().unwrap().remaining;
    assert_eq!([ask(&theirs), ask(&mine), ask(&theirs)], [2, 2, 1]);
    let at_once = |key: &[u8]| theirs.consume_at_once(key, 1).unwrap().unwrap().remaining;
    assert_eq!(at_once(b"another"), 2);
    // As many keys as have the expired ones looked for.
    for key in 0..20_000_u32 {
        mine.consume(&key.to_le_bytes(), 1).unwrap().run().unwrap();
    }
    assert_eq!((ask(&theirs), at_once(b"another")), (0, 1));
}

#[test]
fn a_panic_leaves_an_empty_memory_and_not_a_dead_one() {
    let own = client("memory://panics");
    assert_eq!(left(&own), 2);
    let panics = || own.session.engine().memory.with_space(|_| panic!("a fault"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!([left(&own), left(&own)], [2, 1]);
}

#[test]
fn a_name_that_cannot_be_is_refused_and_not_shown() {
    for url in ["memory://a/b", "memory://a?b", "memory://user:secret@x", "memory://a b", "memory://é"] {
        let error = Client::new(Options { url: Some(url.into()), ..Options::default() }).err().unwrap();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(!error.message().contains("secret"), "{error}");
    }
    let longest = "x".repeat(255);
    assert_eq!(client(&format!("memory://{longest}")).server(), format!("memory://{longest}"));
    assert!(Client::new(Options { url: Some(format!("memory://x{longest}")), ..Options::default() }).is_err());
}

#[test]
fn a_million_keys_that_are_soon_over_take_the_room_of_few() {
    let own = client("memory://million");
    let limiter = own.limiter("n", "5/ms".parse().unwrap()).unwrap();
    let mut most = 0;
    for key in 0..1_000_000_u32 {
        limiter.consume_at_once(&key.to_le_bytes(), 1).unwrap().unwrap();
        if key % 1_000 == 0 {
            most = most.max(own.session.engine().memory.size().room);
        }
    }
    assert!(most < 100_000, "room for {most} keys");
}

#[test]
fn keys_that_live_are_all_kept_and_room_is_given_back_when_they_are_over() {
    let own = client("memory://living");
    let store = &own.session.engine().memory;
    let limiter = |period: &str| own.limiter("n", format!("5/{period}").parse().unwrap()).unwrap();
    let (day, short) = (limiter("day"), limiter("ms"));
    for key in 0..50_000_u32 {
        short.consume_at_once(&(key + 50_000).to_le_bytes(), 1).unwrap().unwrap();
    }
    for key in 0..5_000_u32 {
        day.consume_at_once(&key.to_le_bytes(), 1).unwrap().unwrap();
    }
    let kept = |key: u32| day.consume_at_once(&key.to_le_bytes(), 1).unwrap().unwrap().remaining == 3;
    assert!((0..5_000).all(kept));
    let StoreSize { keys, room, .. } = store.size();
    assert!((5_000..60_000).contains(&keys) && room < 200_000, "{keys} keys, room for {room}");
}

#[test]
fn calls_about_several_keys_and_about_one_do_not_wait_for_each_other_for_ever() {
    let own = client("memory://several");
    let limiter = own.limiter("n", "1000000/day".parse().unwrap()).unwrap();
    let keys: Vec<[u8; 1]> = (0..40).map(|key| [key]).collect();
    std::thread::scope(|scope| {
        for reversed in [false, true] {
            let (own, limiter, keys) = (&own, &limiter, &keys);
            scope.spawn(move || {
                let mut charges: Vec<_> = keys.iter().map(|key| crate::Charge { limiter, key, cost: 1 }).collect();
                if reversed {
                    charges.reverse();
                }
                for _ in 0..300 {
                    assert!(own.consume_all(&charges, None).unwrap().run().unwrap().allowed);
                    assert!(limiter.consume_at_once(&keys[0], 1).unwrap().unwrap().allowed);
                }
            });
        }
    });
    let left = |key: &[u8; 1]| limiter.peek(key, 1).unwrap().run().unwrap().remaining;
    assert_eq!([left(&keys[0]), left(&keys[39])], [1_000_000 - 1_200, 1_000_000 - 600]);
}

#[test]
fn what_a_server_refused_a_call_with_is_not_forgotten_when_its_time_is_over_before_it_is_sent_again() {
    let url = Some("redis://127.0.0.1:1".to_owned());
    let client = Client::new(Options { url, timeout: Duration::from_secs(60), ..Options::default() }).unwrap();
    let limiter = client.limiter("n", "3/hour".parse().unwrap()).unwrap();
    let Call::One(mut exchange) = limiter.consume(b"k", 1).unwrap().into_call() else { panic!("of one server") };
    assert!(matches!(exchange.start(), Step::Send));
    let refusal = Reply::Error("LOADING Redis is loading the dataset in memory".into());
    assert!(matches!(exchange.on_reply(refusal, &mut ServerClock::new(0, Instant::now())), Step::Sleep(_)));
    let Step::Done(Err(error)) = exchange.on_timeout_unsent() else { panic!("the call ends") };
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("LOADING"), "{error}");
}

#[test]
fn what_came_of_an_earlier_try_is_not_forgotten_when_the_time_of_the_next_one_is_over() {
    let url = Some("redis://127.0.0.1:1".to_owned());
    let client = Client::new(Options { url, timeout: Duration::from_secs(60), ..Options::default() }).unwrap();
    let limiter = client.limiter("n", "3/hour".parse().unwrap()).unwrap();
    for is_sent_again in [false, true] {
        let Call::One(mut exchange) = limiter.consume(b"k", 1).unwrap().into_call() else { panic!("of one server") };
        assert!(matches!(exchange.start(), Step::Send));
        let too_late = Reply::Array(vec![Reply::Int(0), Reply::Int(1_763_900_000_000_000)]);
        let step = exchange.on_reply(too_late, &mut ServerClock::new(0, Instant::now()));
        assert!(matches!(step, Step::Send));
        let ended = if is_sent_again { exchange.on_timeout() } else { exchange.on_timeout_unsent() };
        let Step::Done(Err(error)) = ended else { panic!("the call ends") };
        assert_eq!(error.code(), Code::Timeout);
        assert!(error.message().contains("arrived at the server too late and was not done"), "{error}");
        // The last try may have run.
        assert_eq!(error.message().contains("got no answer"), is_sent_again, "{error}");
    }
}
