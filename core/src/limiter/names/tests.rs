use super::*;
use crate::client::{Client, Options};
use crate::limiter::{Charge, Limiter, LimiterOptions};
use crate::testing;

fn client(url: &str) -> Client {
    Client::new(Options { url: Some(url.into()), ..Options::default() }).unwrap()
}

fn at(client: &Client, name: &str, policy: &str, place: &str) -> Limiter {
    let (policy, options) = (Policy::parse(policy).unwrap(), LimiterOptions::default());
    client.limiter_at(name, policy, options, || Some(place.into())).unwrap()
}

fn charge(limiter: &Limiter, key: &str) {
    limiter.consume(key.as_bytes(), 1).unwrap().run().unwrap();
}

/// The warnings of a name that were not taken yet. Others are of tests that run meanwhile.
fn warnings(name: &str) -> Vec<String> {
    let mut all = WARNINGS.get_or_init(Mutex::default).lock().unwrap();
    let (ours, others): (VecDeque<_>, _) = all.drain(..).partition(|warning| warning.contains(&format!("\"{name}\"")));
    *all = others;
    ours.into()
}

#[test]
fn one_key_under_two_policies_within_a_period_is_warned_of_once_with_both_places() {
    let client = client("memory://names-two");
    let (loose, strict) =
        (at(&client, "names-two", "100/minute", "a.py:1"), at(&client, "names-two", "5/hour", "b.py:2"));
    charge(&loose, "alice");
    assert_eq!(warnings("names-two"), [""; 0]);
    charge(&strict, "alice");
    let [warning] = &warnings("names-two")[..] else { panic!() };
    for part in ["\"names-two\"", "\"alice\"", "100/minute (a.py:1)", "5/hour (b.py:2)", "two names"] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    for key in ["alice", "bob"] {
        [&loose, &strict].into_iter().for_each(|limiter| charge(limiter, key));
    }
    assert_eq!(warnings("names-two"), [""; 0], "once");
}

#[test]
fn every_way_to_charge_counts_and_looking_does_not() {
    let client = client("memory://names-ways");
    type Way = (&'static str, fn(&Client, &Limiter));
    let ways: [Way; 7] = [
        ("consume", |_, limiter| charge(limiter, "k")),
        ("at-once", |_, limiter| drop(limiter.consume_at_once(b"k", 1).unwrap().unwrap())),
        ("with", |_, limiter| limiter.consume_at_once_with(b"k", 1, |_| ()).unwrap().unwrap()),
        ("decide", |_, limiter| limiter.decide_at_once(b"k", 1, true, |_| ()).unwrap()),
        ("up-to", |_, limiter| drop(limiter.consume_up_to(b"k", 2).unwrap().run().unwrap())),
        ("request", |_, limiter| drop(limiter.consume_once(b"k", 1, Some(b"id")).unwrap().run().unwrap())),
        ("all", |client, limiter| {
            let charge = Charge { limiter, key: b"k", cost: 1 };
            drop(client.consume_all(&[charge], None).unwrap().run().unwrap());
        }),
    ];
    for (way, make) in ways {
        let name = format!("names-way-{way}");
        let (first, second) = (at(&client, &name, "100/minute", "a"), at(&client, &name, "50/minute", "b"));
        make(&client, &first);
        second.peek(b"k", 1).unwrap().run().unwrap();
        second.consume(b"k", 0).unwrap().run().unwrap();
        assert_eq!(warnings(&name), [""; 0], "{way}: a look");
        make(&client, &second);
        assert_eq!(warnings(&name).len(), 1, "{way}");
    }
}

#[test]
fn plans_of_users_are_not_warned_of() {
    let client = client("memory://names-plans");
    let plans = ["10/minute", "100/minute", "1000/minute"].map(|plan| at(&client, "names-plans", plan, plan));
    for user in 0..1_000_usize {
        let plan = &plans[user % 3];
        (0..2).for_each(|_| charge(plan, &format!("user:{user}")));
    }
    assert_eq!(warnings("names-plans"), [""; 0]);
}

#[test]
fn a_policy_whose_period_has_passed_is_not_warned_of() {
    let client = client("memory://names-later");
    let (old, new) = (at(&client, "names-later", "100/minute;2/s", "a"), at(&client, "names-later", "50/minute", "b"));
    let begins = 1_800_000_000_000_000;
    testing::set_time(&client, Some(begins)).unwrap();
    charge(&old, "k");
    testing::set_time(&client, Some(begins + 60_000_000)).unwrap();
    charge(&new, "k");
    assert_eq!(warnings("names-later"), [""; 0]);
    testing::set_time(&client, Some(begins + 119_000_000)).unwrap();
    charge(&old, "k");
    assert_eq!(warnings("names-later").len(), 1);
}

#[test]
fn others_have_names_of_their_own() {
    let (one, other) = (client("memory://names-others"), client("memory://names-others-too"));
    let prefixed = Options { url: Some("memory://names-others".into()), prefix: "other".into(), ..Options::default() };
    let prefixed = Client::new(prefixed).unwrap();
    let scoped = LimiterOptions { scope: Some(b"s".to_vec()), ..LimiterOptions::default() };
    let scoped = one.limiter_at("names-others", Policy::parse("4/minute").unwrap(), scoped, || None).unwrap();
    let of = |client: &Client, policy: &str| at(client, "names-others", policy, policy);
    let all = [of(&one, "1/minute"), of(&other, "2/minute"), of(&prefixed, "3/minute"), scoped];
    all.iter().for_each(|limiter| charge(limiter, "k"));
    assert_eq!(warnings("names-others"), [""; 0]);
    // A second client of the same server is no other. What was charged before there was a second policy is not known.
    charge(&of(&client("memory://names-others"), "5/minute"), "k");
    assert_eq!(warnings("names-others"), [""; 0]);
    charge(&all[0], "k");
    assert_eq!(warnings("names-others").len(), 1);
}

#[test]
fn a_place_is_asked_for_once_for_a_policy() {
    let client = client("memory://names-place");
    let asked = AtomicUsize::new(0);
    let make = |policy: &str| {
        let place = || Some(asked.fetch_add(1, Ordering::Relaxed).to_string());
        client.limiter_at("names-place", Policy::parse(policy).unwrap(), LimiterOptions::default(), place).unwrap()
    };
    (0..100).for_each(|_| drop((make("1/minute"), make("2/minute"))));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    // More policies than are kept are warned of, too, without what nobody kept.
    let many: Vec<Limiter> = (1..=20).map(|limit| make(&format!("{limit}/minute"))).collect();
    assert_eq!(asked.load(Ordering::Relaxed), MOST_POLICIES);
    many[18..].iter().for_each(|limiter| charge(limiter, "k"));
    let [warning] = &warnings("names-place")[..] else { panic!() };
    assert!(warning.contains("one by another policy, one by 20/minute."), "{warning}");
}

#[test]
fn what_the_user_knows_is_not_said_again() {
    let client = client("memory://names-known");
    let (first, second) = (at(&client, "names-known", "1/minute", "a"), at(&client, "names-known", "2/minute", "b"));
    first.name_is_known();
    [first, second].iter().for_each(|limiter| charge(limiter, "k"));
    assert_eq!(warnings("names-known"), [""; 0]);
}

#[test]
fn the_place_of_rust_is_that_of_the_call() {
    let client = client("memory://names-rust");
    let limiters =
        ["1/minute", "2/minute"].map(|policy| client.limiter("names-rust", Policy::parse(policy).unwrap()).unwrap());
    limiters.iter().for_each(|limiter| charge(limiter, "k"));
    let [warning] = &warnings("names-rust")[..] else { panic!() };
    assert!(warning.matches(&format!("{}:", file!())).count() == 2, "{warning}");
}

#[test]
fn halves_of_two_writers_are_nothing() {
    let slot = ChargedKey { check: AtomicU64::new(0), by: AtomicU64::new(0) };
    slot.set(7, 3, 1_000);
    assert_eq!((slot.get(7), slot.get(8)), (Some((3, 1_000)), None));
    slot.by.store(2_000 << PRINT_BITS | 3, Ordering::Relaxed);
    assert_eq!(slot.get(7), None);
}
