//! What the process' thread does for the locks of one client: it looks after those who wait, renews what is held, and
//! releases, by passing the lock on where somebody of this process waits for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::attempt::Attempt;
use super::held::Held;
use super::queue::{LockQueue, Names, Passing, QueueAction};
use super::renewals::{Due, Renewals};
use crate::base::error::{Error, Result};
use crate::call::answer::Answer;
use crate::call::operation::Operation;
use crate::call::sink::Tag;
use crate::reactor::{Action, Guest, Work};
use crate::redis::blocking;
use crate::session::Session;
use crate::session::exchange::Exchange;
use crate::state::lease::{Channel, Grant, Id, Outcome};

/// What was asked.
enum Question {
    /// Whether the first in a line, or one who does not wait, gets it.
    Acquire(Names, Id),
    /// The same, and another's hold is released.
    PassOn(Names, Id, Passing),
    Release(Passing),
    Renew(Due),
}

/// All that concerns the locks of one client.
#[derive(Default)]
pub(crate) struct LockGuest {
    queue: LockQueue,
    renewals: Renewals,
    questions: HashMap<u64, Question>,
    next: u64,
    actions: Vec<Action>,
}

impl LockGuest {
    /// Acquires, and answers with a flag.
    pub fn acquire(&mut self, attempt: Attempt, tag: Tag) {
        self.queue.enter(attempt, tag);
    }

    /// Releases, and answers with a flag.
    pub fn release(&mut self, held: Arc<Held>, was_held: bool, tag: Tag) {
        if let Some(tag) = self.queue.pass_on(&held, was_held, tag) {
            let release = Box::new(held.spec.release(held.id, 0));
            let session = held.spec.session.clone();
            self.ask(session, release, Question::Release(Passing { held, was_held, tag }));
        }
    }

    /// Renews it from now on, and tells its loss.
    pub fn keep(&mut self, held: &Arc<Held>) {
        self.renewals.keep(held);
    }

    /// A lock was freed by another thread.
    pub fn on_freed(&mut self, names: &Names) {
        self.queue.on_freed(names);
    }

    /// Lets those out whose callers have gone.
    pub fn sweep(&mut self) {
        self.queue.sweep();
    }

    fn ask(&mut self, session: Arc<Session>, operation: Box<dyn Operation>, question: Question) {
        self.work(Work::Call(Exchange::new(session, operation, None)), question);
    }

    fn work(&mut self, work: Work, question: Question) {
        self.next += 1;
        self.questions.insert(self.next, question);
        self.actions.push(Action::Ask(self.next, work));
    }

    /// Does what the queue wants done.
    fn follow(&mut self) {
        for action in std::mem::take(&mut self.queue.actions) {
            match action {
                QueueAction::Ask(names, id, exchange) => {
                    // What asks replicas would hold up all behind it.
                    let work = match exchange.is_solitary() {
                        true => Work::Task(Box::new(move || blocking::run(exchange, &mut || false))),
                        false => Work::Call(exchange),
                    };
                    self.work(work, Question::Acquire(names, id));
                }
                QueueAction::PassOn(names, question, passing) => {
                    let session = passing.held.spec.session.clone();
                    let asked = Question::PassOn(names, question.id, passing);
                    self.ask(session, Box::new(question), asked);
                }
                QueueAction::CleanUp(cleanup) => self.actions.push(Action::CleanUp(cleanup)),
                QueueAction::Keep(held) => self.renewals.keep(&held),
                QueueAction::Answer(tag, answer) => self.actions.push(Action::Answer(tag, answer)),
            }
        }
    }
}

impl Guest for LockGuest {
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.queue.is_idle() && self.questions.is_empty() && self.renewals.next_turn().is_none()
    }

    fn deaf(&self) -> Option<(&Arc<Session>, &Arc<[u8]>)> {
        let spec = &self.queue.any().filter(|_| self.queue.is_deaf())?.lock.spec;
        Some((&spec.session, &spec.wake_prefix))
    }

    fn on_hearing(&mut self, channel: Channel) {
        self.queue.on_hearing(channel);
    }

    fn on_deafness(&mut self, error: &Error) {
        self.queue.on_deafness(error);
    }

    fn on_silence(&mut self) {
        self.queue.on_silence();
    }

    fn on_hint(&mut self, id: &Id) {
        self.queue.on_hint(id);
    }

    fn on_answer(&mut self, number: u64, answer: Result<Answer>) {
        match self.questions.remove(&number) {
            Some(Question::Acquire(names, id)) => self.queue.on_answer(&names, &id, answer),
            Some(Question::PassOn(names, id, Passing { held, was_held, tag })) => {
                let released = match &answer {
                    Ok(answer) => Ok(Answer::new(was_held && answer.get().is_some_and(has_released))),
                    Err(error) => {
                        // Nobody knows whether it was released: once more, for nobody.
                        self.actions.push(Action::CleanUp(held.leave()));
                        Err(error.clone())
                    }
                };
                self.actions.push(Action::Answer(tag, released));
                self.queue.on_answer(&names, &id, answer);
            }
            Some(Question::Release(Passing { held, was_held, tag })) => {
                match &answer {
                    Ok(_) => self.queue.on_freed(&held.spec.keys),
                    Err(error) => self.actions.push(Action::CleanUpLater(held.leave(), error.clone())),
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
        self.queue.turn(now);
    }

    fn next_turn(&self) -> Option<Instant> {
        self.queue.next_turn().into_iter().chain(self.renewals.next_turn()).min()
    }

    fn cancel(&mut self, _is_it: &dyn Fn(&Tag) -> bool) {
        // Whoever abandons an attempt says so at its handle.
    }

    fn close(&mut self) {
        self.queue.close();
        let releasing = self.questions.values().filter_map(|question| match question {
            Question::Release(passing) | Question::PassOn(_, _, passing) => Some(passing.held.leave()),
            Question::Acquire(..) | Question::Renew(_) => None,
        });
        self.actions.extend(releasing.map(Action::CleanUp));
    }

    fn take_actions(&mut self) -> Vec<Action> {
        self.follow();
        std::mem::take(&mut self.actions)
    }
}

fn has_released(grant: &Grant) -> bool {
    match grant.outcome {
        Outcome::Granted { released, .. } | Outcome::Refused { released, .. } => released,
        Outcome::Cancelled { .. } => false,
    }
}
