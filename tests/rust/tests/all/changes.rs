//! Policies that change at random: each count has what the policies charged that have its rules, and gets its share of what they
//! held back, whatever stands next to it and in whatever order. The judges are the definitions (`src/definitions.rs`).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::testing;
use quotalock::{Limiter, Policy, Rule, Unsettled};
use quotalock_tests::definitions::{Event, History, admits, missing};
use quotalock_tests::longer::random_cases;
use quotalock_tests::{client, fresh_prefix, stores};

const START: u64 = 1_700_000_000_123_457;
const KEY: &[u8] = b"k";

/// Rules of which some resemble others in all but one thing. None ends within a case, so that each is always found.
const RULES: [&str; 8] = [
    "90/h",
    "70/h",
    "80/2h",
    "calendar-window 85/day",
    "sliding-window 95/day",
    "token-bucket 3/h capacity 80",
    "token-bucket 3/h capacity 60",
    "token-bucket 7/h capacity 75",
];
/// May stand in a policy twice.
const TWICE: usize = 3;
/// Shares a count with the first one.
const SHARES: usize = 1;

/// The first of the rules that share a count.
type Name = usize;

#[derive(Clone, Debug)]
enum Act {
    Consume(u64),
    Peek(u64),
    Reserve(u64, u64, Unsettled),
    /// Which of the open reservations, and so much less than was estimated, or more.
    Settle(usize, i64),
}

#[derive(Clone, Debug)]
struct Step {
    shift: u64,
    /// Which policy.
    policy: usize,
    act: Act,
}

#[derive(Clone)]
struct Hold {
    id: String,
    since: u64,
    stop: u64,
    amount: u64,
    unsettled: Unsettled,
    /// The rules that count it, and what a bucket was missing then.
    shares: BTreeMap<Name, Option<u128>>,
}

/// What a rule is to get back at the next call of a policy that has it.
#[derive(Clone)]
struct Owed {
    name: Name,
    since: u64,
    amount: u64,
    missing: Option<u128>,
}

#[derive(Clone, Default)]
struct Model {
    histories: BTreeMap<Name, History>,
    holds: Vec<Hold>,
    owed: Vec<Owed>,
}

impl Model {
    fn history(&self, name: Name) -> &[Event] {
        self.histories.get(&name).map_or(&[], |history| history)
    }

    fn push(&mut self, name: Name, event: Event) {
        self.histories.entry(name).or_default().push(event);
    }

    fn charge(&mut self, names: &[Name], at: u64, cost: u64) {
        BTreeSet::from_iter(names).into_iter().for_each(|name| self.push(*name, Event::Charged { at, cost }));
    }

    fn owe(&mut self, hold: &Hold, amount: u64) {
        let shares = hold.shares.iter();
        self.owed.extend(shares.map(|(name, missing)| Owed {
            name: *name,
            since: hold.since,
            amount,
            missing: *missing,
        }));
    }

    /// The rules of a policy get what they are owed.
    fn pay(&mut self, names: &[Name], at: u64) {
        let (paid, owed) = std::mem::take(&mut self.owed).into_iter().partition(|owed| names.contains(&owed.name));
        self.owed = owed;
        for Owed { name, since, amount, missing } in paid {
            self.push(name, Event::Refunded { at, since, amount, missing });
        }
    }

    /// A call of a policy comes.
    fn touch(&mut self, names: &[Name], now: u64) {
        let ended: Vec<Hold> = self.holds.extract_if(.., |hold| hold.stop <= now).collect();
        for hold in ended.iter().filter(|hold| hold.unsettled == Unsettled::Returned) {
            self.owe(hold, hold.amount);
        }
        self.pay(names, now);
    }
}

fn policy() -> impl Strategy<Value = Vec<usize>> {
    let all: Vec<usize> = (0..RULES.len()).collect();
    (Just(all).prop_shuffle(), 1..=RULES.len(), prop::bool::weighted(0.3)).prop_map(|(mut rules, length, twice)| {
        rules.truncate(length);
        if twice && rules.contains(&TWICE) {
            rules.push(TWICE);
        }
        rules
    })
}

fn step() -> impl Strategy<Value = Step> {
    let unsettled = prop_oneof![Just(Unsettled::Spent), Just(Unsettled::Returned)];
    let act = prop_oneof![
        8 => (1_u64..6).prop_map(Act::Consume),
        4 => (1_u64..90).prop_map(Act::Peek),
        5 => (1_u64..9, 1_000_u64..60_000_000, unsettled).prop_map(|(n, ttl, unsettled)| Act::Reserve(n, ttl, unsettled)),
        5 => (0_usize..8, -9_i64..5).prop_map(|(which, difference)| Act::Settle(which, difference)),
    ];
    (0_u64..15_000_000, 0_usize..4, act).prop_map(|(shift, policy, act)| Step { shift, policy, act })
}

/// The counts of a policy's rules.
fn names(rules: &[usize]) -> Vec<Name> {
    rules.iter().map(|rule| if *rule == SHARES { 0 } else { *rule }).collect()
}

fn check(model: &Model, names: &[Name], rules: &[Rule], now: u64, decided: &quotalock::Decision) -> TestCaseResult {
    for ((name, rule), said) in names.iter().zip(rules).zip(&decided.rules) {
        let admitted = |cost: u64| admits(rule, model.history(*name), now, cost);
        let left = said.remaining;
        prop_assert!(left == 0 || admitted(left), "remaining {left} of {rule} is too much");
        prop_assert!(left >= rule.capacity() || !admitted(left + 1), "remaining {left} of {rule} is too little");
    }
    Ok(())
}

fn play(url: &str, policies: &[Vec<usize>], steps: &[Step]) -> TestCaseResult {
    let client = client(url, &fresh_prefix("changes"));
    let parsed = |rules: &[usize]| {
        let text: Vec<&str> = rules.iter().map(|rule| RULES[*rule]).collect();
        Policy::parse(&text.join(";")).unwrap()
    };
    let limiter = |rules: &[usize]| client.limiter("changes", parsed(rules)).unwrap();
    let (mut model, mut now) = (Model::default(), START);
    // All rules have something to count.
    let all: Vec<usize> = (0..RULES.len()).chain([TWICE]).collect();
    testing::set_time(&client, Some(now)).unwrap();
    prop_assert!(limiter(&all).consume(KEY, 5).unwrap().run().unwrap().allowed);
    model.charge(&names(&all), now, 5);
    let limiters: Vec<Limiter> = policies.iter().map(|rules| limiter(rules)).collect();
    for (i, step) in steps.iter().enumerate() {
        now += step.shift;
        testing::set_time(&client, Some(now)).unwrap();
        let (limiter, names) = (&limiters[step.policy], names(&policies[step.policy]));
        let rules = limiter.policy().rules();
        if matches!(step.act, Act::Settle(..)) && model.holds.iter().all(|hold| hold.stop <= now) {
            continue;
        }
        let looks = matches!(step.act, Act::Peek(_));
        let before = looks.then(|| model.clone());
        model.touch(&names, now);
        let admitted = |model: &Model, cost| {
            names.iter().zip(rules).all(|(name, rule)| admits(rule, model.history(*name), now, cost))
        };
        match &step.act {
            Act::Consume(cost) => {
                let expected = admitted(&model, *cost);
                let decided = limiter.consume(KEY, *cost).unwrap().run().unwrap();
                prop_assert_eq!(decided.allowed, expected, "step {}", i);
                if expected {
                    model.charge(&names, now, *cost);
                }
                check(&model, &names, rules, now, &decided)?;
            }
            Act::Peek(cost) => {
                let decided = limiter.peek(KEY, *cost).unwrap().run().unwrap();
                prop_assert_eq!(decided.allowed, admitted(&model, *cost), "step {}", i);
                check(&model, &names, rules, now, &decided)?;
            }
            Act::Reserve(estimate, ttl, unsettled) => {
                let expected = admitted(&model, *estimate);
                let (reservation, op) = limiter.reserve(KEY, *estimate, *ttl, *unsettled).unwrap();
                let decided = op.run().unwrap();
                prop_assert_eq!(decided.allowed, expected, "step {}", i);
                if expected {
                    model.charge(&names, now, *estimate);
                    let share = |(name, rule): (&Name, &Rule)| (*name, missing(rule, model.history(*name), now));
                    let shares = names.iter().zip(rules).map(share).collect();
                    let (id, unsettled, amount) = (reservation.id(), *unsettled, *estimate);
                    model.holds.push(Hold { id, since: now, stop: now + ttl, amount, unsettled, shares });
                }
                check(&model, &names, rules, now, &decided)?;
            }
            Act::Settle(which, difference) => {
                let hold = model.holds.remove(which % model.holds.len());
                let actual = hold.amount.saturating_add_signed(*difference);
                let settled = limiter.reservation(KEY, &hold.id).unwrap().settle(actual).unwrap().run().unwrap();
                prop_assert!(settled, "step {}", i);
                match hold.amount.checked_sub(actual) {
                    Some(less) => model.owe(&hold, less),
                    None => model.charge(&names, now, actual - hold.amount),
                }
                model.pay(&names, now);
            }
        }
        // Who only looks changes nothing: what ended, ends at the next call.
        if let Some(before) = before {
            model = before;
        }
    }
    Ok(())
}

#[test]
fn every_count_stays_through_all_changes() {
    let agree = |name: &str, url: &str| {
        let mut runner = random_cases(if name == "memory" { 167 } else { 17 });
        let policies = [policy(), policy(), policy(), policy()];
        let outcome = runner
            .run(&(policies, prop::collection::vec(step(), 50)), |(policies, steps)| play(url, &policies, &steps));
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    };
    std::thread::scope(|scope| {
        for (name, url) in stores() {
            scope.spawn(move || agree(&name, &url));
        }
    });
}
