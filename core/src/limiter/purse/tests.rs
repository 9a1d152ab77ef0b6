use super::*;
use crate::limiter::decision::RuleDecision;
use wire::base::source::Source;

const LIFE: u64 = 1_000_000;

fn decision(allowed: bool, cost: u64, remaining: u64) -> Decision {
    let rule = RuleDecision {
        allowed,
        limit: 1_000,
        remaining,
        retry_after: Some(if allowed { 0 } else { LIFE }),
        reset_after: LIFE,
        algorithm: "fixed-window",
        quota: 1_000,
        period: LIFE,
        capacity: 1_000,
    };
    Decision::combine(&"n".into(), [rule], 0, cost, false, Source::Redis)
}

/// A purse, and what Redis has left.
struct Store {
    purses: Purses,
    owner: PurseOwner,
    left: u64,
}

impl Store {
    fn new(left: u64) -> Store {
        Store { purses: Purses::default(), owner: Arc::new(7_u8), left }
    }

    fn turn(&self, key: &[u8], cost: u64, now: u64) -> PurseTurn {
        let is_own = |owner: &PurseOwner| Arc::ptr_eq(owner, &self.owner);
        self.purses.spend_or_ask(key, || self.owner.clone(), is_own, (cost, 100), (now, 500))
    }

    /// One call from beginning to end: how much was asked for beside its cost, none if it was spent here.
    fn call(&mut self, key: &[u8], cost: u64, now: u64) -> Option<u64> {
        match self.turn(key, cost, now) {
            PurseTurn::Spent(decision) => {
                assert_eq!((decision.source, decision.cost, decision.allowed), (Source::Lease, cost, true));
                None
            }
            PurseTurn::Ask(taking) => {
                self.answer(key, taking, cost, now);
                Some(taking.more)
            }
        }
    }

    fn answer(&mut self, key: &[u8], taking: Taking, cost: u64, now: u64) {
        let allowed = cost + taking.more <= self.left;
        self.left -= if allowed { cost + taking.more } else { 0 };
        let mut told = decision(allowed, cost, self.left);
        told.with_held(taking.more);
        self.purses.fill(key, taking, told, LIFE, now);
    }
}

#[test]
fn it_takes_twice_as_many_while_they_do_not_last_and_half_when_some_were_lost() {
    let mut store = Store::new(1_000);
    let asked = |store: &mut Store, now, calls| (0..calls).filter_map(|_| store.call(b"k", 1, now)).collect::<Vec<_>>();
    assert_eq!(asked(&mut store, 0, 300), [0, 1, 3, 7, 15, 31, 63, 99, 99]);
    // The window ends: of the last ones some are lost.
    store.left = 1_000;
    assert_eq!(asked(&mut store, LIFE, 100), [49, 99]);
    let left = store.left;
    assert_eq!(store.purses.give_up(LIFE).iter().map(|left| left.amount).sum::<u64>(), 50);
    assert_eq!(left + 150, 1_000);
}

#[test]
fn it_takes_no_more_than_half_of_what_redis_has_left() {
    let mut store = Store::new(50);
    let taken: Vec<u64> = (0..50).filter_map(|_| store.call(b"k", 1, 0)).collect();
    assert_eq!(taken, [0, 1, 3, 7, 15, 9, 4, 1, 0, 0]);
    assert_eq!(store.left, 0);
    assert_eq!(store.call(b"k", 1, 0), Some(0), "Redis denies, and is asked for one");
    assert_eq!(store.call(b"k", 1, 1), Some(0));
}

#[test]
fn nothing_is_spent_at_the_end_or_after() {
    let mut store = Store::new(1_000);
    (0..20).for_each(|_| assert!(store.call(b"k", 1, 0).is_none_or(|more| more < 100)));
    assert_eq!(store.call(b"k", 1, LIFE - 1), None);
    assert!(store.call(b"k", 1, LIFE).is_some());
}

#[test]
fn what_a_call_brought_ends_as_if_it_had_come_when_the_call_was_sent() {
    let mut store = Store::new(1_000);
    (0..3).for_each(|_| assert!(store.call(b"k", 1, 0).is_none_or(|more| more < 100)));
    let PurseTurn::Ask(taking) = store.turn(b"k", 1, 100) else { panic!("nothing is here") };
    store.answer(b"k", taking, 1, 400);
    assert_eq!(store.call(b"k", 1, LIFE + 99), None);
    assert!(store.call(b"k", 1, LIFE + 100).is_some());
}

#[test]
fn one_takes_and_others_ask_for_themselves() {
    let mut store = Store::new(1_000);
    (0..3).for_each(|_| assert!(store.call(b"k", 1, 0).is_none_or(|more| more < 100)));
    let PurseTurn::Ask(first) = store.turn(b"k", 1, 0) else { panic!("nothing is here") };
    assert_eq!(first.more, 3);
    for _ in 0..100 {
        let PurseTurn::Ask(other) = store.turn(b"k", 1, 1) else { panic!("nothing is here") };
        assert_eq!(other.more, 0);
        store.answer(b"k", other, 1, 1);
    }
    store.answer(b"k", first, 1, 2);
    assert_eq!(store.call(b"k", 3, 3), None, "what the first one took");
    // One that never answers is not waited for.
    assert!(matches!(store.turn(b"k", 1, 4), PurseTurn::Ask(Taking { more: 7, .. })));
    assert!(matches!(store.turn(b"k", 1, 503), PurseTurn::Ask(Taking { more: 0, .. })));
    assert!(matches!(store.turn(b"k", 1, 504), PurseTurn::Ask(Taking { more: 15, .. })));
}

#[test]
fn what_was_dropped_is_gone_and_what_is_on_its_way_too() {
    let mut store = Store::new(1_000);
    (0..5).for_each(|_| assert!(store.call(b"k", 1, 0).is_none_or(|more| more < 100)));
    assert_eq!(store.call(b"k", 1, 0), None);
    store.purses.drop_key(b"k");
    assert_eq!(store.call(b"k", 1, 0), Some(0));
    let PurseTurn::Ask(taking) = store.turn(b"k", 1, 0) else { panic!("nothing is here") };
    store.purses.drop_key(b"k");
    assert!(matches!(store.turn(b"k", 1, 0), PurseTurn::Ask(Taking { more: 0, .. })));
    store.answer(b"k", taking, 1, 0);
    assert!(store.purses.give_up(0).is_empty(), "what was asked for before the drop");
}

#[test]
fn another_owner_spends_nothing_of_it() {
    let mut store = Store::new(1_000);
    (0..5).for_each(|_| assert!(store.call(b"k", 1, 0).is_none_or(|more| more < 100)));
    let first = std::mem::replace(&mut store.owner, Arc::new(8_u8));
    assert_eq!(store.call(b"k", 1, 0), Some(0));
    store.owner = first;
    assert_eq!(store.call(b"k", 1, 0), Some(0), "what the first had is gone");
}

#[test]
fn a_refund_of_what_was_consumed_here_leaves_it_and_one_of_more_does_not() {
    let mut store = Store::new(1_000);
    (0..8).for_each(|_| assert!(store.call(b"k", 1, 0).is_none_or(|more| more < 100)));
    let held = |store: &Store| {
        store.purses.shards.iter().map(|s| s.lock().unwrap().recent.values().map(|p| p.left).sum::<u64>()).sum::<u64>()
    };
    assert_eq!(held(&store), 7);
    assert!(!store.purses.refunded(b"k", 8, 0));
    assert_eq!(held(&store), 7);
    assert!(store.purses.refunded(b"k", 3, 0), "8 were consumed");
    assert_eq!(held(&store), 4);
}

#[test]
fn the_keys_of_long_ago_are_forgotten() {
    let mut store = Store::new(u64::MAX / 2);
    for number in 0_u64..100_000 {
        store.call(&number.to_be_bytes(), 1, 0);
        store.call(b"kept", 1, 0);
    }
    let count = |shard: &Mutex<PurseShard>| {
        let shard = shard.lock().unwrap();
        shard.recent.len() + shard.older.len()
    };
    assert!(store.purses.shards.iter().map(count).sum::<usize>() <= 2 * SHARDS * RECENT);
    assert_eq!(store.call(b"kept", 1, 0), None, "what is asked for often stays");
}
