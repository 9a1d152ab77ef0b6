//! Acquisitions that were given up, and leases that are ended by force.

use super::*;

#[test]
fn an_acquire_that_comes_after_its_cancellation_is_refused_while_the_tombstone_stands() {
    let mut lock = Locks::with(1);
    assert!(!lock.release_and_cancel(A, SECOND));
    let cancelled = Grant { outcome: AcquireOutcome::Cancelled { released: false }, healed: false, repeated: false };
    assert_eq!(lock.ask(lock.call(A)), cancelled);
    assert!(lock.acquire(B).is_some());
    assert!(lock.release_and_cancel(B, 2 * SECOND));
    assert_eq!(lock.ask(lock.call(B)), cancelled, "a late repetition of what was released");
    lock.now += SECOND - 1;
    assert_eq!(lock.ask(lock.call(A)), cancelled);
    lock.now += 1;
    assert!(lock.acquire(A).is_some());
    lock.release(A);
    // Cancelled again, it is cancelled for longer.
    lock.release_and_cancel(B, 2 * SECOND);
    lock.now += 2 * SECOND - 1;
    assert_eq!(lock.ask(lock.call(B)), cancelled);
}

#[test]
fn of_too_many_tombstones_the_oldest_goes() {
    let lock = Locks::with(1);
    let id = |n: usize| std::array::from_fn(|i| if i < 8 { n.to_le_bytes()[i] } else { 7 });
    for n in 0..=MOST_TOMBSTONES {
        lock.release_and_cancel(id(n), SECOND);
    }
    assert_eq!(lock.table("k").tombstones.len(), MOST_TOMBSTONES);
    assert!(matches!(lock.ask(lock.call(id(1))).outcome, AcquireOutcome::Cancelled { .. }));
    assert!(lock.acquire(id(0)).is_some());
}

#[test]
fn a_tombstone_from_the_future_is_forgotten() {
    let mut lock = Locks::with(1);
    lock.release_and_cancel(A, SECOND);
    lock.now -= LONGEST_TOMBSTONE - SECOND;
    assert_eq!(lock.acquire(A), None);
    lock.now -= 1;
    assert!(lock.acquire(A).is_some());
}

#[test]
fn a_forced_release_ends_all_leases_and_tells_those_who_wait() {
    let lock = Locks::with(2);
    lock.acquire(A);
    lock.acquire(B);
    lock.wait(C, QueueMode::Hint);
    let wake_prefix = b"wake:".as_slice().into();
    let force = ForceRelease { keys: lock.keys.clone(), permits: 2, wake_prefix, shown: "it".into() };
    assert!(lock.run(&force).get() == Some(&2_u64));
    assert!(lock.run(&force).get() == Some(&0_u64));
    assert_eq!(lock.told("k"), [C]);
    assert!(!lock.extend(A, TTL));
    assert_eq!(lock.acquire(C), Some(START + 2), "the token counts on");
}
