//! Many calls at once travel in few script calls, and each is answered as if it had travelled alone.

use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use quotalock::driver::LoopLink;
use quotalock::testing::{self, TestValueKind};
use quotalock::{Answer, Client, Code, Decision, Limiter, Op, Policy, Result};
use quotalock_tests::gate::Gate;
use quotalock_tests::longer::random_cases;
use quotalock_tests::operator::command;
use quotalock_tests::own_server::OwnServer;
use quotalock_tests::puppets::{Does, Puppet};
use quotalock_tests::{ELSEWHERE, client, fresh_prefix, servers};

const START: u64 = 1_700_000_000_000_000;
/// The most calls at once.
const MOST: usize = 90;
const KEYS: [&[u8]; 4] = [b"a", b"b", b"{c}", b"\xff"];
/// Two of one name: the policy changes; a third of another name; one for every policy.
const POLICIES: [(&str, &str); 4] = [
    ("one", "5/10s"),
    ("one", "sliding-window 7/20s;token-bucket 3/s"),
    ("two", "sliding-log 6/10s"),
    ("three", "2/s;calendar-window 9/minute;sliding-window 8/minute;token-bucket 4/s;sliding-log 20/hour"),
];

#[derive(Clone, Debug)]
enum Act {
    Consume(u64),
    Require(u64),
    Peek,
    Refund,
    Reset,
}

/// Which limiter, which key, what.
type Call = (usize, usize, Act);

fn call() -> impl Strategy<Value = Call> {
    let act = prop_oneof![
        30 => Just(Act::Consume(1)),
        4 => (2_u64..4).prop_map(Act::Consume),
        10 => Just(Act::Require(1)),
        1 => Just(Act::Peek),
        1 => Just(Act::Refund),
        1 => Just(Act::Reset),
    ];
    let limiter = prop_oneof![12 => Just(0_usize), 3 => 1..POLICIES.len()];
    (limiter, 0..KEYS.len(), act)
}

/// A key: an odd one, or a plain one of many.
fn named(key: usize) -> Vec<u8> {
    KEYS.get(key).map_or_else(|| format!("key {key}").into_bytes(), |odd| odd.to_vec())
}

fn limiters(client: &Client) -> Vec<Limiter> {
    let made = POLICIES.iter().map(|(name, policy)| client.limiter(name, Policy::parse(policy).unwrap()).unwrap());
    made.collect()
}

fn described((which, key, act): &Call, limiters: &[Limiter]) -> Op<Answer> {
    let (limiter, key) = (&limiters[*which], &named(*key));
    match act {
        Act::Consume(cost) => limiter.consume(key, *cost).unwrap().erased(),
        Act::Require(cost) => limiter.require(key, *cost).unwrap().erased(),
        Act::Peek => limiter.peek(key, 1).unwrap().erased(),
        Act::Refund => limiter.refund(key, 1).unwrap().erased(),
        Act::Reset => limiter.reset(key).unwrap().erased(),
    }
}

/// All of an answer but who gave it.
fn told(answer: Result<Answer>) -> String {
    let shown = |decision: &Decision| {
        let Decision { allowed, remaining, retry_after, reset_after, cost, healed, rules, .. } = decision;
        format!("{allowed} {remaining} {retry_after:?} {reset_after} {cost} {healed} {rules:?}")
    };
    match answer {
        Ok(answer) => answer.get::<Decision>().map_or_else(|| format!("{:?}", answer.get::<bool>()), shown),
        Err(error) => format!(
            "{} {}",
            error.code().as_str(),
            error.cause::<quotalock::Decision>().map_or_else(String::new, shown)
        ),
    }
}

/// Makes the calls at once, and returns their answers in their order.
fn at_once(calls: impl IntoIterator<Item = Op<Answer>>) -> Vec<Result<Answer>> {
    let mut link = LoopLink::new(|_| true).unwrap();
    let mut count = 0;
    for call in calls {
        link.submit(call, count);
        count += 1;
    }
    link.flush();
    let mut answers: Vec<Option<Result<Answer>>> = (0..count).map(|_| None).collect();
    while answers.iter().any(Option::is_none) {
        link.wake();
        link.take_done().into_iter().for_each(|(at, answer)| answers[at] = Some(answer));
        thread::sleep(Duration::from_micros(200));
    }
    answers.into_iter().flatten().collect()
}

#[test]
fn each_is_answered_as_if_it_had_travelled_alone() {
    for (name, url) in servers() {
        let batches = prop::collection::vec((0_u64..3_000_000, prop::collection::vec(call(), 1..=MOST)), 1..6);
        // A call whose script the server does not know yet is sent again, behind others.
        let warm = limiters(&client(&url, &fresh_prefix("warm")));
        for limiter in 0..POLICIES.len() {
            let acts = [
                Act::Consume(1),
                Act::Refund,
                Act::Reset,
                Act::Consume(1),
                Act::Consume(1),
                Act::Consume(1),
                Act::Consume(1),
            ];
            at_once(acts.into_iter().map(|act| described(&(limiter, 0, act), &warm)));
        }
        let mut runner = random_cases(10);
        let compared = runner.run(&batches, |batches| {
            let sides = [client(&url, &fresh_prefix("bundle")), client("memory://", &fresh_prefix("bundle"))];
            let [far, near] = sides.each_ref().map(limiters);
            let mut now = START;
            for (pause, mut calls) in batches {
                if name == ELSEWHERE {
                    // It forgets scripts, and a call that is sent again comes behind others: of those at once each has a key.
                    calls.iter_mut().enumerate().for_each(|(n, (_, key, _))| *key = n);
                }
                now += pause;
                sides.iter().for_each(|side| testing::set_time(side, Some(now)).unwrap());
                let together: Vec<_> =
                    at_once(calls.iter().map(|call| described(call, &far))).into_iter().map(told).collect();
                let alone: Vec<_> = calls.iter().map(|call| told(described(call, &near).run())).collect();
                for (call, (together, alone)) in calls.iter().zip(together.iter().zip(&alone)) {
                    prop_assert_eq!(together, alone, "{}: {:?}", name, call);
                }
            }
            for limiter in 0..POLICIES.len() {
                for key in 0..if name == ELSEWHERE { MOST } else { KEYS.len() } {
                    let stored = [(&sides[0], &far), (&sides[1], &near)].map(|(side, limiters)| {
                        let key = limiters[limiter].redis_key(&named(key)).unwrap();
                        testing::get(side, &key).run().unwrap().map(|stored| stored.value)
                    });
                    prop_assert_eq!(&stored[0], &stored[1], "{}", name);
                }
            }
            Ok(())
        });
        compared.unwrap();
    }
}

#[test]
fn a_hundred_calls_are_few_script_calls() {
    for (name, url) in servers() {
        // It counts what this test calls, and no other.
        let puppet = Puppet::before(&url);
        let script_calls = || puppet.count("EVALSHA") + puppet.count("EVAL");
        let client = client(&format!("redis://{}", puppet.address()), &fresh_prefix("few"));
        let limiter = client.limiter("few", Policy::parse("30/hour").unwrap()).unwrap();
        at_once((0..8).map(|_| limiter.consume(b"warm", 1).unwrap().erased()));
        let before = script_calls();
        let answers = at_once((0..100).map(|_| limiter.consume(b"k", 1).unwrap().erased()));
        let admitted = answers.iter().filter(|a| a.as_ref().unwrap().get::<Decision>().unwrap().allowed).count();
        assert_eq!(admitted, 30, "{name}");
        assert!((1..50).contains(&(script_calls() - before)), "{name}");
    }
}

#[test]
fn what_fails_for_one_key_fails_for_its_call_alone() {
    for (name, url) in servers() {
        let client = client(&url, &fresh_prefix("odd"));
        let limiter = client.limiter("odd", Policy::parse("3/hour").unwrap()).unwrap();
        testing::put(&client, &limiter.redis_key(b"list").unwrap(), TestValueKind::List, b"x").run().unwrap();
        let keys = (0..60).map(|n: usize| if n % 4 == 3 { b"list".to_vec() } else { format!("k{n}").into_bytes() });
        let answers = at_once(keys.clone().map(|key| limiter.consume(&key, 1).unwrap().erased()));
        for (key, answer) in keys.zip(answers) {
            match answer {
                Err(error) => assert_eq!((key.as_slice(), error.code()), (&b"list"[..], Code::WrongType), "{name}"),
                Ok(answer) => assert_eq!(answer.get::<Decision>().unwrap().remaining, 2, "{name}: charged once"),
            }
        }
    }
}

#[test]
fn a_server_that_forgot_the_script_is_told_it_once() {
    for (name, shared) in servers() {
        // Others of the process mind; the stand-in for rented servers forgets all the time, and cannot be started here.
        let own = (name != ELSEWHERE).then(|| OwnServer::start(&name));
        let url = own.as_ref().map_or(shared, |server| server.url().to_owned());
        let client = client(&url, &fresh_prefix("forgot"));
        let limiter = client.limiter("forgot", Policy::parse("1000/hour").unwrap()).unwrap();
        let many = |count: usize| at_once((0..count).map(|_| limiter.consume(b"k", 1).unwrap().erased()));
        assert!(many(40).into_iter().all(|answer| answer.is_ok()), "{name}");
        command(&url, &["SCRIPT", "FLUSH"]);
        let answers = many(200);
        let left: Vec<u64> = answers.into_iter().map(|a| a.unwrap().get::<Decision>().unwrap().remaining).collect();
        assert_eq!(left.iter().min(), Some(&760), "{name}: each was charged, and once");
    }
}

#[test]
fn nobody_is_charged_for_whom_a_bundle_comes_too_late() {
    for (name, url) in servers() {
        // A slow server needs more time than a fast one for those who are in time: until one of them was.
        let mut timeouts = [5, 10, 20, 40].map(Duration::from_secs).into_iter();
        let was_in_time = timeouts.any(|timeout| done_in_time(&name, &url, timeout) > 0);
        assert!(was_in_time, "{name}: none was in time");
    }
}

/// Lets the bundle of some calls come too late, but not that of others, and returns how many of these were done.
fn done_in_time(name: &str, url: &str, timeout: Duration) -> u64 {
    let (gate, prefix) = (Gate::before(url), fresh_prefix("late"));
    let limiter = |client: &Client| client.limiter("late", Policy::parse("100/hour").unwrap()).unwrap();
    let hasty = limiter(&gate.client_within(&prefix, timeout));
    let mut link = LoopLink::new(|_| true).unwrap();
    let submit = |link: &mut LoopLink<bool>, count, early| {
        (0..count).for_each(|_| link.submit(hasty.consume(b"k", 1).unwrap().erased(), early));
    };
    let ends = |link: &mut LoopLink<bool>| {
        let mut ended = Vec::new();
        while link.is_busy() {
            thread::sleep(Duration::from_millis(1));
            link.wake();
            ended.extend(link.take_done());
        }
        ended
    };
    submit(&mut link, 5, true);
    link.flush();
    assert!(ends(&mut link).into_iter().all(|(_, answer)| answer.is_ok()), "{name}");
    // The first are over when their bundle arrives, the others are not: those in a bundle of their own are done.
    gate.hold_up(timeout / 2);
    submit(&mut link, 20, true);
    thread::sleep(timeout * 6 / 10);
    submit(&mut link, 20, false);
    link.flush();
    let ended = ends(&mut link);
    assert!(ended.iter().all(|(early, answer)| answer.is_err() || !early), "{name}");
    let done = ended.iter().filter(|(_, answer)| answer.is_ok()).count() as u64;
    gate.hold_up(Duration::ZERO);
    let left = limiter(&client(url, &prefix)).peek(b"k", 1).unwrap().run().unwrap().remaining;
    assert_eq!(left, 95 - done, "{name}");
    done
}

#[test]
fn where_a_proxy_refuses_bundles_calls_travel_one_by_one() {
    for (name, url) in servers() {
        let puppet = Puppet::before(&url);
        puppet.does(|words, _| match words[0].starts_with("EVAL") && words[2] != "1" {
            true => Does::Says("-ERR KEYS should not be in expression".into()),
            false => Does::It,
        });
        let client = client(&format!("redis://{}", puppet.address()), &fresh_prefix("proxy"));
        let limiter = client.limiter("proxy", Policy::parse("100/hour").unwrap()).unwrap();
        let mut link = LoopLink::new(|_| true).unwrap();
        for round in 1..=3_u64 {
            (0..20).for_each(|at| link.submit(limiter.consume(b"k", 1).unwrap().erased(), at));
            link.flush();
            let mut answered = Vec::new();
            while answered.len() < 20 {
                thread::sleep(Duration::from_millis(1));
                link.wake();
                answered.extend(link.take_done().into_iter().map(|(_, answer)| answer.unwrap()));
            }
            let left = answered.iter().map(|answer| answer.get::<Decision>().unwrap().remaining).min();
            assert_eq!(left, Some(100 - 20 * round), "{name}");
        }
        // Each of sixty, those that did not know the script yet, and the bundle that was refused.
        assert!(puppet.count("EVALSHA") < 60 + 3, "{name}: {} calls", puppet.count("EVALSHA"));
    }
}
