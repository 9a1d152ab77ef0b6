//! Every answer is that of the definitions (`src/definitions.rs`), with refunds, blocks and reservations, by policies of
//! one rule and of several. And `retry_after` and `reset_after` are true: the state itself is asked a microsecond before
//! and at that time.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use quotalock::testing;
use quotalock::{Client, Decision, Limiter, Policy, Rule, RuleDecision, Unsettled};
use quotalock_tests::definitions::{self, Event, History, admits};
use quotalock_tests::longer::random_cases;
use quotalock_tests::{client, fresh_prefix, stores};

const START: u64 = 1_700_000_000_123_457;
const KEY: &[u8] = b"k";

#[derive(Clone, Debug)]
enum Act {
    Consume(u64),
    UpTo(u64),
    Refund(u64),
    /// Thousandths of the shortest period.
    Block(u64),
    /// Estimate, thousandths of the shortest period, what becomes of it unsettled.
    Reserve(u64, u64, Unsettled),
    /// Settles the oldest open reservation; so much less than was estimated, or more.
    Settle(i64),
}

/// A reservation that was admitted.
#[derive(Clone, Debug)]
struct Hold {
    id: String,
    since: u64,
    stop: u64,
    amount: u64,
    unsettled: Unsettled,
    /// Of each rule that is a bucket, how much it was missing then.
    missing: Vec<Option<u128>>,
    /// The rules that still count it: none that was as new since.
    counted: Vec<bool>,
}

/// All that the definitions need to know of a key.
struct Key {
    /// Each with what happened to it.
    rules: Vec<(Rule, History)>,
    blocked_until: u64,
    holds: Vec<Hold>,
}

impl Key {
    fn admits(&self, now: u64, cost: u64) -> bool {
        now >= self.blocked_until && self.rules.iter().all(|(rule, history)| admits(rule, history, now, cost))
    }

    fn charge(&mut self, at: u64, cost: u64) {
        self.rules.iter_mut().for_each(|(_, history)| history.push(Event::Charged { at, cost }));
    }

    fn refund(&mut self, at: u64, amount: u64) {
        self.rules
            .iter_mut()
            .for_each(|(_, history)| history.push(Event::Refunded { at, since: at, amount, missing: None }));
    }

    /// Gives back some of what was held, to the rules that still count it.
    fn give_back(&mut self, at: u64, hold: &Hold, amount: u64) {
        let shares = self.rules.iter_mut().zip(&hold.missing).zip(&hold.counted);
        shares.filter(|(_, counted)| **counted).for_each(|(((_, history), missing), _)| {
            history.push(Event::Refunded { at, since: hold.since, amount, missing: *missing })
        });
    }

    /// Rules that are as new have forgotten what was held; true if any of them counted a hold.
    fn forget(&mut self, now: u64) -> bool {
        let mut any = false;
        for (i, (rule, history)) in self.rules.iter().enumerate() {
            if admits(rule, history, now, rule.capacity()) {
                self.holds.iter_mut().for_each(|hold| any |= std::mem::take(&mut hold.counted[i]));
            }
        }
        any
    }

    /// A call comes: reservations whose time is over end, which may make a rule as new that other holds stand for.
    fn touch(&mut self, now: u64) {
        self.forget(now);
        let ended: Vec<Hold> = self.holds.extract_if(.., |hold| hold.stop <= now).collect();
        for hold in ended.iter().filter(|hold| hold.unsettled == Unsettled::Returned) {
            self.give_back(now, hold, hold.amount);
        }
        self.forget(now);
    }
}

/// A rule's numbers: the most that fits, and the first moment that admits.
fn check(rule: &Rule, history: &History, now: u64, cost: u64, said: &RuleDecision) -> TestCaseResult {
    let admits = |at: u64, cost: u64| admits(rule, history, at, cost);
    let left = said.remaining;
    prop_assert!(left == 0 || admits(now, left), "remaining {} is too much", left);
    prop_assert!(left >= rule.capacity() || !admits(now, left + 1), "remaining {} is too little", left);
    match said.retry_after {
        Some(0) => prop_assert!(said.allowed),
        Some(wait) => {
            prop_assert!(!admits(now + wait - 1, cost), "admitted a microsecond before retry_after");
            prop_assert!(admits(now + wait, cost), "denied at retry_after");
        }
        None => prop_assert!(cost > rule.capacity()),
    }
    Ok(())
}

fn rule() -> impl Strategy<Value = String> {
    let algorithm = prop::sample::select(quotalock::ALGORITHMS.map(|a| a.name()).to_vec());
    let period = prop_oneof![Just("1 ms"), Just("7 ms"), Just("s"), Just("90 s"), Just("h"), Just("day")];
    let capacity = prop_oneof![2 => Just(None), 1 => (1_u64..40).prop_map(Some)];
    (algorithm, 1_u64..30, period, capacity).prop_map(|(algorithm, limit, period, capacity)| match capacity {
        Some(capacity) if algorithm == "token-bucket" => format!("{algorithm} {limit}/{period} capacity {capacity}"),
        _ => format!("{algorithm} {limit}/{period}"),
    })
}

fn policy() -> impl Strategy<Value = String> {
    let several = prop::collection::vec(rule(), 2..4).prop_map(|rules| rules.join(";"));
    prop_oneof![2 => rule(), 1 => several]
}

fn act() -> impl Strategy<Value = Act> {
    let unsettled = prop_oneof![Just(Unsettled::Spent), Just(Unsettled::Returned)];
    prop_oneof![
        24 => (1_u64..6).prop_map(Act::Consume),
        2 => (1_u64..40).prop_map(Act::UpTo),
        4 => (1_u64..8).prop_map(Act::Refund),
        1 => (1_u64..500).prop_map(Act::Block),
        2 => (1_u64..9, 1_u64..2_000, unsettled).prop_map(|(n, length, unsettled)| Act::Reserve(n, length, unsettled)),
        2 => (-9_i64..9).prop_map(Act::Settle),
    ]
}

/// Performs an act, and keeps the key's history as the definitions want it; none for a settlement, which decides nothing.
/// The decision is about the cost that comes with it.
fn perform(act: &Act, limiter: &Limiter, key: &mut Key, now: u64) -> Result<Option<(u64, Decision)>, TestCaseError> {
    let shortest = key.rules.iter().map(|(rule, _)| rule.period()).min().unwrap();
    let length = |thousandths: &u64| (shortest * thousandths / 1_000).max(quotalock::MIN_BLOCK);
    let admitted = |cost: u64| key.admits(now, cost);
    Ok(Some(match act {
        Act::Consume(cost) => {
            let (expected, decision) = (admitted(*cost), limiter.consume(KEY, *cost).unwrap().run().unwrap());
            prop_assert_eq!(decision.allowed, expected, "after {:?}", &key.rules);
            if expected {
                key.charge(now, *cost);
            }
            (*cost, decision)
        }
        Act::UpTo(most) => {
            let expected = (1..=*most).rev().find(|cost| admitted(*cost)).unwrap_or(0);
            let decision = limiter.consume_up_to(KEY, *most).unwrap().run().unwrap();
            prop_assert_eq!(decision.cost, expected, "after {:?}", &key.rules);
            if expected > 0 {
                key.charge(now, expected);
            }
            (expected.max(1), decision)
        }
        Act::Refund(amount) => {
            key.refund(now, *amount);
            (1, limiter.refund(KEY, *amount).unwrap().run().unwrap())
        }
        Act::Block(thousandths) => {
            key.blocked_until = now + length(thousandths);
            (1, limiter.block(KEY, length(thousandths)).unwrap().run().unwrap())
        }
        Act::Reserve(estimate, thousandths, unsettled) => {
            let (expected, length) = (admitted(*estimate), length(thousandths));
            let (reservation, op) = limiter.reserve(KEY, *estimate, length, *unsettled).unwrap();
            let decision = op.run().unwrap();
            prop_assert_eq!(decision.allowed, expected, "after {:?}", &key.rules);
            if expected {
                key.charge(now, *estimate);
                let (id, counted) = (reservation.id(), vec![true; key.rules.len()]);
                let (since, stop, amount, unsettled) = (now, now + length, *estimate, *unsettled);
                let missing =
                    key.rules.iter().map(|(rule, history)| definitions::missing(rule, history, now)).collect();
                key.holds.push(Hold { id, since, stop, amount, unsettled, missing, counted });
            }
            (*estimate, decision)
        }
        Act::Settle(difference) => {
            let hold = key.holds.remove(0);
            let actual = hold.amount.saturating_add_signed(*difference);
            let reservation = limiter.reservation(KEY, &hold.id).unwrap();
            prop_assert!(reservation.settle(actual).unwrap().run().unwrap());
            if actual > hold.amount {
                key.charge(now, actual - hold.amount);
            } else {
                key.give_back(now, &hold, hold.amount - actual);
            }
            return Ok(None);
        }
    }))
}

/// Asks the state itself, which a look leaves as it is.
fn check_times(client: &Client, limiter: &Limiter, key: &Key, now: u64, cost: u64, said: &Decision) -> TestCaseResult {
    let look = |after: u64, cost: u64| {
        testing::set_time(client, Some(now + after)).unwrap();
        limiter.peek(KEY, cost).unwrap().run().unwrap()
    };
    // A reservation that is given back meanwhile is not foreseen: then the call is admitted earlier.
    let foreseen =
        |after: u64| key.holds.iter().all(|hold| hold.unsettled == Unsettled::Spent || hold.stop > now + after);
    if let Some(wait) = said.retry_after.filter(|wait| *wait > 0) {
        prop_assert!(look(wait, cost).allowed, "denied at retry_after {}", wait);
        prop_assert!(!foreseen(wait - 1) || !look(wait - 1, cost).allowed, "admitted before retry_after {}", wait);
    }
    for (i, rule) in said.rules.iter().enumerate().filter(|(_, rule)| rule.reset_after > 0) {
        let left = |after: u64| look(after, 1).rules[i].remaining;
        prop_assert_eq!(left(rule.reset_after), rule.limit, "not as new at reset_after {}", rule.reset_after);
        let before = rule.reset_after - 1;
        prop_assert!(!foreseen(before) || left(before) < rule.limit, "as new before reset_after");
    }
    Ok(())
}

fn play(url: &str, text: &str, acts: &[(u64, u64, Act)]) -> TestCaseResult {
    let policy = Policy::parse(text).unwrap();
    let rules = policy.rules().iter().map(|rule| (*rule, History::new())).collect();
    let mut key = Key { rules, blocked_until: 0, holds: Vec::new() };
    let client = client(url, &fresh_prefix("oracle"));
    let limiter = client.limiter("oracle", policy).unwrap();
    // The usual time between calls: what a rule admits one in.
    let usual = key.rules.iter().map(|(rule, _)| rule.period() / rule.limit()).min().unwrap();
    let mut now = START;
    for (thousandths, jitter, act) in acts {
        now += usual * thousandths / 1_000 + jitter % 3;
        testing::set_time(&client, Some(now)).unwrap();
        if matches!(act, Act::Settle(_)) {
            let Some(oldest) = key.holds.first() else { continue };
            if oldest.stop <= now {
                // It had ended: that changes nothing, and leaves it to others to write the end down.
                let reservation = limiter.reservation(KEY, &oldest.id).unwrap();
                prop_assert!(!reservation.settle(oldest.amount).unwrap().run().unwrap());
                continue;
            }
        }
        key.touch(now);
        let Some((cost, decision)) = perform(act, &limiter, &mut key, now)? else { continue };
        for ((rule, history), said) in key.rules.iter().zip(&decision.rules) {
            check(rule, history, now, cost, said)?;
        }
        check_times(&client, &limiter, &key, now, cost, &decision)?;
    }
    Ok(())
}

#[test]
fn every_decision_is_the_definitions() {
    for (name, url) in stores() {
        let mut runner = random_cases(if name == "memory" { 2_000 } else { 100 });
        let acts = prop::collection::vec((0_u64..2_000, 0_u64..1 << 20, act()), 60);
        let outcome = runner.run(&(policy(), acts), |(text, acts)| play(&url, &text, &acts));
        outcome.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}
