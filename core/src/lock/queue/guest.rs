//! The locks of one client as a guest of the process' thread: what handles tell the thread, from whichever thread they are used on;
//! and what it has the locks do: it looks after those who wait, renews what is held, and releases. No I/O: what is to be sent, and
//! who has an answer, is told by actions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{IN_LINE, LockKeys, LockQueue, Passing, Question, QueuedAttempt};
use crate::lock::attempt::Attempt;
use crate::lock::held::HeldLock;
use crate::lock::lease_table::{AcquireOutcome, AttemptId, Grant};
use crate::lock::spec::LockSpec;
use wire::base::error::{Code, Error, Result};
use wire::call::answer::{Answer, Sink, Tag};
use wire::connection::subscription::HintChannel;
use wire::reactor::{Action, Guest, Need, WaitStage, thread};

/// Asks the process' thread to acquire; the answer, a flag, comes to `sink` under this number.
pub(in crate::lock) fn acquire(mut attempt: Attempt, id: u64, sink: &Arc<dyn Sink>) {
    attempt.wait_beside_others();
    let session = attempt.lock.spec.session.clone();
    thread::request(&session, id, sink, |guests, tag| {
        if let Some(locks) = guests.of::<LockQueue>() {
            locks.acquire(attempt, tag);
        }
    });
}

/// Asks the process' thread to release; the answer, a flag, comes to `sink` under this number.
pub(in crate::lock) fn release(held: Arc<HeldLock>, was_held: bool, id: u64, sink: &Arc<dyn Sink>) {
    let session = held.spec.session.clone();
    thread::request(&session, id, sink, move |guests, tag| {
        if let Some(locks) = guests.of::<LockQueue>() {
            locks.release(held, was_held, tag);
        }
    });
}

/// Asks the process' thread to renew a grant and to tell its loss.
pub(in crate::lock) fn watch(held: &Arc<HeldLock>) {
    let kept = held.clone();
    // It is renewed at a third of its ttl: until then the thread need not know, and most are given back before.
    let latest = Instant::now() + Duration::from_micros(held.remaining() / 4);
    thread::notify_by(latest, &held.spec.session, move |guests| {
        if kept.is_held()
            && let Some(locks) = guests.of::<LockQueue>()
        {
            locks.watch(&kept);
        }
    });
}

/// As [`watch`], if the handle is to be renewed: a process that wants no thread of ours renews nothing.
pub(in crate::lock) fn keep_if_renewed(held: &Arc<HeldLock>) {
    if held.spec.options.renew {
        watch(held);
    }
}

/// Tells those who wait in this process that something was freed.
pub(in crate::lock) fn freed(spec: &Arc<LockSpec>) {
    let keys = spec.keys.clone();
    thread::notify_if_awake(&spec.session, move |guests| {
        if let Some(locks) = guests.get::<LockQueue>() {
            locks.on_freed(&keys);
        }
    });
}

/// Takes back in the background what an attempt may have left.
pub(in crate::lock) fn forget(attempt: &Attempt) {
    if let Some(cleanup) = attempt.cleanup() {
        cleanup.send_in_background();
    }
}

/// Removes from the lines those whose callers are gone.
pub(in crate::lock) fn look_for_abandoned(spec: &LockSpec) {
    thread::notify_if_awake(&spec.session, |guests| {
        if let Some(locks) = guests.get::<LockQueue>() {
            locks.sweep();
        }
    });
}

impl Guest for LockQueue {
    fn is_idle(&self) -> bool {
        let asks_nothing = self.tries.is_empty() && self.questions.is_empty();
        self.lines.is_empty() && asks_nothing && self.renewals.next_turn().is_none()
    }

    fn unsubscribed(&self) -> Vec<Need> {
        let first = self.lines.values().filter_map(VecDeque::front).filter(|waiter| waiter.stage.is_unsubscribed());
        let need = |waiter: &QueuedAttempt| {
            let spec = &waiter.attempt.lock.spec;
            (spec.session.clone(), spec.wake_prefix.clone(), waiter.attempt.slot())
        };
        first.map(need).collect()
    }

    fn slots(&self) -> HashSet<u16> {
        self.lines.values().filter_map(VecDeque::front).map(|waiter| waiter.attempt.slot()).collect()
    }

    fn on_subscribed(&mut self, slot: u16, ear: HintChannel) {
        self.ears.insert(slot, ear);
        for names in self.lines_where(|waiter| waiter.stage.lacks_hints() && waiter.attempt.slot() == slot) {
            self.ask(&names);
        }
    }

    fn on_not_subscribed(&mut self, slot: u16, error: &Error) {
        self.ears.remove(&slot);
        for names in self.lines_where(|waiter| waiter.stage.is_unsubscribed() && waiter.attempt.slot() == slot) {
            let Some(first) = self.lines.get_mut(&names).and_then(VecDeque::front_mut) else { continue };
            match first.attempt.outlasts(error) {
                Some(until) => first.stage = WaitStage::Resting(until),
                None => self.end_first(&names, Err(error.clone()), true),
            }
        }
    }

    fn on_subscription_lost(&mut self, slot: u16) {
        self.ears.remove(&slot);
    }

    fn on_hint(&mut self, id: &AttemptId) {
        for names in self.lines_where(|waiter| waiter.attempt.id == *id) {
            let first = self.lines.get_mut(&names).and_then(VecDeque::front_mut);
            if first.is_some_and(|first| first.stage.on_hint()) {
                self.ask(&names);
            }
        }
    }

    fn on_answer(&mut self, number: u64, answer: Result<Answer>) {
        match self.questions.remove(&number) {
            Some(Question::Acquire(names, id)) => self.on_acquire(&names, &id, answer),
            Some(Question::PassOn(names, id, Passing { held, was_held, tag })) => {
                let released = match &answer {
                    Ok(answer) => Ok(Answer::new(was_held && answer.get().is_some_and(has_released))),
                    Err(error) => {
                        // Nobody knows whether it was released: once more, for nobody.
                        self.actions.push(Action::CleanUp(held.cleanup()));
                        Err(error.clone())
                    }
                };
                self.actions.push(Action::Answer(tag, released));
                self.on_acquire(&names, &id, answer);
            }
            Some(Question::Release(Passing { held, was_held, tag })) => {
                match &answer {
                    Ok(_) => self.on_freed(&held.spec.keys),
                    Err(error) => self.actions.push(Action::CleanUpLater(held.cleanup(), error.clone())),
                }
                let released = answer.map(|answer| Answer::new(answer.get() == Some(&true) && was_held));
                self.actions.push(Action::Answer(tag, released));
            }
            Some(Question::Renew(due)) => self.renewals.on_answer(&due, answer),
            None => {}
        }
    }

    fn turn(&mut self, now: Instant) {
        for due in self.renewals.due(now) {
            self.work(due.work(), Question::Renew(due));
        }
        // The first in line asks or is answered in its own time; the others only wait, and know what it knows.
        let away = |(names, line): (&LockKeys, &VecDeque<QueuedAttempt>)| {
            Some((names.clone(), line.front()?.attempt.on_wait_over().err()?))
        };
        let away: HashMap<LockKeys, Error> = self.lines.iter().filter_map(away).collect();
        self.leave_if(
            |waiter| (waiter.stage == IN_LINE || waiter.stage.is_unsubscribed()) && waiter.attempt.until <= now,
            |waiter| {
                away.get(&waiter.attempt.lock.spec.keys).map_or(Ok(Answer::new(false)), |error| Err(error.clone()))
            },
        );
        for names in self.lines_where(|waiter| waiter.stage.is_rested(now)) {
            if self.first(&names).is_some_and(|first| first.attempt.waits()) {
                self.ask(&names);
            } else if let Some(over) = self.first(&names).map(|first| first.attempt.on_wait_over()) {
                self.end_first(&names, over.map(Answer::new), true);
            }
        }
    }

    fn next_turn(&self) -> Option<Instant> {
        let due = |waiter: &QueuedAttempt| waiter.stage.due(waiter.attempt.until);
        self.lines.values().flatten().filter_map(due).chain(self.renewals.next_turn()).min()
    }

    fn cancel(&mut self, _is_it: &dyn Fn(&Tag) -> bool) {
        // A caller that abandons an attempt tells the handle.
    }

    fn close(&mut self) {
        let closed = || Error::new(Code::Closed, "the client was closed during the wait for a lock");
        self.leave_if(|_| true, |_| Err(closed()));
        let releasing = self.questions.values().filter_map(|question| match question {
            Question::Release(passing) | Question::PassOn(_, _, passing) => Some(passing.held.cleanup()),
            Question::Acquire(..) | Question::Renew(_) => None,
        });
        self.actions.extend(releasing.map(Action::CleanUp));
    }

    fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }
}

fn has_released(grant: &Grant) -> bool {
    match grant.outcome {
        AcquireOutcome::Granted { released, .. } | AcquireOutcome::Refused { released, .. } => released,
        AcquireOutcome::Cancelled { .. } => false,
    }
}
