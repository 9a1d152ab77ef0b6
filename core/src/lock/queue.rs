//! Those of one client in this process who wait for locks: for each lock they stand in line, and only the first asks Redis.

pub(super) mod guest;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::attempt::{Attempt, SHORT_HOLD, taken_back};
use super::held::HeldLock;
use super::renewals::{Due, Renewals};
use wire::base::error::Result;
use wire::call::answer::{Answer, Tag};
use wire::call::command::Command;
use wire::call::hint::AttemptId;
use wire::connection::subscription::HintChannel;
use wire::machine::Next;
use wire::reactor::{Action, WaitStage, Work};
use wire::redis::blocking;
use wire::session::exchange::Exchange;

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

#[cfg(test)]
mod tests;
