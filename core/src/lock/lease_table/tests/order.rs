//! Whom nobody overtakes: those who wait in order, from the start or once they have waited for long enough, in one table and
//! in several.

use std::collections::BTreeSet;

use super::*;

/// Pseudo-random numbers, the same in every run.
struct Luck(u64);

impl Luck {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

#[test]
fn who_has_waited_for_half_a_second_is_overtaken_by_nobody() {
    let mut lock = Locks::with(3);
    lock.weighing(A, 1, QueueMode::No);
    lock.weighing(B, 2, QueueMode::No);
    assert_eq!(lock.weighing(C, 3, QueueMode::Hint), None);
    lock.now += PATIENCE - 1;
    lock.release(A);
    assert!(lock.weighing(A, 1, QueueMode::No).is_some(), "C does not fit, and wants only a hint");
    lock.now += 1;
    lock.release(A);
    assert_eq!(lock.weighing(A, 1, QueueMode::Hint), None);
    assert!(lock.told("k").is_empty(), "A fits, but came later");
    lock.release(B);
    assert_eq!(lock.told("k"), [C]);
    lock.now += RIGHT_OF_WAY;
    assert_eq!(lock.weighing(A, 1, QueueMode::No), None, "its right of way lasts");
    assert!(lock.weighing(C, 3, QueueMode::Hint).is_some());
}

#[test]
fn a_place_counts_from_when_its_waiter_came() {
    let lock = Locks::with(1);
    lock.acquire(A);
    lock.wait(B, QueueMode::Order);
    assert_eq!(lock.take(Acquire { queue: QueueMode::Order, waited: 2, ..lock.call(C) }), None);
    assert_eq!(lock.take(Acquire { queue: QueueMode::Order, waited: 1, ..lock.call(D) }), None);
    let order = || lock.table("k").waiters.iter().map(|waiter| waiter.id).collect::<Vec<_>>();
    assert_eq!(order(), [C, D, B]);
    lock.wait(C, QueueMode::Order);
    assert_eq!(order(), [C, D, B], "what is known counts, if it is more");
    assert_eq!(lock.take(Acquire { queue: QueueMode::Order, waited: 2, ..lock.call(B) }), None);
    assert_eq!(order(), [B, C, D], "in one microsecond the smaller id");
    lock.release(A);
    assert!(
        lock.take(Acquire { waited: SECOND, ..lock.call(A) }).is_some(),
        "it has waited for longer than all of them"
    );
}

#[test]
fn who_gives_up_after_a_long_wait_lets_others_pass() {
    let mut lock = Locks::with(3);
    lock.acquire(A);
    lock.weighing(B, 3, QueueMode::Hint);
    lock.now += PATIENCE;
    lock.weighing(B, 3, QueueMode::Hint);
    assert_eq!(lock.wait(C, QueueMode::Hint), None);
    lock.release(B);
    assert_eq!(lock.told("k"), [C]);
}

#[test]
fn who_waits_in_order_for_several_keeps_its_place_in_all() {
    for queue in [QueueMode::Order, QueueMode::Hint] {
        let mut lock = Locks::with(1);
        lock.several(&["a"]).acquire(A);
        let both = lock.several(&["a", "b"]);
        assert_eq!(both.wait(C, queue), None);
        if queue == QueueMode::Hint {
            lock.now += PATIENCE;
            assert_eq!(lock.several(&["a", "b"]).wait(C, queue), None);
        }
        assert_eq!(lock.several(&["b"]).wait(D, QueueMode::Order), None, "b is free, but C came before");
        lock.several(&["a"]).release(A);
        assert_eq!((lock.told("a"), lock.told("b")), (vec![C], vec![]));
        assert!(lock.several(&["a", "b"]).wait(C, queue).is_some());
        lock.release(C);
        assert_eq!(lock.told("b"), [D]);
    }
}

#[test]
fn a_table_without_room_for_its_place_takes_it_from_all() {
    let mut lock = Locks::with(1);
    let id = |n: usize| std::array::from_fn(|i| if i < 8 { n.to_le_bytes()[i] } else { 7 });
    lock.several(&["a"]).acquire(A);
    lock.several(&["a", "b"]).wait(C, QueueMode::Order);
    lock.with_space(|space| space.set(b"b", Vec::new(), 1));
    lock.several(&["b"]).acquire(B);
    for n in 0..MOST_WAITERS {
        lock.several(&["b"]).wait(id(n), QueueMode::Hint);
    }
    lock.several(&["a"]).wait(D, QueueMode::Order);
    lock.release(A);
    assert_eq!(lock.told("a"), [C]);
    assert_eq!(lock.several(&["a", "b"]).wait(C, QueueMode::Order), None);
    assert_eq!(lock.told("a"), [D], "else D could wait for C, and C for who waits for D");
}

/// One who wants tables again and again.
#[derive(Clone)]
struct Caller {
    keys: Vec<&'static str>,
    weight: u64,
    queue: QueueMode,
    state: State,
    /// Its present attempt.
    id: AttemptId,
    /// When that began, and how many had died before.
    since: u64,
    dead: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    Waiting,
    Holding,
}

const NAMES: [&str; 3] = ["a", "b", "c"];
const CROWD: u64 = 8;
const LONGEST_HOLD: u64 = 6_000;
const LATE: u64 = 1_000;

/// A crowd in a time of its own.
struct Crowd {
    luck: Luck,
    lock: Locks,
    /// Each with the time when it does something.
    callers: Vec<(u64, Caller)>,
    attempts: u64,
    /// How many have died while they waited.
    dead: u64,
    granted: u64,
}

impl Crowd {
    fn new(seed: u64) -> Crowd {
        let mut luck = Luck(seed);
        let lock = Locks::with(1 + luck.below(4));
        let one = |luck: &mut Luck| {
            let mut keys: Vec<&str> = NAMES.into_iter().filter(|_| luck.below(2) == 0).collect();
            if keys.is_empty() {
                keys.push(NAMES[luck.below(3) as usize]);
            }
            if luck.below(2) == 0 {
                keys.reverse();
            }
            let queue = if luck.below(2) == 0 { QueueMode::Order } else { QueueMode::Hint };
            let weight = 1 + luck.below(lock.permits);
            (START, Caller { keys, weight, queue, state: State::Idle, id: A, since: START, dead: 0 })
        };
        let callers = (0..CROWD).map(|_| one(&mut luck)).collect();
        Crowd { luck, lock, callers, attempts: 0, dead: 0, granted: 0 }
    }

    /// Has the next do what it is about; one of so many who wait dies.
    fn turn(&mut self, dies: u64) {
        let at = (0..self.callers.len()).min_by_key(|at| self.callers[*at].0).unwrap();
        let (when, mut caller) = self.callers[at].clone();
        self.lock.now = self.lock.now.max(when);
        let now = self.lock.now;
        self.lock.several(&caller.keys);
        let next = match caller.state {
            State::Holding => {
                assert!(self.lock.release(caller.id));
                caller.state = State::Idle;
                now + self.luck.below(2 * LATE)
            }
            State::Waiting if dies > 0 && self.luck.below(dies) == 0 => {
                self.dead += 1;
                caller.state = State::Idle;
                now + self.luck.below(4 * SECOND)
            }
            State::Waiting if self.luck.below(60) == 0 => {
                self.lock.release(caller.id);
                caller.state = State::Idle;
                now + self.luck.below(2 * LATE)
            }
            State::Waiting => self.ask(&mut caller),
            State::Idle => {
                self.attempts += 1;
                caller.id = [self.attempts.wrapping_mul(0x9E37_79B9_7F4A_7C15), self.attempts]
                    .map(u64::to_le_bytes)
                    .concat()
                    .try_into()
                    .unwrap();
                (caller.since, caller.dead) = (now, self.dead);
                self.ask(&mut caller)
            }
        };
        self.callers[at] = (next, caller);
        let told: BTreeSet<AttemptId> = NAMES.iter().flat_map(|name| self.lock.told(name)).collect();
        for (next, caller) in &mut self.callers {
            if told.contains(&caller.id) {
                *next = (*next).min(now + 100 + self.luck.below(LATE - 100));
            }
        }
    }

    /// Asks, and returns when it does something again.
    fn ask(&mut self, caller: &mut Caller) -> u64 {
        let now = self.lock.now;
        let call = Acquire {
            weight: caller.weight,
            queue: caller.queue,
            waited: now - caller.since,
            ..self.lock.call(caller.id)
        };
        match self.lock.ask(call).outcome {
            AcquireOutcome::Granted { .. } => {
                self.check_overtaken(caller);
                // The dead stand in the way until they are forgotten, one behind the other at worst.
                let behind_the_dead = (self.dead - caller.dead) * HEARTBEAT + if self.dead > 0 { HEARTBEAT } else { 0 };
                let patience = if caller.queue == QueueMode::Order { 0 } else { PATIENCE };
                let bound = CROWD * (LONGEST_HOLD + 2 * LATE) + patience + behind_the_dead;
                assert!(now - caller.since <= bound, "{:?} after {}, not {bound}", caller.queue, now - caller.since);
                self.granted += 1;
                caller.state = State::Holding;
                now + 1_000 + self.luck.below(LONGEST_HOLD - 1_000)
            }
            AcquireOutcome::Refused { wait, .. } => {
                caller.state = State::Waiting;
                // It asks when it begins to wait in order: nobody else notices that.
                let turn = (caller.since + PATIENCE).checked_sub(now).filter(|left| *left > 0);
                let turn = turn.filter(|_| caller.queue == QueueMode::Hint);
                now + wait.min(SECOND).min(turn.unwrap_or(SECOND)).max(1)
            }
            AcquireOutcome::Cancelled { .. } => panic!("nobody cancelled it"),
        }
    }

    /// Nobody waits in order who came before the one just granted, and would fit in its stead.
    fn check_overtaken(&self, granted: &Caller) {
        for (_, other) in
            self.callers.iter().filter(|(_, other)| other.state == State::Waiting && other.id != granted.id)
        {
            let in_order = other.queue == QueueMode::Order || self.lock.now - other.since >= PATIENCE;
            let stands = other.keys.iter().all(|key| self.lock.table(key).waiting(&other.id).is_some());
            let came_before = (other.since, other.id) < (granted.since, granted.id);
            let kept_out = |key: &str| {
                let without = self.lock.table(key).held() - granted.weight;
                let fits = |weight: u64| without + weight <= self.lock.permits;
                fits(other.weight) && !fits(granted.weight + other.weight)
            };
            let session = || other.keys.iter().filter(|key| granted.keys.contains(key));
            let overtaken = in_order && stands && came_before && session().any(|key| kept_out(key));
            assert!(!overtaken, "{:?} by {:?}", other.keys, granted.keys);
        }
    }
}

#[test]
fn in_a_crowd_nobody_is_overtaken_and_everybody_gets_its_turn() {
    for seed in 0..25 {
        for dies in [0, 300] {
            let mut crowd = Crowd::new(seed);
            while crowd.lock.now < START + 10 * SECOND {
                crowd.turn(dies);
            }
            assert!(crowd.granted > 100, "seed {seed}: {}", crowd.granted);
        }
    }
}
