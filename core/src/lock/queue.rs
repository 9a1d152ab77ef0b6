//! Those of one client in this process who wait for locks: for each lock they stand in line, and only the first asks Redis. They
//! are a guest of the process' thread: handles tell it what they want, from whichever thread they are used on; it looks after
//! those who wait, renews what is held, and releases. No I/O: what is to be sent, and who has an answer, is told by actions.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::attempt::{Attempt, SHORT_HOLD, taken_back};
use super::held::HeldLock;
use super::lease_table::{AcquireOutcome, Grant};
use super::renewals::{Due, Renewals};
use super::spec::LockSpec;
use wire::base::error::{Code, Error, Result};
use wire::call::answer::{Answer, Sink, Tag};
use wire::call::command::Command;
use wire::call::hint::AttemptId;
use wire::connection::subscription::HintChannel;
use wire::machine::Next;
use wire::reactor::{Action, Guest, Need, WaitStage, Work, thread};
use wire::redis::blocking;
use wire::session::exchange::Exchange;

/// Asks the process' thread to acquire; the answer, a flag, comes to `sink` under this number.
pub(super) fn acquire(mut attempt: Attempt, id: u64, sink: &Arc<dyn Sink>) {
    attempt.wait_beside_others();
    let session = attempt.lock.spec.session.clone();
    thread::request(&session, id, sink, |guests, tag| {
        if let Some(locks) = guests.of::<LockQueue>() {
            locks.acquire(attempt, tag);
        }
    });
}

/// Asks the process' thread to release; the answer, a flag, comes to `sink` under this number.
pub(super) fn release(held: Arc<HeldLock>, was_held: bool, id: u64, sink: &Arc<dyn Sink>) {
    let session = held.spec.session.clone();
    thread::request(&session, id, sink, move |guests, tag| {
        if let Some(locks) = guests.of::<LockQueue>() {
            locks.release(held, was_held, tag);
        }
    });
}

/// Asks the process' thread to renew a grant and to tell its loss.
pub(super) fn watch(held: &Arc<HeldLock>) {
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
pub(super) fn keep_if_renewed(held: &Arc<HeldLock>) {
    if held.spec.options.renew {
        watch(held);
    }
}

/// Tells those who wait in this process that something was freed.
pub(super) fn freed(spec: &Arc<LockSpec>) {
    let keys = spec.keys.clone();
    thread::notify_if_awake(&spec.session, move |guests| {
        if let Some(locks) = guests.get::<LockQueue>() {
            locks.on_freed(&keys);
        }
    });
}

/// Takes back in the background what an attempt may have left.
pub(super) fn forget(attempt: &Attempt) {
    if let Some(cleanup) = attempt.cleanup() {
        cleanup.send_in_background();
    }
}

/// Removes from the lines those whose callers are gone.
pub(super) fn look_for_abandoned(spec: &LockSpec) {
    thread::notify_if_awake(&spec.session, |guests| {
        if let Some(locks) = guests.get::<LockQueue>() {
            locks.sweep();
        }
    });
}

/// What all that wait for the same thing have in common.
type LockKeys = Arc<[Vec<u8>]>;

/// Who waits, and for whom.
struct QueuedAttempt {
    attempt: Attempt,
    tag: Tag,
    /// Only the first of a line gets past [`IN_LINE`].
    stage: WaitStage<()>,
}

/// Others stand before it.
const IN_LINE: WaitStage<()> = WaitStage::Behind(());

/// What was asked.
enum Question {
    /// Whether the first in a line, or one who does not wait, gets it.
    Acquire(LockKeys, AttemptId),
    /// The same, and another's hold is released.
    PassOn(LockKeys, AttemptId, Passing),
    Release(Passing),
    Renew(Due),
}

/// A release, which may pass the lock on.
struct Passing {
    held: Arc<HeldLock>,
    was_held: bool,
    tag: Tag,
}

/// All that concerns the locks of one client.
#[derive(Default)]
pub(crate) struct LockQueue {
    lines: HashMap<LockKeys, VecDeque<QueuedAttempt>>,
    /// Those who do not wait: they ask once, and stand in no line.
    tries: HashMap<AttemptId, QueuedAttempt>,
    /// Who of this process holds a lock alone, as far as it was granted here: the first in line need not ask.
    holders: HashMap<LockKeys, Weak<HeldLock>>,
    /// From how many holders on those are looked for of whom nobody told that they are gone.
    crowd: usize,
    /// Where hints are heard, by slot; of one server all are in slot 0.
    ears: HashMap<u16, HintChannel>,
    renewals: Renewals,
    questions: HashMap<u64, Question>,
    /// The number of the last question.
    asked: u64,
    actions: Vec<Action>,
}

impl LockQueue {
    /// Acquires, and answers with a flag.
    pub fn acquire(&mut self, mut attempt: Attempt, tag: Tag) {
        let names = attempt.lock.spec.keys.clone();
        // What is asked for nobody would be granted for a moment, and others refused for it.
        if attempt.is_abandoned() {
            self.actions.push(Action::Answer(tag, Err(taken_back())));
            return;
        }
        if !attempt.waits() {
            self.send(names, attempt.id, attempt.exchange());
            self.tries.insert(attempt.id, QueuedAttempt { attempt, tag, stage: WaitStage::ASKS });
            return;
        }
        attempt.lock.refused("others of this process wait for it".to_owned());
        let line = self.lines.entry(names.clone()).or_default();
        line.push_back(QueuedAttempt { attempt, tag, stage: IN_LINE });
        // The first asks in its own time, but who comes later may have less.
        if line.len() == 1
            || line.front().is_some_and(|first| first.stage.is_resting() && first.attempt.asked_long_ago())
        {
            self.ask(&names);
        }
    }

    /// Something was released in this process.
    pub fn on_freed(&mut self, names: &LockKeys) {
        self.holders.remove(names);
        if self.first(names).is_some_and(|first| first.stage.is_resting()) {
            self.ask(names);
        }
    }

    /// The answer for the first in a line, or for one who does not wait.
    fn on_acquire(&mut self, names: &LockKeys, id: &AttemptId, answer: Result<Answer>) {
        if let Some(mut waiter) = self.tries.remove(id) {
            match waiter.attempt.on_answer(answer) {
                Next::Done(Ok(Some(held))) => {
                    self.on_held(names, held);
                    self.end(waiter, Ok(Answer::new(true)), false);
                }
                Next::Done(Err(error)) => self.end(waiter, Err(error), true),
                Next::Done(Ok(None)) | Next::Listen | Next::Rest(_) => self.end(waiter, Ok(Answer::new(false)), true),
            }
            return;
        }
        let Some(first) = self.lines.get_mut(names).and_then(VecDeque::front_mut) else { return };
        // The caller that asked may have left; its question is taken back already.
        if first.attempt.id != *id || !first.stage.is_asking() {
            return;
        }
        match first.attempt.on_answer(answer) {
            Next::Done(Ok(Some(held))) => {
                self.on_held(names, held);
                self.end_first(names, Ok(Answer::new(true)), false);
            }
            Next::Listen => match self.ears.get(&first.attempt.slot()) {
                Some(ear) if first.attempt.is_near(*ear) => self.ask(names),
                _ => first.stage = WaitStage::Unsubscribed,
            },
            Next::Rest(until) => {
                let until = first.attempt.nap(until);
                if !first.stage.rest(until) {
                    self.ask(names);
                }
            }
            Next::Done(Ok(None)) => self.end_first(names, Ok(Answer::new(false)), true),
            Next::Done(Err(error)) => self.end_first(names, Err(error), true),
        }
    }

    /// Something was granted in this process.
    fn on_held(&mut self, names: &LockKeys, held: Arc<HeldLock>) {
        if held.spec.is_exclusive() {
            if self.holders.len() >= self.crowd {
                self.holders.retain(|_, held| held.strong_count() > 0);
                self.crowd = 2 * self.holders.len().max(64);
            }
            self.holders.insert(names.clone(), Arc::downgrade(&held));
        }
        self.renewals.watch(&held);
    }

    /// Releases, by passing the lock on if a caller here waits for it, and answers with a flag.
    pub fn release(&mut self, held: Arc<HeldLock>, was_held: bool, tag: Tag) {
        let names = held.spec.keys.clone();
        self.holders.remove(&names);
        let ears = &self.ears;
        let passable = |first: &&mut QueuedAttempt| {
            held.spec.is_exclusive()
                && first.stage.is_resting()
                && first.attempt.lock.spec.is_exclusive()
                && first.attempt.waits()
                // Replicas are asked on another connection than the one that releases.
                && first.attempt.lock.spec.options.replicas_ack == 0
        };
        let first = self.lines.get_mut(&names).and_then(VecDeque::front_mut).filter(passable);
        let next = first.map(|first| {
            first.attempt.listen_at(ears.get(&first.attempt.slot()).copied());
            first.stage = WaitStage::ASKS;
            first.attempt.ask(Some(held.id))
        });
        let spec = held.spec.clone();
        let passing = Passing { held, was_held, tag };
        let (command, question): (Box<dyn Command>, _) = match next {
            Some(next) => {
                let id = next.id;
                (Box::new(next), Question::PassOn(names, id, passing))
            }
            None => (Box::new(spec.release(passing.held.id, 0)), Question::Release(passing)),
        };
        self.work(Work::Call(Exchange::new(spec.session.clone(), command, None)), question);
    }

    /// Renews it from now on, and tells its loss.
    pub fn watch(&mut self, held: &Arc<HeldLock>) {
        self.renewals.watch(held);
    }

    /// Lets those out whose callers have gone.
    pub fn sweep(&mut self) {
        self.leave_if(|waiter| waiter.attempt.is_abandoned(), |_| Err(taken_back()));
    }

    /// Lets everybody out who fits, with their answers, and what they may have left behind taken back.
    fn leave_if(&mut self, fits: impl Fn(&QueuedAttempt) -> bool, answer: impl Fn(&QueuedAttempt) -> Result<Answer>) {
        let tries: Vec<AttemptId> = self.tries.iter().filter(|(_, waiter)| fits(waiter)).map(|(id, _)| *id).collect();
        for waiter in tries.iter().filter_map(|id| self.tries.remove(id)).collect::<Vec<_>>() {
            let answer = answer(&waiter);
            self.end(waiter, answer, true);
        }
        let mut moved = Vec::new();
        for (names, line) in &mut self.lines {
            let mut at = 0;
            while at < line.len() {
                if !fits(&line[at]) {
                    at += 1;
                    continue;
                }
                let Some(waiter) = line.remove(at) else { break };
                self.actions.extend(waiter.attempt.cleanup().map(Action::CleanUp));
                let answer = answer(&waiter);
                self.actions.push(Action::Answer(waiter.tag, answer));
                if at == 0 {
                    moved.push(names.clone());
                }
            }
        }
        for names in moved {
            self.follow(&names);
        }
    }

    fn lines_where(&self, fits: impl Fn(&QueuedAttempt) -> bool) -> Vec<LockKeys> {
        let first = |(names, line): (&LockKeys, &VecDeque<QueuedAttempt>)| {
            line.front().is_some_and(&fits).then(|| names.clone())
        };
        self.lines.iter().filter_map(first).collect()
    }

    fn first(&self, names: &LockKeys) -> Option<&QueuedAttempt> {
        self.lines.get(names).and_then(VecDeque::front)
    }

    /// Starts the next in a line: it asks, but not at once if the one before it was just granted the lock, and is known to
    /// hold it: that one may hand it on before.
    fn begin(&mut self, names: &LockKeys) {
        let holder = self.holders.get(names).and_then(Weak::upgrade).filter(|held| held.is_held());
        match (holder, self.lines.get_mut(names).and_then(VecDeque::front_mut)) {
            (Some(held), Some(first)) if first.attempt.waits() => {
                let now = Instant::now();
                // It asks in any case: the holder may not know yet that it lost the lock.
                let rest = SHORT_HOLD.min(Duration::from_micros(held.remaining())).min((first.attempt.until - now) / 2);
                first.stage = WaitStage::Resting(now + rest);
                // A refusal must be able to say who holds it.
                first.attempt.lock.refused("another handle of this process holds it".to_owned());
            }
            (holder, Some(_)) => {
                if holder.is_none() {
                    self.holders.remove(names);
                }
                self.ask(names);
            }
            (_, None) => {}
        }
    }

    fn ask(&mut self, names: &LockKeys) {
        let Some(first) = self.lines.get_mut(names).and_then(VecDeque::front_mut) else { return };
        first.attempt.listen_at(self.ears.get(&first.attempt.slot()).copied());
        first.stage = WaitStage::ASKS;
        let (id, exchange) = (first.attempt.id, first.attempt.exchange());
        self.send(names.clone(), id, exchange);
    }

    fn send(&mut self, names: LockKeys, id: AttemptId, exchange: Exchange) {
        // What asks replicas would hold up all behind it.
        let work = match exchange.is_solitary() {
            true => Work::Task(Box::new(move || blocking::run(exchange, &mut || false))),
            false => Work::Call(exchange),
        };
        self.work(work, Question::Acquire(names, id));
    }

    fn work(&mut self, work: Work, question: Question) {
        self.asked += 1;
        self.questions.insert(self.asked, question);
        self.actions.push(Action::Ask(self.asked, work));
    }

    fn end_first(&mut self, names: &LockKeys, answer: Result<Answer>, leaves: bool) {
        let Some(line) = self.lines.get_mut(names) else { return };
        let Some(waiter) = line.pop_front() else { return };
        if let Some(next) = line.front_mut() {
            next.attempt.learn(&waiter.attempt);
        }
        self.end(waiter, answer, leaves);
        self.follow(names);
    }

    fn end(&mut self, waiter: QueuedAttempt, answer: Result<Answer>, leaves: bool) {
        self.actions.extend(waiter.attempt.cleanup().filter(|_| leaves).map(Action::CleanUp));
        // The handle is free for another attempt before its caller hears of this one's end.
        let QueuedAttempt { attempt, tag, .. } = waiter;
        drop(attempt);
        self.actions.push(Action::Answer(tag, answer));
    }

    /// The next in line begins.
    fn follow(&mut self, names: &LockKeys) {
        match self.lines.get(names) {
            Some(line) if line.is_empty() => drop(self.lines.remove(names)),
            Some(_) if self.first(names).is_some_and(|first| first.stage == IN_LINE) => self.begin(names),
            _ => {}
        }
    }
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

#[cfg(test)]
mod tests;
