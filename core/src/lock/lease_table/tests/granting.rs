//! Who is granted: one holder of a mutex, as many as there are permits, all tables or none.

use super::*;

#[test]
fn a_mutex_has_one_holder_until_its_deadline_and_not_a_microsecond_longer() {
    let mut lock = Locks::with(1);
    assert!(lock.acquire(A).is_some());
    assert_eq!(lock.acquire(B), None);
    lock.now += TTL - 1;
    assert_eq!(lock.acquire(B), None);
    lock.now += 1;
    assert!(lock.acquire(B).is_some());
    assert!(!lock.release(A) && !lock.extend(A, TTL), "it is over");
    assert_eq!(lock.acquire(C), None, "who does not hold frees nothing");
    assert!(lock.release(B) && !lock.release(B));
    assert!(lock.acquire(C).is_some());
}

#[test]
fn the_same_attempt_gets_the_same_token_and_a_later_deadline_never_an_earlier_one() {
    let mut lock = Locks::with(1);
    let token = lock.acquire(A);
    lock.now += SECOND;
    assert_eq!(lock.take(Acquire { ttl: SECOND, ..lock.call(A) }), token);
    assert_eq!(lock.inspect().holders[0].until, START + TTL);
    assert_eq!(lock.acquire(A), token);
    let holder = lock.inspect().holders.remove(0);
    assert_eq!((holder.since, holder.until, holder.left), (START, START + SECOND + TTL, TTL));
    assert!(lock.extend(A, SECOND) && lock.extend(A, 2 * TTL));
    assert_eq!(lock.inspect().holders[0].until, lock.now + 2 * TTL);
    assert_eq!(lock.table("k").holders[0].ttl, 2 * TTL);
}

#[test]
fn a_token_exceeds_the_last_one_the_clock_and_the_floor() {
    let mut lock = Locks::with(1);
    assert_eq!(lock.acquire(A), Some(START));
    lock.release(A);
    assert_eq!(lock.acquire(B), Some(START + 1), "in the same microsecond");
    lock.release(B);
    lock.now -= 3_600 * SECOND;
    assert_eq!(lock.acquire(C), Some(START + 2), "the clock went back");
    lock.release(C);
    assert_eq!(lock.take(Acquire { floor: START + 2, ..lock.call(D) }), Some(START + 3));
    lock.release(D);
    assert_eq!(lock.take(Acquire { floor: 1 << 52, ..lock.call(A) }), Some((1 << 52) + 1));
    assert_eq!(lock.inspect().token, (1 << 52) + 1);
}

#[test]
fn permits_are_held_up_to_their_number_by_weight() {
    let lock = Locks::with(5);
    assert!(lock.weighing(A, 3, QueueMode::No).is_some());
    assert_eq!(lock.weighing(B, 3, QueueMode::No), None);
    assert!(lock.weighing(C, 2, QueueMode::No).is_some());
    assert_eq!(lock.weighing(D, 1, QueueMode::No), None);
    lock.release(A);
    assert!(lock.weighing(D, 3, QueueMode::No).is_some());
    assert_eq!(lock.weighing(B, 6, QueueMode::No), None);
}

#[test]
fn a_refusal_tells_when_where_and_because_of_whom() {
    let mut lock = Locks::with(2);
    lock.acquire(A);
    lock.now += SECOND;
    lock.acquire(B);
    let refused = |call| match lock.ask(call).outcome {
        AcquireOutcome::Refused { wait, place, holder, .. } => (wait, place, holder),
        other => panic!("{other:?}"),
    };
    let (before, now) = (lock.stored("k"), lock.now);
    assert_eq!(refused(lock.call(C)), (TTL - SECOND, 0, vec![1]));
    assert_eq!(lock.stored("k"), before, "it asked without waiting: nothing was written");
    assert_eq!(refused(Acquire { queue: QueueMode::Order, ..lock.call(C) }), (TTL - SECOND, 0, vec![1]));
    assert_eq!(refused(lock.call(D)).1, 1);
    lock.release(A);
    // Only the one in order stands in the way now, until it is forgotten.
    assert_eq!(refused(Acquire { queue: QueueMode::Hint, ..lock.call(D) }), (HEARTBEAT, 1, vec![]));
    assert_eq!(refused(Acquire { weight: 3, ..lock.call(A) }).0, now + HEARTBEAT - lock.now);
    assert_eq!(refused(Acquire { weight: 3, permits: 2, ..Locks::with(2).call(A) }).2, vec![2]);
    assert!(lock.acquire(C).is_some());
}

#[test]
fn several_tables_are_taken_together_or_not_at_all() {
    let mut lock = Locks::with(1);
    lock.several(&["b"]);
    lock.take(Acquire { floor: START + 100, ..lock.call(A) });
    lock.several(&["a", "b", "c"]);
    assert_eq!(lock.wait(B, QueueMode::Hint), None);
    assert_eq!(["a", "b", "c"].map(|key| lock.table(key).waiters.len()), [0, 1, 0], "only where it is refused");
    assert!(lock.stored("a").is_none());
    lock.several(&["b"]).release(A);
    assert_eq!(lock.told("b"), [B]);
    lock.several(&["a", "b", "c"]);
    assert_eq!(lock.wait(B, QueueMode::Hint), Some(START + 102));
    assert_eq!(["a", "b", "c"].map(|key| lock.table(key).last), [START + 102; 3]);
    assert!(lock.extend(B, 2 * TTL));
    lock.several(&["c"]).release(B);
    lock.several(&["a", "b", "c"]);
    let before = lock.stored("a");
    assert!(!lock.extend(B, 3 * TTL));
    assert_eq!(lock.stored("a"), before);
    assert_eq!(lock.acquire(B), Some(START + 103), "held in two of three: the third is decided");
    assert_eq!(lock.table("a").holders[0].token, START + 103);
    lock.several(&["c"]).release(B);
    assert!(!lock.several(&["a", "b", "c"]).release(B), "not in all");
    assert!(["a", "b", "c"].iter().all(|key| lock.table(key).holders.is_empty()));
}

#[test]
fn a_refusal_by_several_tables_tells_the_longest_wait_and_the_first_who_holds() {
    let mut lock = Locks::with(1);
    for (key, id, ttl, waiters) in [("a", A, SECOND, 0), ("b", B, 5 * SECOND, 2), ("c", C, 2 * SECOND, 1)] {
        lock.several(&[key]);
        lock.take(Acquire { ttl, ..lock.call(id) });
        for n in 0..waiters {
            lock.wait([50 + n; 16], QueueMode::Hint);
        }
    }
    lock.several(&["free", "a", "b", "c"]);
    let outcome = AcquireOutcome::Refused { released: false, wait: 5 * SECOND, place: 2, holder: vec![1] };
    assert_eq!(lock.ask(lock.call(D)).outcome, outcome);
}
