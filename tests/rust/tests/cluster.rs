//! A cluster, played: what follows from each answer, in every driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quotalock::driver::LoopLink;
use quotalock::{Charge, Client, Code, Decision, Limiter, Op, Options, Policy, Result};
use quotalock_tests::futures::block_on;
use quotalock_tests::puppets::{Does, Puppet, is_call, slots};
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{fresh_prefix, servers};

const TIMEOUT: Duration = Duration::from_millis(1_500);
/// What a call may take beside its timeout, on a busy machine.
const BESIDE: Duration = Duration::from_millis(400);

type Drive = fn(Op<Decision>) -> Result<Decision>;

/// On the caller's thread, on the process' thread, on a loop.
const DRIVERS: [(&str, Drive); 3] =
    [("blocking", Op::run), ("thread", block_on::<Result<Decision>>), ("loop", on_a_loop)];

fn on_a_loop(op: Op<Decision>) -> Result<Decision> {
    let mut link = LoopLink::new(|()| true).unwrap();
    link.submit(op.erased(), ());
    let mut due = link.flush().next_turn;
    loop {
        if let Some(((), answer)) = link.take_done().pop() {
            return answer?.take();
        }
        std::thread::sleep(due.unwrap_or(TIMEOUT).min(Duration::from_millis(1)));
        due = link.wake().next_turn;
    }
}

fn real() -> String {
    servers().into_iter().find(|(name, _)| name == "redis-7.0").unwrap().1
}

fn puppets<const N: usize>() -> [Puppet; N] {
    std::array::from_fn(|_| Puppet::before(&real()))
}

fn client_at(url: &str) -> Client {
    let prefix = fresh_prefix("cluster");
    Client::new(Options { url: Some(url.into()), prefix, timeout: TIMEOUT, ..Options::default() }).unwrap()
}

fn limiter_at(url: &str) -> Limiter {
    client_at(url).limiter("n", Policy::parse("1000/hour").unwrap()).unwrap()
}

fn limiter(seeds: &[&Puppet]) -> Limiter {
    let seeds: Vec<String> = seeds.iter().map(|seed| seed.address()).collect();
    limiter_at(&format!("redis+cluster://{}", seeds.join(",")))
}

/// Does as a server of this map; its calls as `calls` says.
fn of_map(
    map: String,
    calls: impl Fn(&[String], &[Vec<String>]) -> Does + Send + Sync + 'static,
) -> impl Fn(&[String], &[Vec<String>]) -> Does {
    move |words, before| match words {
        words if is_call(words) => calls(words, before),
        [cluster, ..] if cluster == "CLUSTER" => Does::Says(map.clone()),
        [asking] if asking == "ASKING" => Does::Says("+OK".into()),
        _ => Does::It,
    }
}

fn calls(puppet: &Puppet) -> usize {
    puppet.count("EVALSHA") + puppet.count("EVAL")
}

#[test]
fn who_moved_is_followed_and_remembered() {
    for (name, drive) in DRIVERS {
        let [one, two] = puppets();
        let map = slots(&[(0, 16_383, &[(one.port, "1")])]);
        let moved = format!("-MOVED 1 {}", two.address());
        one.does(of_map(map.clone(), move |_, _| Does::Says(moved.clone())));
        two.does(of_map(map, |_, _| Does::It));
        let limiter = limiter(&[&one]);
        for remaining in (990..1_000).rev() {
            assert_eq!(drive(limiter.consume(b"k", 1).unwrap()).unwrap().remaining, remaining, "{name}");
        }
        assert_eq!(calls(&one), 1, "{name}: the map was corrected");
    }
}

#[test]
fn who_has_a_slot_on_its_way_is_asked_once_and_told_so() {
    for (name, drive) in DRIVERS {
        let [one, two] = puppets();
        let map = slots(&[(0, 16_383, &[(one.port, "1")])]);
        let (ask, back) = (format!("-ASK 1 {}", two.address()), format!("-MOVED 1 {}", one.address()));
        one.does(of_map(map.clone(), move |_, _| Does::Says(ask.clone())));
        let is_new = AtomicBool::new(true);
        two.does(of_map(map, move |_, before| match before.last() {
            Some(last) if last[0] == "ASKING" && is_new.swap(false, Ordering::SeqCst) => {
                Does::Says("-NOSCRIPT No matching script.".into())
            }
            Some(last) if last[0] == "ASKING" => Does::It,
            _ => Does::Says(back.clone()),
        }));
        let limiter = limiter(&[&one]);
        for remaining in (990..1_000).rev() {
            assert_eq!(drive(limiter.consume(b"k", 1).unwrap()).unwrap().remaining, remaining, "{name}");
        }
        assert_eq!((calls(&one), calls(&two), two.count("ASKING")), (10, 11, 11), "{name}");
    }
}

#[test]
fn what_may_have_run_is_sent_again_with_a_request_id_alone() {
    for (name, drive) in DRIVERS {
        let [one, two] = puppets();
        let map = slots(&[(0, 16_383, &[(one.port, "1"), (two.port, "2")])]);
        let goes = Arc::new(AtomicBool::new(true));
        let will = goes.clone();
        one.does(of_map(map.clone(), move |_, _| match will.swap(false, Ordering::SeqCst) {
            true => Does::ItAndGoes,
            false => Does::It,
        }));
        two.does(of_map(map, |_, _| Does::It));
        let limiter = limiter(&[&one]);
        // So that the script is known.
        goes.store(false, Ordering::SeqCst);
        assert_eq!(drive(limiter.consume(b"k", 1).unwrap()).unwrap().remaining, 999, "{name}");
        goes.store(true, Ordering::SeqCst);
        let before = calls(&one) + calls(&two);
        let error = drive(limiter.consume(b"k", 1).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{name}: {error}");
        assert_eq!(calls(&one) + calls(&two), before + 1, "{name}: sent once");
        assert_eq!(drive(limiter.peek(b"k", 1).unwrap()).unwrap().remaining, 998, "{name}");
        drive(limiter.consume_once(b"k", 1, Some(b"first")).unwrap()).unwrap();
        goes.store(true, Ordering::SeqCst);
        assert_eq!(drive(limiter.consume_once(b"k", 1, Some(b"id")).unwrap()).unwrap().remaining, 996, "{name}");
        assert_eq!(drive(limiter.peek(b"k", 1).unwrap()).unwrap().remaining, 996, "{name}: charged once");
    }
}

/// A port that nobody listens on.
fn nobody() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_replica_is_asked_in_place_of_a_primary_that_has_gone_but_not_all_the_time() {
    for (name, drive) in DRIVERS {
        let [replica, other] = puppets();
        let gone = nobody();
        let map = slots(&[(0, 16_383, &[(gone, "1"), (replica.port, "2")])]);
        let promoted = Arc::new(AtomicBool::new(false));
        let (is_promoted, back) = (promoted.clone(), format!("-MOVED 1 127.0.0.1:{gone}"));
        replica.does(of_map(map.clone(), move |_, _| match is_promoted.load(Ordering::SeqCst) {
            true => Does::It,
            false => Does::Says(back.clone()),
        }));
        other.does(of_map(map, |_, _| Does::It));
        let limiter = limiter(&[&other]);
        let began = Instant::now();
        // Twice at least, however long the machine stands still.
        while began.elapsed() < Duration::from_millis(600) || calls(&replica) < 2 {
            assert!(began.elapsed() < Duration::from_secs(20), "{name}: it is not asked again");
            let error = drive(limiter.consume(b"k", 1).unwrap()).unwrap_err();
            assert_eq!(error.code(), Code::Unavailable, "{name}: {error}");
            assert!(error.message().contains(&gone.to_string()), "{name}: {error}");
        }
        let asked = calls(&replica);
        // One in 40 ms.
        assert!((2..=1 + began.elapsed().as_millis() as usize / 40).contains(&asked), "{name}: {asked}");
        promoted.store(true, Ordering::SeqCst);
        let (stalls, visible) = (Stalls::watch(), Instant::now());
        while drive(limiter.consume(b"k", 1).unwrap()).is_err() {
            assert!(visible.elapsed() < Duration::from_secs(20), "{name}: nobody notices");
            std::thread::sleep(Duration::from_millis(1));
        }
        let noticed = visible.elapsed();
        assert!(noticed < Duration::from_secs(1) + stalls.worst(), "{name}: after {noticed:?}");
        for _ in 0..5 {
            drive(limiter.consume(b"another", 1).unwrap()).expect("from now on it is the primary");
        }
    }
}

#[test]
fn a_map_that_is_wrong_all_the_time_is_asked_for_again_but_not_all_the_time() {
    let ask = |name: &str, drive: Drive| {
        let [one, two] = puppets();
        let map = slots(&[(0, 16_383, &[(one.port, "1")])]);
        let moved = format!("-MOVED 1 {}", two.address());
        one.does(of_map(map.clone(), move |_, _| Does::Says(moved.clone())));
        two.does(of_map(map, |_, _| Does::It));
        let limiter = limiter(&[&one, &two]);
        // Beside the first question, and the check of the other seed if the map does not name it.
        let asked = || (one.count("CLUSTER") + two.count("CLUSTER")).saturating_sub(2);
        let began = Instant::now();
        for number in 0_u64.. {
            drive(limiter.consume(number.to_string().as_bytes(), 1).unwrap()).unwrap();
            if asked() > 0 && began.elapsed() > Duration::from_millis(2_500) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{name}: never again");
        }
        assert!(asked() <= 1 + began.elapsed().as_secs() as usize, "{name}: {} in {:?}", asked(), began.elapsed());
    };
    std::thread::scope(|scope| {
        DRIVERS.into_iter().for_each(|(name, drive)| drop(scope.spawn(move || ask(name, drive))));
    });
}

#[test]
fn servers_that_send_a_call_to_and_fro_cost_it_its_time_and_no_more() {
    for (name, drive) in DRIVERS {
        let [one, two] = puppets();
        let map = slots(&[(0, 16_383, &[(one.port, "1")])]);
        for (puppet, other) in [(&one, &two), (&two, &one)] {
            let moved = format!("-MOVED 1 {}", other.address());
            puppet.does(of_map(map.clone(), move |_, _| Does::Says(moved.clone())));
        }
        let limiter = limiter(&[&one]);
        let (stalls, began) = (Stalls::watch(), Instant::now());
        let error = drive(limiter.consume(b"k", 1).unwrap()).unwrap_err();
        let took = began.elapsed();
        assert_eq!(error.code(), Code::Unavailable, "{name}: {error}");
        assert!(took < TIMEOUT + BESIDE + stalls.worst(), "{name}: {took:?}");
        assert!(calls(&one) + calls(&two) < 80, "{name}: {} and {}", calls(&one), calls(&two));
    }
}

#[test]
fn keys_of_several_slots_are_refused_before_anything_is_sent() {
    let [one] = puppets();
    one.does(of_map(slots(&[(0, 16_383, &[(one.port, "1")])]), |_, _| Does::It));
    let client = client_at(&format!("redis+cluster://{}", one.address()));
    let limiter = client.limiter("n", Policy::parse("1000/hour").unwrap()).unwrap();
    let charges = [b"a".as_slice(), b"b"].map(|key| Charge { limiter: &limiter, key, cost: 1 });
    let error = client.consume_all(&charges, None).unwrap().run().unwrap_err();
    assert_eq!(error.code(), Code::CrossSlot);
    assert!(error.message().contains("scope"), "{error}");
    assert_eq!(calls(&one), 0);
}

#[test]
fn a_server_that_hangs_delays_nobody_elses_keys() {
    for (name, drive) in DRIVERS {
        let [slow, sound] = puppets();
        // The slot of "k" within its braces is 7629, that of "c" 7365.
        let map = slots(&[(0, 7_500, &[(sound.port, "1")]), (7_501, 16_383, &[(slow.port, "2")])]);
        sound.does(of_map(map, |_, _| Does::It));
        slow.does(|_, _| Does::Nothing);
        let limiter = limiter(&[&sound]);
        drive(limiter.consume(b"c", 1).unwrap()).unwrap();
        let hanging = limiter.clone();
        let waiting = std::thread::spawn(move || drive(hanging.consume(b"k", 1).unwrap()).unwrap_err().code());
        let (stalls, began) = (Stalls::watch(), Instant::now());
        let mut slowest = Duration::ZERO;
        while began.elapsed() < TIMEOUT + BESIDE {
            let sent = Instant::now();
            drive(limiter.consume(b"c", 1).unwrap()).unwrap();
            slowest = slowest.max(sent.elapsed());
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(slowest < TIMEOUT / 2 + stalls.worst(), "{name}: {slowest:?}");
        assert_eq!(waiting.join().unwrap(), Code::Timeout, "{name}");
    }
}

#[test]
fn a_hole_in_the_map_is_told_until_it_is_filled_and_the_other_keys_go_on() {
    for (name, drive) in DRIVERS {
        let [one, two] = puppets();
        let map = slots(&[(0, 7_500, &[(one.port, "1")])]);
        let filled = Arc::new(AtomicBool::new(false));
        let (is_filled, moved) = (filled.clone(), format!("-MOVED 1 {}", two.address()));
        one.does(of_map(map.clone(), move |words, _| match words.iter().any(|word| word.contains("{k}")) {
            true if is_filled.load(Ordering::SeqCst) => Does::Says(moved.clone()),
            true => Does::Says("-CLUSTERDOWN Hash slot not served".into()),
            false => Does::It,
        }));
        two.does(of_map(map, |_, _| Does::It));
        let limiter = limiter(&[&one]);
        drive(limiter.consume(b"c", 1).unwrap()).unwrap();
        for _ in 0..20 {
            let error = drive(limiter.consume(b"k", 1).unwrap()).unwrap_err();
            assert_eq!(error.code(), Code::Unavailable, "{name}");
            assert!(error.message().contains("slot 7629"), "{name}: {error}");
            drive(limiter.consume(b"c", 1).unwrap()).unwrap();
        }
        filled.store(true, Ordering::SeqCst);
        let (stalls, since) = (Stalls::watch(), Instant::now());
        while drive(limiter.consume(b"k", 1).unwrap()).is_err() {
            assert!(since.elapsed() < Duration::from_secs(20), "{name}: nobody notices");
            std::thread::sleep(Duration::from_millis(1));
        }
        let noticed = since.elapsed();
        assert!(noticed < Duration::from_secs(1) + stalls.worst(), "{name}: after {noticed:?}");
        drive(limiter.consume(b"k", 1).unwrap()).expect("from now on it is known");
    }
}

#[test]
fn what_is_wrong_with_a_url_is_told_in_time_with_the_cure() {
    let [one, two] = puppets();
    one.does(of_map(slots(&[(0, 16_383, &[(one.port, "1")])]), |_, _| Does::Says("-MOVED 1 127.0.0.1:1".into())));
    two.does(of_map(slots(&[(0, 16_383, &[(two.port, "2")])]), |_, _| Does::It));
    let [misled] = puppets();
    let elsewhere = slots(&[(0, 16_383, &[(nobody(), "1")])]);
    misled.does(of_map(elsewhere, |_, _| Does::It));
    let plain = real();
    let (plain, a, b) = (plain.trim_start_matches("redis://"), one.address(), two.address());
    for (url, code, cure) in [
        (format!("redis://{a}"), Code::Unavailable, "use redis+cluster://"),
        (format!("redis+cluster://{plain}"), Code::Unavailable, "use redis://"),
        (format!("redis+cluster://{a},{b}"), Code::InvalidArgument, "different clusters"),
        ("redis+cluster://nowhere.invalid:1".to_owned(), Code::Unavailable, "nowhere.invalid:1"),
        (format!("redis+cluster://127.0.0.1:{}", nobody()), Code::Unavailable, "is Redis running there"),
        (format!("redis+cluster://{}", misled.address()), Code::Unavailable, "host_map="),
    ] {
        for (name, drive) in DRIVERS {
            let (stalls, began) = (Stalls::watch(), Instant::now());
            let error = drive(limiter_at(&url).consume(b"k", 1).unwrap()).unwrap_err();
            let took = began.elapsed();
            assert_eq!(error.code(), code, "{url}, {name}: {error}");
            assert!(error.message().contains(cure), "{url}, {name}: {error}");
            assert!(took < TIMEOUT + BESIDE + stalls.worst(), "{url}, {name}: {took:?}");
        }
    }
    assert_eq!(calls(&two), 0);
}

#[test]
fn all_seeds_may_go_once_the_map_is_known() {
    let [seed, one] = puppets();
    let map = slots(&[(0, 16_383, &[(one.port, "1")])]);
    let goes = Arc::new(AtomicBool::new(false));
    let is_gone = goes.clone();
    let serve = of_map(map.clone(), |_, _| Does::It);
    seed.does(move |words, before| if is_gone.load(Ordering::SeqCst) { Does::Nothing } else { serve(words, before) });
    one.does(of_map(map, |_, _| Does::It));
    let limiter = limiter(&[&seed]);
    limiter.consume(b"k", 1).unwrap().run().unwrap();
    goes.store(true, Ordering::SeqCst);
    for _ in 0..20 {
        limiter.consume(b"k", 1).unwrap().run().unwrap();
    }
}

#[test]
fn a_server_that_was_removed_is_noticed_by_who_misses_it() {
    for (name, drive) in DRIVERS {
        let [stays, new] = puppets();
        let gone = nobody();
        let map = slots(&[(0, 7_500, &[(stays.port, "1")]), (7_501, 16_383, &[(gone, "2")])]);
        let moved = format!("-MOVED 1 {}", new.address());
        stays.does(of_map(map, move |words, _| match words.iter().any(|word| word.contains("{c}")) {
            true => Does::It,
            false => Does::Says(moved.clone()),
        }));
        let limiter = limiter(&[&stays]);
        for key in [b"c".as_slice(), b"k", b"n", b"o", b"k"] {
            drive(limiter.consume(key, 1).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        assert_eq!(new.count("EVALSHA"), 4, "{name}");
    }
}

#[test]
fn a_refusal_of_the_second_try_says_nothing_of_the_first() {
    for (name, drive) in DRIVERS {
        let [one] = puppets();
        let tries = AtomicUsize::new(0);
        one.does(move |words, _| match words {
            words if !is_call(words) => Does::It,
            _ if tries.fetch_add(1, Ordering::SeqCst) == 0 => Does::ItAndGoes,
            _ => Does::Says("-NOPERM this user has no permissions to run the 'evalsha' command".into()),
        });
        let limiter = limiter_at(&format!("redis://{}", one.address()));
        let error = drive(limiter.consume_once(b"k", 1, Some(b"id")).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{name}: {error}");
        assert!(error.message().contains("may or may not") && error.message().contains("evalsha"), "{name}: {error}");
    }
}
