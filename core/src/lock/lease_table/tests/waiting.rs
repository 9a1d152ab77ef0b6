//! Who waits: in which order, who stops whom, and who is told.

use super::*;

#[test]
fn those_in_order_go_before_those_who_come_later_until_their_time_is_over() {
    let mut lock = Locks::with(1);
    lock.acquire(A);
    assert_eq!(lock.wait(B, QueueMode::Hint), None);
    assert_eq!(lock.wait(C, QueueMode::Order), None);
    assert_eq!(lock.wait(D, QueueMode::Order), None);
    lock.release(A);
    for id in [A, B, D] {
        assert_eq!(lock.acquire(id), None, "{id:?} before C");
    }
    lock.now += HEARTBEAT - 1;
    assert_eq!(lock.wait(D, QueueMode::Order), None);
    lock.now += 1;
    assert_eq!(lock.acquire(B), None, "D asked again");
    assert!(lock.acquire(D).is_some());
    assert!(lock.table("k").waiters.is_empty());
}

#[test]
fn who_asks_again_keeps_its_place() {
    let mut lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, QueueMode::Order);
    lock.wait(C, QueueMode::Order);
    lock.now += SECOND;
    lock.wait(C, QueueMode::Order);
    lock.wait(B, QueueMode::Order);
    let waiters: Vec<(AttemptId, u64, u64)> =
        lock.table("k").waiters.iter().map(|w| (w.id, w.since, w.until)).collect();
    assert_eq!(waiters, [(B, START, lock.now + HEARTBEAT), (C, START, lock.now + HEARTBEAT)]);
}

#[test]
fn a_waiting_writer_stops_readers_that_come_later() {
    let lock = Locks::with(ALL_PERMITS);
    assert!(lock.acquire(A).is_some() && lock.acquire(B).is_some());
    assert_eq!(lock.weighing(C, ALL_PERMITS, QueueMode::Order), None);
    assert_eq!(lock.wait(D, QueueMode::Hint), None);
    lock.release(A);
    assert!(lock.told("k").is_empty());
    lock.release(B);
    assert_eq!(lock.told("k"), [C], "not the reader, who would be refused");
    assert!(lock.weighing(C, ALL_PERMITS, QueueMode::Order).is_some());
    lock.release(C);
    assert_eq!(lock.told("k"), [D]);
}

#[test]
fn what_is_freed_is_told_to_as_many_as_fit() {
    let mut lock = Locks::with(3);
    lock.weighing(A, 3, QueueMode::No);
    for (id, weight) in [(B, 2), (C, 2), (D, 1)] {
        assert_eq!(lock.weighing(id, weight, QueueMode::Hint), None);
    }
    lock.release(A);
    assert_eq!(lock.told("k"), [B, D], "C does not fit beside B");
    assert_eq!(lock.weighing(A, 3, QueueMode::No), None, "who was told has the right of way");
    lock.now += RIGHT_OF_WAY - 1;
    assert_eq!(lock.weighing(A, 1, QueueMode::No), None);
    lock.now += 1;
    // B and D are frozen: what is free the next time goes to others.
    assert!(lock.weighing(A, 3, QueueMode::No).is_some());
    assert_eq!(lock.weighing(D, 1, QueueMode::Hint), None);
    lock.release(A);
    assert_eq!(lock.told("k"), [C, D], "who asks again can be told again");
    assert!(lock.weighing(D, 1, QueueMode::Hint).is_some(), "it goes before newcomers, and beside C");
}

#[test]
fn the_first_in_order_who_does_not_fit_stops_the_others() {
    let lock = Locks::with(3);
    lock.weighing(A, 2, QueueMode::No);
    lock.weighing([9; 16], 1, QueueMode::No);
    lock.weighing(B, 2, QueueMode::Order);
    lock.weighing(C, 1, QueueMode::Order);
    lock.weighing(D, 1, QueueMode::Hint);
    lock.release([9; 16]);
    assert!(lock.told("k").is_empty());
    lock.release(A);
    assert_eq!(lock.told("k"), [B, C]);
    // One in order that was told keeps its permits.
    lock.weighing([9; 16], 1, QueueMode::No);
    assert_eq!(lock.weighing([9; 16], 1, QueueMode::No), None);
    lock.release(B);
    assert_eq!(lock.told("k"), [C, D]);
}

#[test]
fn who_gives_up_passes_its_hint_on() {
    let lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, QueueMode::Hint);
    lock.wait(C, QueueMode::Hint);
    assert!(!lock.release(C), "it did not hold");
    assert!(lock.told("k").is_empty());
    lock.wait(C, QueueMode::Hint);
    lock.release(A);
    assert_eq!(lock.told("k"), [B]);
    lock.release(B);
    assert_eq!(lock.told("k"), [C]);
}

#[test]
fn a_lock_is_handed_over_only_if_nobody_waits_who_came_before() {
    let lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, QueueMode::Hint);
    let hand_over =
        |id, from| lock.ask(Acquire { instead_of: Some(from), queue: QueueMode::Hint, ..lock.call(id) }).outcome;
    assert_eq!(hand_over(B, A), AcquireOutcome::Granted { token: START + 1, released: true }, "it waits itself");
    assert_eq!(hand_over(B, A), AcquireOutcome::Granted { token: START + 1, released: false }, "once more");
    lock.wait(C, QueueMode::Hint);
    let refused = |released, wait| AcquireOutcome::Refused { released, wait, place: 1, holder: vec![] };
    assert_eq!(hand_over(D, B), refused(true, HEARTBEAT));
    assert_eq!(lock.told("k"), [C]);
    assert_eq!(hand_over(D, B), refused(false, RIGHT_OF_WAY));
    assert!(lock.acquire(C).is_some());
    assert_eq!(lock.table("k").waiters.len(), 1);
    // Those who came later are overtaken by nobody.
    lock.wait(D, QueueMode::Hint);
    let hand_over_late = Acquire { waited: 1, instead_of: Some(C), queue: QueueMode::Hint, ..lock.call(B) };
    assert!(matches!(lock.ask(hand_over_late).outcome, AcquireOutcome::Granted { released: true, .. }));
    assert!(lock.release(B) && lock.acquire(D).is_some() && lock.release(D) && lock.acquire(C).is_some());
    // Cancelled or not, who holds is released.
    lock.release_and_cancel(D, SECOND);
    assert_eq!(hand_over(D, C), AcquireOutcome::Cancelled { released: true });
    assert!(lock.acquire(A).is_some());
}

#[test]
fn who_waits_for_several_does_not_stop_those_who_want_only_what_is_free() {
    let mut lock = Locks::with(1);
    lock.several(&["a"]).acquire(A);
    lock.several(&["b"]).acquire(B);
    lock.several(&["a", "b"]).wait(C, QueueMode::Hint);
    lock.several(&["b"]).wait(D, QueueMode::Hint);
    lock.release(B);
    assert_eq!(lock.told("b"), [C]);
    lock.several(&["a", "b"]).wait(C, QueueMode::Hint);
    assert_eq!(lock.told("b"), [D], "a refuses, so the hint of b is passed on");
    assert!(lock.several(&["b"]).acquire(D).is_some());
}

#[test]
fn a_crowded_table_refuses_one_more_and_lets_it_wait_if_there_is_room() {
    let lock = Locks::with(ALL_PERMITS);
    let id = |n: usize| std::array::from_fn(|i| if i < 8 { n.to_le_bytes()[i] } else { 7 });
    for n in 0..MOST_HOLDERS {
        assert!(lock.acquire(id(n)).is_some());
    }
    assert!(lock.acquire(id(0)).is_some(), "who holds has its place");
    for n in MOST_HOLDERS..MOST_HOLDERS + MOST_WAITERS {
        assert_eq!(lock.wait(id(n), QueueMode::Hint), None);
    }
    let before = lock.stored("k");
    assert_eq!(lock.wait(A, QueueMode::Hint), None);
    assert_eq!(lock.stored("k"), before);
    assert_eq!(lock.inspect().waiters, MOST_WAITERS as u64);
    assert!(lock.release(id(5)));
    assert_eq!(lock.told("k").len(), MOST_WAITERS, "by permits all of them fit");
    assert!(lock.acquire(A).is_some());
}
