//! A cluster, played: what follows from each answer, in every driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quotalock::driver::LoopLink;
use quotalock::{CacheOptions, Charge, Client, Code, Decision, Error, Got, Limiter, Op, Options, Policy, Result};
use quotalock_tests::futures::block_on;
use quotalock_tests::puppets::{Does, Puppet, is_call, slots};
use quotalock_tests::stalls::Stalls;
use quotalock_tests::{fresh_prefix, is_away, servers};

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
    of_state("ok", 1, map, calls)
}

/// The same, which says this of its cluster.
fn of_state(
    state: &'static str,
    epoch: u64,
    map: String,
    calls: impl Fn(&[String], &[Vec<String>]) -> Does + Send + Sync + 'static,
) -> impl Fn(&[String], &[Vec<String>]) -> Does {
    let info = format!("cluster_state:{state}\r\ncluster_current_epoch:{epoch}\r\n");
    let info = format!("${}\r\n{info}", info.len());
    move |words, before| match words {
        words if is_call(words) => calls(words, before),
        [cluster, what] if cluster == "CLUSTER" && what == "INFO" => Does::Says(info.clone()),
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
        assert!(noticed < Duration::from_secs(1) + stalls.lost(), "{name}: after {noticed:?}");
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
        // Beside the first questions, one to each; a question is two commands.
        let asked = || ((one.count("CLUSTER") + two.count("CLUSTER")) / 2).saturating_sub(2);
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

/// A call that two servers send on to each other, by `MOVED` or `ASK`: its error, once that took no longer than its time and
/// named both of them.
fn sent_in_a_circle(by: &str, name: &str, drive: Drive) -> Error {
    let [one, two] = puppets();
    let map = slots(&[(0, 16_383, &[(one.port, "1")])]);
    for (puppet, other) in [(&one, &two), (&two, &one)] {
        let redirection = format!("-{by} 1 {}", other.address());
        puppet.does(of_map(map.clone(), move |_, _| Does::Says(redirection.clone())));
    }
    let limiter = limiter(&[&one]);
    let (stalls, began) = (Stalls::watch(), Instant::now());
    let error = drive(limiter.consume(b"k", 1).unwrap()).unwrap_err();
    let took = began.elapsed();
    let parts = ["redirections go round", &one.address(), &two.address()];
    assert!(parts.iter().all(|part| error.message().contains(part)), "{name}: {error}");
    assert!(took < TIMEOUT + BESIDE + stalls.lost(), "{name}: {took:?}");
    assert!(calls(&one) + calls(&two) < 120, "{name}: {} and {}", calls(&one), calls(&two));
    error
}

#[test]
fn servers_that_send_a_call_to_and_fro_cost_it_its_time_and_no_more() {
    for (name, drive) in DRIVERS {
        let error = sent_in_a_circle("MOVED", name, drive);
        // The time may end while the call rests or while it is on its way.
        assert!(is_away(&error), "{name}: {error}");
    }
}

#[test]
fn a_slot_that_is_on_its_way_in_a_circle_is_told_as_one() {
    for (name, drive) in DRIVERS {
        let error = sent_in_a_circle("ASK", name, drive);
        assert!(is_away(&error), "{name}: {error}");
    }
}

#[test]
fn a_host_that_lets_nobody_in_is_asked_thrice_at_most() {
    for (name, drive) in DRIVERS {
        let [one] = puppets();
        // It hangs up before it was greeted.
        let shut = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = shut.local_addr().unwrap().port();
        let came = Arc::new(AtomicUsize::new(0));
        let counts = came.clone();
        std::thread::spawn(move || shut.incoming().for_each(|_| _ = counts.fetch_add(1, Ordering::SeqCst)));
        let ask = format!("-ASK 1 127.0.0.1:{port}");
        one.does(of_map(slots(&[(0, 16_383, &[(one.port, "1")])]), move |_, _| Does::Says(ask.clone())));
        let error = drive(limiter(&[&one]).consume(b"k", 1).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{name}: {error}");
        assert!(error.message().contains(&port.to_string()), "{name}: {error}");
        let came = came.load(Ordering::SeqCst);
        assert!((1..=3).contains(&came), "{name}: {came} connections");
    }
}

#[test]
fn a_redirection_that_is_none_names_its_server() {
    for (name, drive) in DRIVERS {
        for text in
            ["-MOVED x 127.0.0.1:1", "-MOVED 99999 127.0.0.1:1", "-ASK", "-MOVED 1", "-MOVED 1 nowhere", "-ASK 1 a b:x"]
        {
            let [one] = puppets();
            let says = text.to_owned();
            one.does(of_map(slots(&[(0, 16_383, &[(one.port, "1")])]), move |_, _| Does::Says(says.clone())));
            let error = drive(limiter(&[&one]).consume(b"k", 1).unwrap()).unwrap_err();
            assert_eq!(error.code(), Code::Unavailable, "{name}, {text}: {error}");
            assert!(error.message().contains(&one.address()), "{name}, {text}: {error}");
        }
    }
}

#[test]
fn what_was_never_sent_is_not_said_to_have_no_answer() {
    for (name, drive) in DRIVERS {
        // Connections are accepted by the system alone.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis+cluster://{}", silent.local_addr().unwrap());
        let error = drive(limiter_at(&url).consume(b"k", 1).unwrap()).unwrap_err();
        assert_eq!(error.code(), Code::Timeout, "{name}: {error}");
        assert!(!error.message().contains("got no answer"), "{name}: {error}");
    }
}

#[test]
fn a_value_is_served_and_stored_while_its_slot_is_on_its_way() {
    let [one] = puppets();
    let refuses = Arc::new(AtomicBool::new(false));
    let is_on_its_way = refuses.clone();
    // It has the entry, and nobody waits for it: the third word of a call is how many keys it has.
    one.does(of_map(slots(&[(0, 16_383, &[(one.port, "1")])]), move |words, _| match words[2].as_str() {
        "2" if is_on_its_way.load(Ordering::SeqCst) => {
            Does::Says("-TRYAGAIN Multiple keys request during rehashing of slot".into())
        }
        _ => Does::It,
    }));
    let client = client_at(&format!("redis+cluster://{}", one.address()));
    let cache = client.cache("home", CacheOptions::default()).unwrap();
    cache.put(b"k", Some(b"first".to_vec())).unwrap().run().unwrap();
    refuses.store(true, Ordering::SeqCst);
    let seen = |key: &[u8]| match cache.get(key, None).unwrap().run().unwrap() {
        Got::Found(seen) => seen.value.map(|value| value.to_vec()),
        Got::Load(_) => None,
    };
    assert_eq!(seen(b"k").as_deref(), Some(b"first".as_slice()));
    cache.put(b"k", Some(b"second".to_vec())).unwrap().run().unwrap();
    assert_eq!(seen(b"k").as_deref(), Some(b"second".as_slice()));
    assert!(cache.invalidate(b"k").unwrap().run().unwrap());
    let Got::Load(ticket) = cache.get(b"k", None).unwrap().run().unwrap() else { panic!("the caller loads it") };
    assert!(ticket.fill(Some(b"third".to_vec())).unwrap().run().unwrap());
    assert_eq!(seen(b"k").as_deref(), Some(b"third".as_slice()));
    // What needs all its keys says what to do.
    let limiter = client.limiter("n", Policy::parse("1000/hour").unwrap()).unwrap();
    let error = limiter.consume_once(b"k", 1, Some(b"id")).unwrap().run().unwrap_err();
    assert!(is_away(&error), "{error}");
    let cure = format!("redis-cli --cluster fix {}", one.address());
    assert!(error.message().contains(&cure), "{error}");
}

/// Behind `localhost`, which is a name of its own.
#[test]
fn a_host_that_is_not_trusted_is_never_connected_to() {
    for (name, drive) in DRIVERS {
        for how in ["map", "moved", "ask", "replica"] {
            let [one, other] = puppets();
            let evil = slots(&[(0, 16_383, &[(other.port, "2")])]).replace("$9\r\n127.0.0.1", "$9\r\nlocalhost");
            let own = slots(&[(0, 16_383, &[(one.port, "1")])]);
            let say = |text: String| move |_: &[String], _: &[Vec<String>]| Does::Says(text.clone());
            match how {
                "map" => one.does(of_map(evil, |_, _| Does::It)),
                "moved" => one.does(of_map(own, say(format!("-MOVED 1 localhost:{}", other.port)))),
                "ask" => one.does(of_map(own, say(format!("-ASK 1 localhost:{}", other.port)))),
                _ => {
                    let both = slots(&[(0, 16_383, &[(one.port, "1"), (other.port, "2")])]);
                    let (head, tail) = both.rsplit_once("$9\r\n127.0.0.1").unwrap();
                    one.does(of_map(format!("{head}$9\r\nlocalhost{tail}"), say(DOWN.into())));
                }
            }
            let url = format!("redis+cluster://{}?trusted_hosts=10.0.0.0/8,*.example", one.address());
            let error = drive(limiter_at(&url).consume(b"k", 1).unwrap()).unwrap_err();
            let (is_right, part) = match how {
                "replica" => (is_away(&error), "CLUSTERDOWN"),
                _ => (error.code() == Code::NotPermitted, "trusted_hosts"),
            };
            assert!(is_right, "{name}, {how}: {error}");
            assert!(error.message().contains(part), "{name}, {how}: {error}");
            assert_eq!(other.connections(), 0, "{name}, {how}");
        }
    }
}

const DOWN: &str = "-CLUSTERDOWN The cluster is down";

#[test]
fn a_primary_that_is_cut_off_is_not_the_last_word() {
    for (name, drive) in DRIVERS {
        let [old, near, far, other] = puppets();
        let ids = [(old.port, "1"), (near.port, "2"), (far.port, "3")];
        let map = |first: usize| {
            let shard: Vec<_> = (0..3).map(|at| ids[(first + at) % 3]).collect();
            slots(&[(0, 7_500, &[(other.port, "4")]), (7_501, 16_383, &shard)])
        };
        let (is_cut, is_promoted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let cut = is_cut.clone();
        old.does(of_state("fail", 4, map(0), move |_, _| match cut.load(Ordering::SeqCst) {
            true => Does::Says(DOWN.into()),
            false => Does::It,
        }));
        near.does(of_state("fail", 4, map(0), |_, _| Does::Says(DOWN.into())));
        let (promoted, back) = (is_promoted.clone(), format!("-MOVED 1 {}", old.address()));
        far.does(of_map(map(2), move |_, _| match promoted.load(Ordering::SeqCst) {
            true => Does::It,
            false => Does::Says(back.clone()),
        }));
        let owner = format!("-MOVED 1 {}", old.address());
        other.does(of_map(map(0), move |_, _| Does::Says(owner.clone())));
        let limiter = limiter(&[&other]);
        drive(limiter.consume(b"k", 1).unwrap()).unwrap();
        is_cut.store(true, Ordering::SeqCst);
        // On a busy machine the time may end while a try is under way, and not in the pause after an answer.
        let patience = Instant::now() + Duration::from_secs(60);
        let error = std::iter::from_fn(|| (Instant::now() < patience).then_some(())).find_map(|()| {
            let before = [&old, &near, &far].map(calls);
            let error = drive(limiter.consume(b"k", 1).unwrap()).unwrap_err();
            // A pause of 32 ms between two tries, each with four servers at most, but those in 40 ms once.
            let sent: Vec<_> =
                [&old, &near, &far].map(calls).iter().zip(before).map(|(now, then)| now - then).collect();
            assert!(sent.iter().all(|sent| *sent <= 60), "{name}: {sent:?}");
            let is_all = sent.iter().all(|sent| *sent > 0);
            (error.code() != Code::Timeout && is_all).then_some(error)
        });
        let error = error.expect("a call that asks all three, and whose time ends in a pause");
        assert_eq!(error.code(), Code::Unavailable, "{name}: {error}");
        assert!(error.message().contains(&old.address()) && error.message().contains("CLUSTERDOWN"), "{name}: {error}");
        is_promoted.store(true, Ordering::SeqCst);
        let (stalls, visible) = (Stalls::watch(), Instant::now());
        while drive(limiter.consume(b"k", 1).unwrap()).is_err() {
            assert!(visible.elapsed() < Duration::from_secs(20), "{name}: nobody notices");
            std::thread::sleep(Duration::from_millis(1));
        }
        let noticed = visible.elapsed();
        assert!(noticed < Duration::from_secs(1) + stalls.lost(), "{name}: after {noticed:?}");
        let before = calls(&old);
        for _ in 0..20 {
            drive(limiter.consume(b"k", 1).unwrap()).expect("from now on the replica is the primary");
        }
        assert_eq!(calls(&old), before, "{name}");
    }
}

#[test]
fn a_new_client_believes_the_majority_and_those_that_serve() {
    for (name, drive) in DRIVERS {
        // What a seed says of its cluster, its epoch, and whether it names the new primary.
        for seeds in [
            [("fail", 3, false), ("ok", 4, true), ("ok", 4, true)],
            [("fail", 9, false), ("fail", 9, false), ("ok", 4, true)],
            // One that forgot the others sees a majority of itself.
            [("ok", 3, false), ("ok", 4, true), ("ok", 4, true)],
            [("ok", 9, false), ("ok", 4, true), ("ok", 4, true)],
            // Without the right to ask they say nothing of themselves.
            [("", 0, false), ("", 0, true), ("", 0, true)],
        ] {
            let [old, new, first, second, third] = puppets();
            let ids = [(old.port, "1"), (new.port, "2")];
            let map = |is_new| slots(&[(0, 16_383, &if is_new { [ids[1], ids[0]] } else { ids })]);
            old.does(of_state("fail", 3, map(false), |_, _| Does::Says(DOWN.into())));
            new.does(of_state("ok", 4, map(true), |_, _| Does::It));
            for (puppet, (state, epoch, is_new)) in [&first, &second, &third].into_iter().zip(seeds) {
                puppet.does(of_state(state, epoch, map(is_new), |_, _| Does::Nothing));
            }
            for _ in 0..8 {
                drive(limiter(&[&first, &second, &third]).consume(b"k", 1).unwrap())
                    .unwrap_or_else(|error| panic!("{name}, {seeds:?}: {error}"));
            }
            assert_eq!(calls(&old), 0, "{name}, {seeds:?}");
        }
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
        // A busy machine may delay a call of one client, but not one of each of five.
        let is_delayed = !(0..5).any(|_| {
            let limiter = limiter(&[&sound]);
            drive(limiter.consume(b"c", 1).unwrap()).unwrap();
            let hanging = limiter.clone();
            let waiting = std::thread::spawn(move || drive(hanging.consume(b"k", 1).unwrap()).unwrap_err().code());
            let mut slowest = Duration::ZERO;
            while !waiting.is_finished() {
                let sent = Instant::now();
                drive(limiter.consume(b"c", 1).unwrap()).unwrap();
                slowest = slowest.max(sent.elapsed());
                std::thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(waiting.join().unwrap(), Code::Timeout, "{name}");
            slowest < TIMEOUT / 2
        });
        assert!(!is_delayed, "{name}");
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
        assert!(noticed < Duration::from_secs(1) + stalls.lost(), "{name}: after {noticed:?}");
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
            assert!(took < TIMEOUT + BESIDE + stalls.lost(), "{url}, {name}: {took:?}");
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
