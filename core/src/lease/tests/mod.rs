//! What a table promises, transition by transition; that scripts do the same is for `tests/rust/tests/twin_lease.rs`.

use std::sync::Arc;

use super::RIGHT_OF_WAY;
use super::table::{Table, Waiter};
use super::{
    ALL_PERMITS, Acquire, Extend, ForceRelease, Grant, HEARTBEAT, Id, Inspect, Inspection, LONGEST_TOMBSTONE,
    MOST_HOLDERS, MOST_TOMBSTONES, MOST_WAITERS, Outcome, Queue, Release, TABLE_MEMORY, form,
};
use crate::decision::Source;
use crate::operation::{Answer, Operation};
use crate::store::memory::{MemoryStore, Planted, Space};

const START: u64 = 1_700_000_000_000_000;
const SECOND: u64 = 1_000_000;
const TTL: u64 = 10 * SECOND;
const A: Id = [1; 16];
const B: Id = [2; 16];
const C: Id = [3; 16];
const D: Id = [4; 16];

/// Tables of one kind of lock in a time of their own.
struct Locks {
    store: MemoryStore,
    permits: u64,
    now: u64,
    keys: Arc<[Vec<u8>]>,
}

impl Locks {
    fn with(permits: u64) -> Locks {
        Locks { store: MemoryStore::default(), permits, now: START, keys: [b"k".to_vec()].into() }
    }

    /// The same tables, several in one call.
    fn several(&mut self, keys: &[&str]) -> &Locks {
        self.keys = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        self
    }

    fn run(&self, operation: &dyn Operation) -> Answer {
        let reply = self.store.run(operation, Some(self.now)).unwrap();
        operation.decode(&reply[2..], Source::Memory).unwrap()
    }

    fn call(&self, id: Id) -> Acquire {
        Acquire {
            keys: self.keys.clone(),
            id,
            ttl: TTL,
            floor: 0,
            permits: self.permits,
            weight: 1,
            queue: Queue::No,
            channel: *b"0123456789abcdef",
            wake_prefix: b"wake:".as_slice().into(),
            who: id[..1].into(),
            instead_of: None,
            shown: "it".into(),
        }
    }

    fn ask(&self, call: Acquire) -> Grant {
        let Answer::Grant(grant, _) = self.run(&call) else { panic!("not a grant") };
        grant
    }

    /// The token, if it was granted.
    fn take(&self, call: Acquire) -> Option<u64> {
        let Outcome::Granted { token, .. } = self.ask(call).outcome else { return None };
        Some(token)
    }

    fn acquire(&self, id: Id) -> Option<u64> {
        self.take(self.call(id))
    }

    fn wait(&self, id: Id, queue: Queue) -> Option<u64> {
        self.take(Acquire { queue, ..self.call(id) })
    }

    fn weighing(&self, id: Id, weight: u64, queue: Queue) -> Option<u64> {
        self.take(Acquire { weight, queue, ..self.call(id) })
    }

    fn release_and_cancel(&self, id: Id, cancel: u64) -> bool {
        let (keys, wake_prefix) = (self.keys.clone(), b"wake:".as_slice().into());
        let call = Release { keys, id, cancel, permits: self.permits, wake_prefix, shown: "it".into() };
        matches!(self.run(&call), Answer::Flag(true))
    }

    fn release(&self, id: Id) -> bool {
        self.release_and_cancel(id, 0)
    }

    fn extend(&self, id: Id, ttl: u64) -> bool {
        let call = Extend { keys: self.keys.clone(), id, ttl, shown: "it".into() };
        matches!(self.run(&call), Answer::Flag(true))
    }

    fn inspect(&self) -> Inspection {
        let call = Inspect { keys: self.keys.clone(), shown: "it".into() };
        let Answer::Inspection(inspection) = self.run(&call) else { panic!("not an inspection") };
        inspection
    }

    fn table(&self, key: &str) -> Table {
        self.stored(key).and_then(|value| form::decode(&value)).unwrap_or_default()
    }

    fn stored(&self, key: &str) -> Option<Vec<u8>> {
        self.with_space(|space| space.get(key.as_bytes()).unwrap().map(<[u8]>::to_vec))
    }

    fn with_space<T>(&self, look: impl FnOnce(&mut dyn Space) -> T) -> T {
        self.store.with_space(self.now, look)
    }

    /// Who was told, and did not ask again.
    fn told(&self, key: &str) -> Vec<Id> {
        self.table(key).waiters.iter().filter(|waiter| waiter.told).map(|waiter| waiter.id).collect()
    }
}

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
    assert!(lock.weighing(A, 3, Queue::No).is_some());
    assert_eq!(lock.weighing(B, 3, Queue::No), None);
    assert!(lock.weighing(C, 2, Queue::No).is_some());
    assert_eq!(lock.weighing(D, 1, Queue::No), None);
    lock.release(A);
    assert!(lock.weighing(D, 3, Queue::No).is_some());
    assert_eq!(lock.weighing(B, 6, Queue::No), None);
}

#[test]
fn a_refusal_tells_when_where_and_because_of_whom() {
    let mut lock = Locks::with(2);
    lock.acquire(A);
    lock.now += SECOND;
    lock.acquire(B);
    let refused = |call| match lock.ask(call).outcome {
        Outcome::Refused { wait, place, holder, .. } => (wait, place, holder),
        other => panic!("{other:?}"),
    };
    let (before, now) = (lock.stored("k"), lock.now);
    assert_eq!(refused(lock.call(C)), (TTL - SECOND, 0, vec![1]));
    assert_eq!(lock.stored("k"), before, "it asked without waiting: nothing was written");
    assert_eq!(refused(Acquire { queue: Queue::Order, ..lock.call(C) }), (TTL - SECOND, 0, vec![1]));
    assert_eq!(refused(lock.call(D)).1, 1);
    lock.release(A);
    // Only the one in order stands in the way now, until it is forgotten.
    assert_eq!(refused(Acquire { queue: Queue::Hint, ..lock.call(D) }), (HEARTBEAT, 1, vec![]));
    assert_eq!(refused(Acquire { weight: 3, ..lock.call(A) }).0, now + HEARTBEAT - lock.now);
    assert_eq!(refused(Acquire { weight: 3, permits: 2, ..Locks::with(2).call(A) }).2, vec![2]);
    assert!(lock.acquire(C).is_some());
}

#[test]
fn those_in_order_go_before_those_who_come_later_until_their_time_is_over() {
    let mut lock = Locks::with(1);
    lock.acquire(A);
    assert_eq!(lock.wait(B, Queue::Hint), None);
    assert_eq!(lock.wait(C, Queue::Order), None);
    assert_eq!(lock.wait(D, Queue::Order), None);
    lock.release(A);
    for id in [A, B, D] {
        assert_eq!(lock.acquire(id), None, "{id:?} before C");
    }
    lock.now += HEARTBEAT - 1;
    assert_eq!(lock.wait(D, Queue::Order), None);
    lock.now += 1;
    assert_eq!(lock.acquire(B), None, "D asked again");
    assert!(lock.acquire(D).is_some());
    assert!(lock.table("k").waiters.is_empty());
}

#[test]
fn who_asks_again_keeps_its_place() {
    let mut lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, Queue::Order);
    lock.wait(C, Queue::Order);
    lock.now += SECOND;
    lock.wait(C, Queue::Order);
    lock.wait(B, Queue::Order);
    let waiters: Vec<(Id, u64, u64)> = lock.table("k").waiters.iter().map(|w| (w.id, w.since, w.until)).collect();
    assert_eq!(waiters, [(B, START, lock.now + HEARTBEAT), (C, START, lock.now + HEARTBEAT)]);
}

#[test]
fn a_waiting_writer_stops_readers_that_come_later() {
    let lock = Locks::with(ALL_PERMITS);
    assert!(lock.acquire(A).is_some() && lock.acquire(B).is_some());
    assert_eq!(lock.weighing(C, ALL_PERMITS, Queue::Order), None);
    assert_eq!(lock.wait(D, Queue::Hint), None);
    lock.release(A);
    assert!(lock.told("k").is_empty());
    lock.release(B);
    assert_eq!(lock.told("k"), [C], "not the reader, who would be refused");
    assert!(lock.weighing(C, ALL_PERMITS, Queue::Order).is_some());
    lock.release(C);
    assert_eq!(lock.told("k"), [D]);
}

#[test]
fn what_is_freed_is_told_to_as_many_as_fit() {
    let mut lock = Locks::with(3);
    lock.weighing(A, 3, Queue::No);
    for (id, weight) in [(B, 2), (C, 2), (D, 1)] {
        assert_eq!(lock.weighing(id, weight, Queue::Hint), None);
    }
    lock.release(A);
    assert_eq!(lock.told("k"), [B, D], "C does not fit beside B");
    assert_eq!(lock.weighing(A, 3, Queue::No), None, "who was told has the right of way");
    lock.now += RIGHT_OF_WAY - 1;
    assert_eq!(lock.weighing(A, 1, Queue::No), None);
    lock.now += 1;
    // B and D are frozen: what is free the next time goes to others.
    assert!(lock.weighing(A, 3, Queue::No).is_some());
    assert_eq!(lock.weighing(D, 1, Queue::Hint), None);
    lock.release(A);
    assert_eq!(lock.told("k"), [C, D], "who asks again can be told again");
    assert!(lock.weighing(D, 1, Queue::Hint).is_some(), "it goes before newcomers, and beside C");
}

#[test]
fn the_first_in_order_who_does_not_fit_stops_the_others() {
    let lock = Locks::with(3);
    lock.weighing(A, 2, Queue::No);
    lock.weighing([9; 16], 1, Queue::No);
    lock.weighing(B, 2, Queue::Order);
    lock.weighing(C, 1, Queue::Order);
    lock.weighing(D, 1, Queue::Hint);
    lock.release([9; 16]);
    assert!(lock.told("k").is_empty());
    lock.release(A);
    assert_eq!(lock.told("k"), [B, C]);
    // One in order that was told keeps its permits.
    lock.weighing([9; 16], 1, Queue::No);
    assert_eq!(lock.weighing([9; 16], 1, Queue::No), None);
    lock.release(B);
    assert_eq!(lock.told("k"), [C, D]);
}

#[test]
fn who_gives_up_passes_its_hint_on() {
    let lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, Queue::Hint);
    lock.wait(C, Queue::Hint);
    assert!(!lock.release(C), "it did not hold");
    assert!(lock.told("k").is_empty());
    lock.wait(C, Queue::Hint);
    lock.release(A);
    assert_eq!(lock.told("k"), [B]);
    lock.release(B);
    assert_eq!(lock.told("k"), [C]);
}

#[test]
fn an_acquire_that_comes_after_its_cancellation_is_refused_while_the_tombstone_stands() {
    let mut lock = Locks::with(1);
    assert!(!lock.release_and_cancel(A, SECOND));
    let cancelled = Grant { outcome: Outcome::Cancelled { released: false }, healed: false };
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
    assert!(matches!(lock.ask(lock.call(id(1))).outcome, Outcome::Cancelled { .. }));
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
fn a_lock_is_handed_over_only_if_nobody_else_waits() {
    let lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, Queue::Hint);
    let hand_over =
        |id, from| lock.ask(Acquire { instead_of: Some(from), queue: Queue::Hint, ..lock.call(id) }).outcome;
    assert_eq!(hand_over(B, A), Outcome::Granted { token: START + 1, released: true }, "it waits itself");
    assert_eq!(hand_over(B, A), Outcome::Granted { token: START + 1, released: false }, "once more");
    lock.wait(C, Queue::Hint);
    let refused = |released, wait| Outcome::Refused { released, wait, place: 1, holder: vec![] };
    assert_eq!(hand_over(D, B), refused(true, HEARTBEAT));
    assert_eq!(lock.told("k"), [C]);
    assert_eq!(hand_over(D, B), refused(false, RIGHT_OF_WAY));
    assert!(lock.acquire(C).is_some());
    assert_eq!(lock.table("k").waiters.len(), 1);
    // Cancelled or not, who holds is released.
    lock.release_and_cancel(D, SECOND);
    assert_eq!(hand_over(D, C), Outcome::Cancelled { released: true });
    assert!(lock.acquire(A).is_some());
}

#[test]
fn several_tables_are_taken_together_or_not_at_all() {
    let mut lock = Locks::with(1);
    lock.several(&["b"]);
    lock.take(Acquire { floor: START + 100, ..lock.call(A) });
    lock.several(&["a", "b", "c"]);
    assert_eq!(lock.wait(B, Queue::Order), None);
    assert_eq!(["a", "b", "c"].map(|key| lock.table(key).waiters.len()), [0, 1, 0], "only where it is refused");
    assert!(lock.stored("a").is_none());
    lock.several(&["b"]).release(A);
    assert_eq!(lock.told("b"), [B]);
    lock.several(&["a", "b", "c"]);
    assert_eq!(lock.wait(B, Queue::Order), Some(START + 102));
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
            lock.wait([50 + n; 16], Queue::Hint);
        }
    }
    lock.several(&["free", "a", "b", "c"]);
    let outcome = Outcome::Refused { released: false, wait: 5 * SECOND, place: 2, holder: vec![1] };
    assert_eq!(lock.ask(lock.call(D)).outcome, outcome);
}

#[test]
fn who_waits_for_several_does_not_stop_those_who_want_only_what_is_free() {
    let mut lock = Locks::with(1);
    lock.several(&["a"]).acquire(A);
    lock.several(&["b"]).acquire(B);
    lock.several(&["a", "b"]).wait(C, Queue::Order);
    lock.several(&["b"]).wait(D, Queue::Hint);
    lock.release(B);
    assert_eq!(lock.told("b"), [C]);
    lock.several(&["a", "b"]).wait(C, Queue::Order);
    assert_eq!(lock.told("b"), [D], "a refuses, so the hint of b is passed on");
    assert!(lock.several(&["b"]).acquire(D).is_some());
}

#[test]
fn what_a_clock_that_went_back_left_is_mended_by_a_refusal_too() {
    let mut lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, Queue::Order);
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
    lock.weighing(B, 2, Queue::Hint);
    lock.now -= 60 * SECOND;
    let before = lock.stored("k");
    let inspection = lock.inspect();
    assert_eq!((inspection.token, inspection.waiters, inspection.holders.len()), (START, 1, 1));
    assert_eq!((inspection.holders[0].host.as_str(), inspection.holders[0].left), ("\u{1}", TTL));
    assert_eq!(lock.stored("k"), before);
}

#[test]
fn a_forced_release_ends_all_leases_and_tells_those_who_wait() {
    let lock = Locks::with(2);
    lock.acquire(A);
    lock.acquire(B);
    lock.wait(C, Queue::Hint);
    let wake_prefix = b"wake:".as_slice().into();
    let force = ForceRelease { keys: lock.keys.clone(), permits: 2, wake_prefix, shown: "it".into() };
    assert!(matches!(lock.run(&force), Answer::Count(2)));
    assert!(matches!(lock.run(&force), Answer::Count(0)));
    assert_eq!(lock.told("k"), [C]);
    assert!(!lock.extend(A, TTL));
    assert_eq!(lock.acquire(C), Some(START + 2), "the token counts on");
}

#[test]
fn a_table_is_kept_for_a_day_after_its_last_lease() {
    let lock = Locks::with(1);
    let ttl = || lock.with_space(|space| space.ttl(b"k"));
    lock.take(Acquire { ttl: TTL + 1, ..lock.call(A) });
    assert_eq!(ttl(), (TABLE_MEMORY + TTL / 1_000 + 1) as i64);
    lock.release(A);
    assert_eq!(ttl(), TABLE_MEMORY as i64);
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
        let healed = Grant { outcome: Outcome::Granted { token: START, released: false }, healed: true };
        assert_eq!(lock.ask(lock.call(B)), healed);
        assert!(!lock.ask(lock.call(B)).healed);
    }
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
        assert_eq!(lock.wait(id(n), Queue::Hint), None);
    }
    let before = lock.stored("k");
    assert_eq!(lock.wait(A, Queue::Hint), None);
    assert_eq!(lock.stored("k"), before);
    assert_eq!(lock.inspect().waiters, MOST_WAITERS as u64);
    assert!(lock.release(id(5)));
    assert_eq!(lock.told("k").len(), MOST_WAITERS, "by permits all of them fit");
    assert!(lock.acquire(A).is_some());
}

#[test]
fn a_stored_table_is_read_as_it_was_written() {
    let mut table = Table { last: 7, ..Table::default() };
    table.bury(A, 5);
    for (n, (in_order, told)) in [(false, false), (true, false), (false, true), (true, true)].into_iter().enumerate() {
        let n = n as u64;
        let waiter = Waiter { id: B, until: n, since: n + 1, weight: ALL_PERMITS, in_order, told, channel: C };
        table.waiters.push(waiter);
    }
    let value = form::encode(&table);
    assert_eq!(value.len(), 17 + 24 + 4 * 53);
    assert_eq!(form::decode(&value), Some(table));
    let of = |last| form::encode(&Table { last, ..Table::default() });
    assert!(form::decode(&of((1 << 53) - 1)).is_some());
    assert_eq!(form::decode(&of(1 << 53)), None, "scripts could not count on from it");
}
