//! What is stored: for how long, what is mended, and what is never written.

use super::*;

#[test]
fn what_a_clock_that_went_back_left_is_mended_by_a_refusal_too() {
    let mut lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, QueueMode::Order);
    lock.now -= 3_600 * SECOND;
    assert_eq!(lock.acquire(C), None);
    let table = lock.table("k");
    assert_eq!((table.holders[0].deadline, table.holders[0].since), (lock.now + TTL, lock.now));
    assert_eq!((table.waiters[0].until, table.waiters[0].since), (lock.now + HEARTBEAT, lock.now));
    lock.now += TTL;
    assert!(lock.acquire(C).is_some());
}

#[test]
fn looking_never_writes_but_shows_what_is() {
    let mut lock = Locks::with(2);
    assert_eq!(lock.inspect(), Inspection { token: 0, waiters: 0, holders: vec![], healed: false });
    assert!(lock.stored("k").is_none());
    lock.acquire(A);
    lock.weighing(B, 2, QueueMode::Hint);
    lock.now -= 60 * SECOND;
    let before = lock.stored("k");
    let inspection = lock.inspect();
    assert_eq!((inspection.token, inspection.waiters, inspection.holders.len()), (START, 1, 1));
    assert_eq!((inspection.holders[0].host.as_str(), inspection.holders[0].left), ("\u{1}", TTL));
    assert_eq!(lock.stored("k"), before);
}

#[test]
fn a_table_is_kept_for_a_day_after_its_last_lease() {
    let lock = Locks::with(1);
    let ttl = || lock.with_space(|space| space.ttl(b"k"));
    lock.take(Acquire { ttl: TTL + 1, ..lock.call(A) });
    // TTLs run in real time.
    let is_about = |expected: u64| (0..60_000).contains(&(expected as i64 - ttl()));
    assert!(is_about(TABLE_MEMORY + TTL / 1_000 + 1), "{}", ttl());
    lock.release(A);
    assert!(is_about(TABLE_MEMORY), "{}", ttl());
}

#[test]
fn what_is_not_ours_counts_as_none_and_is_replaced_by_an_acquire() {
    let lock = Locks::with(1);
    lock.acquire(A);
    let ours = lock.stored("k").unwrap();
    let plant = |value: &[u8]| lock.with_space(|space| space.plant(b"k", Planted::Text(value.to_vec())));
    let mut exact = ours.clone();
    exact[9] = 0x20;
    let newer = [b"QK\x02", &ours[3..]].concat();
    let longer = [ours.as_slice(), b"x"].concat();
    for value in [b"".as_slice(), b"1", b"QK\x01", &ours[..ours.len() - 1], &longer, &newer, &exact] {
        plant(value);
        assert!(lock.inspect().healed && !lock.release(A) && !lock.extend(A, TTL));
        assert_eq!(lock.stored("k").unwrap(), value);
        let healed =
            Grant { outcome: AcquireOutcome::Granted { token: START, released: false }, healed: true, repeated: false };
        assert_eq!(lock.ask(lock.call(B)), healed);
        assert!(!lock.ask(lock.call(B)).healed);
    }
}

#[test]
fn a_stored_table_is_read_as_it_was_written() {
    let mut table = LeaseTable { last: 7, ..LeaseTable::default() };
    table.bury(A, 5);
    for (n, (fair, told)) in [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate() {
        let n = n as u64;
        let waiter = Waiter { id: B, until: n, since: n + 1, weight: ALL_PERMITS, fair, told, channel: C };
        table.waiters.push(waiter);
    }
    let value = table::encode(&table);
    assert_eq!(value.len(), 17 + 24 + 4 * 53);
    assert_eq!(table::decode(&value), Some(table));
    let of = |last| table::encode(&LeaseTable { last, ..LeaseTable::default() });
    assert!(table::decode(&of((1 << 53) - 1)).is_some());
    assert_eq!(table::decode(&of(1 << 53)), None, "scripts could not count on from it");
}
