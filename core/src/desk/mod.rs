//! What the process' thread does for locks and caches: renews the leases that are held, tells their loss, and looks after
//! those who wait. It hands operations to the hub's links and takes their answers.

mod leave;
mod outage;
mod request;
mod stage;
mod waiting;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::answer::Answer;
use crate::cache;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::lease::{Channel, Grant, Id, Outcome};
use crate::lock::{self, Due, Held, Passing, Place, Renewals};
use crate::op::Task;
use crate::operation::Operation;
use crate::redis::hub::{Sink, Tag};
use crate::redis::{blocking, pipeline};
use crate::session::Session;

use leave::Leaves;
pub(crate) use leave::{CLEAN_UP, Leave};
pub(crate) use outage::Outage;
pub(crate) use request::{Notice, Request};
pub(crate) use stage::Stage;
use waiting::Waiting;

/// What an answer is for.
enum Errand {
    Ask(u64, Place, Id),
    PassOn(u64, Place, Id, Passing),
    /// For the reader of a number.
    Look(u64, u64),
    Release {
        port: u64,
        held: Arc<Held>,
        was_held: bool,
        tag: Tag,
    },
    Renew(Due),
    Leave(Leave),
    /// For nobody.
    Part,
}

impl Errand {
    /// What takes back what it is about, if that is to be taken back through this client.
    fn leave_of(&self, of: u64) -> Option<Leave> {
        match self {
            Errand::Release { port, held, .. } if *port == of => Some(held.leave()),
            Errand::PassOn(port, _, _, passing) if *port == of => Some(passing.held.leave()),
            Errand::Leave(leave) if port(&leave.shared) == of => Some(leave.clone()),
            _ => None,
        }
    }
}

/// What is to be done elsewhere, with the number that its answer comes back under.
pub(crate) struct Sending {
    pub work: Work,
    pub number: u64,
}

/// Work of the desk's that takes its time.
pub(crate) enum Work {
    /// A call for the client's link.
    Call(Exchange),
    /// Something for a thread of its own.
    Task(Task),
}

/// Where the answers of the desk's own operations are left.
#[derive(Default)]
struct Tray {
    answers: Mutex<Vec<(u64, Result<Answer>)>>,
}

impl Sink for Tray {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).extend(answers);
    }
}

/// All that the thread knows of locks and caches.
#[derive(Default)]
pub(crate) struct Desk {
    /// By the number of the client's port.
    waiting: HashMap<u64, Waiting>,
    renewals: Renewals,
    leaves: Leaves,
    errands: HashMap<u64, Errand>,
    next: u64,
    tray: Arc<Tray>,
    /// What is to be sent now.
    pub out: Vec<Sending>,
}

impl Desk {
    /// Where the answers to what it sends must go.
    pub fn sink(&self) -> Arc<dyn Sink> {
        self.tray.clone()
    }

    /// Takes what a handle asks for.
    pub fn request(&mut self, request: Request, tag: Tag) {
        match request {
            Request::Acquire(attempt) => {
                let port = port(&attempt.lock.spec.shared);
                self.waiting.entry(port).or_default().room.enter(attempt, tag);
            }
            Request::Read(reader) => {
                let port = port(&reader.place.spec.shared);
                self.waiting.entry(port).or_default().readers.enter(reader, tag);
            }
            Request::Release { held, was_held } => {
                let port = port(&held.spec.shared);
                let tag = match self.waiting.get_mut(&port) {
                    Some(waiting) => waiting.room.pass_on(&held, was_held, tag),
                    None => Some(tag),
                };
                if let Some(tag) = tag {
                    let release = held.spec.release(held.id, 0);
                    let shared = held.spec.shared.clone();
                    self.send(shared, Box::new(release), Errand::Release { port, held, was_held, tag });
                }
            }
        }
    }

    /// Takes what it is told.
    pub fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Keep(held) => self.renewals.keep(&held),
            Notice::Freed(spec) => {
                if let Some(waiting) = self.waiting.get_mut(&port(&spec.shared)) {
                    waiting.room.on_freed(&spec.keys);
                }
            }
            Notice::Abandoned => self.waiting.values_mut().for_each(|waiting| waiting.room.sweep()),
            Notice::Leave(leave) => self.leave(leave),
        }
    }

    /// The client of a port was closed: what was held, asked for or is being released is taken back beside its connection,
    /// which goes at once.
    pub fn close(&mut self, port: u64) {
        let mut leaves = self.leaves.of(port);
        leaves.extend(self.errands.values().filter_map(|errand| errand.leave_of(port)));
        if let Some(mut waiting) = self.waiting.remove(&port) {
            waiting.close();
            let Waiting { room, readers } = waiting;
            let mut others = Vec::new();
            for wish in room.wishes {
                if let lock::Wish::Leave(leave) = wish { leaves.push(leave) } else { others.push(wish) }
            }
            self.grant(port, others);
            let mut others = Vec::new();
            for wish in readers.wishes {
                if let cache::Wish::Leave(leave) = wish { leaves.push(leave) } else { others.push(wish) }
            }
            self.grant_readers(port, others);
        }
        if !leaves.is_empty() {
            let take_back = move || {
                pipeline::run_all(leaves.iter().map(Leave::exchange).collect(), &mut || false);
                Ok(Answer::new(true))
            };
            self.dispatch(Work::Task(Box::new(take_back)), Errand::Part);
        }
    }

    /// The calls of this client among what is to be sent, with their numbers.
    pub fn take_out(&mut self, port: u64) -> Vec<(Exchange, u64)> {
        let mut taken = Vec::new();
        for Sending { work, number } in std::mem::take(&mut self.out) {
            match work {
                Work::Call(exchange) if self::port(exchange.shared()) == port => taken.push((exchange, number)),
                work => self.out.push(Sending { work, number }),
            }
        }
        taken
    }

    /// Takes back what its caller does not wait for any more.
    pub fn cancel(&mut self, is_it: impl Fn(&Tag) -> bool) {
        self.waiting.values_mut().for_each(|waiting| waiting.readers.cancel(&is_it));
    }

    /// Which clients' waiters need a subscription, and what they have in common.
    pub fn deaf(&self) -> Vec<(u64, Arc<Session>, Arc<[u8]>)> {
        let deaf = |(port, waiting): (&u64, &Waiting)| {
            waiting.deaf().map(|(shared, wake_prefix)| (*port, shared.clone(), wake_prefix.clone()))
        };
        self.waiting.iter().filter_map(deaf).collect()
    }

    /// Whether there are answers that no turn has looked at.
    pub fn has_answers(&self) -> bool {
        !self.tray.answers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether anybody of a client waits.
    pub fn has_waiters(&self, port: u64) -> bool {
        self.waiting.get(&port).is_some_and(|waiting| !waiting.is_empty())
    }

    /// A client's subscription was made, or failed.
    pub fn on_hearing(&mut self, port: u64, heard: Result<Channel>) {
        self.waiting.entry(port).or_default().on_hearing(heard);
    }

    /// A client's subscription has gone, and nobody waits.
    pub fn on_silence(&mut self, port: u64) {
        if let Some(waiting) = self.waiting.get_mut(&port) {
            waiting.on_silence();
        }
    }

    /// Hints have come on a client's subscription.
    pub fn on_hints(&mut self, port: u64, hints: &[Id]) {
        if let Some(waiting) = self.waiting.get_mut(&port) {
            waiting.on_hints(hints);
        }
    }

    /// Does all that is due and can be done without waiting; true if there is something to send.
    pub fn turn(&mut self, now: Instant) -> bool {
        let answers = std::mem::take(&mut *self.tray.answers.lock().unwrap_or_else(PoisonError::into_inner));
        for (number, answer) in answers {
            if let Some(errand) = self.errands.remove(&number) {
                self.on_answer(errand, answer);
            }
        }
        self.renew(now);
        self.leaves.due(now).into_iter().for_each(|leave| self.leave(leave));
        let mut wishes = Vec::new();
        for (port, waiting) in &mut self.waiting {
            waiting.turn(now);
            let Waiting { room, readers } = waiting;
            wishes.push((*port, std::mem::take(&mut room.wishes), std::mem::take(&mut readers.wishes)));
        }
        for (port, at_locks, of_readers) in wishes {
            self.grant(port, at_locks);
            self.grant_readers(port, of_readers);
        }
        !self.out.is_empty()
    }

    /// When to turn again if nothing else happens.
    pub fn next_turn(&self) -> Option<Instant> {
        let waiting = self.waiting.values().filter_map(Waiting::next_turn);
        waiting.chain(self.renewals.next_turn()).chain(self.leaves.next_turn()).min()
    }

    /// Renews what is due.
    fn renew(&mut self, now: Instant) {
        for due in self.renewals.due(now) {
            let work = due.work();
            self.dispatch(work, Errand::Renew(due));
        }
    }

    fn on_answer(&mut self, errand: Errand, answer: Result<Answer>) {
        match errand {
            Errand::Ask(port, place, id) => {
                if let Some(waiting) = self.waiting.get_mut(&port) {
                    waiting.room.on_answer(&place, &id, answer);
                }
            }
            Errand::Look(port, number) => {
                if let Some(waiting) = self.waiting.get_mut(&port) {
                    waiting.readers.on_answer(number, answer);
                }
            }
            Errand::PassOn(port, place, id, Passing { held, was_held, tag }) => {
                let released = match &answer {
                    Ok(answer) => Ok(Answer::new(was_held && answer.get().is_some_and(has_released))),
                    Err(error) => {
                        // Nobody knows whether it was released: once more, for nobody.
                        self.leave(held.leave());
                        Err(error.clone())
                    }
                };
                tag.answer(released);
                if let Some(waiting) = self.waiting.get_mut(&port) {
                    waiting.room.on_answer(&place, &id, answer);
                }
            }
            Errand::Release { port, held, was_held, tag } => {
                match (&answer, self.waiting.get_mut(&port)) {
                    (Ok(_), Some(waiting)) => waiting.room.on_freed(&held.spec.keys),
                    (Ok(_), None) => {}
                    (Err(error), _) => self.leaves.failed(held.leave(), error),
                }
                tag.answer(answer.map(|answer| Answer::new(answer.get() == Some(&true) && was_held)));
            }
            Errand::Renew(due) => self.renewals.on_answer(&due, answer),
            Errand::Leave(leave) => match answer {
                Err(error) if !leave.shared.is_closed() => self.leaves.failed(leave, &error),
                _ => {}
            },
            Errand::Part => {}
        }
    }

    /// Does what a room wants done.
    fn grant(&mut self, port: u64, wishes: Vec<lock::Wish>) {
        for wish in wishes {
            match wish {
                lock::Wish::Ask(place, id, exchange) => {
                    // What asks replicas would hold up all behind it.
                    let work = match exchange.is_solitary() {
                        true => Work::Task(Box::new(move || blocking::run(exchange, &mut || false))),
                        false => Work::Call(exchange),
                    };
                    self.dispatch(work, Errand::Ask(port, place, id));
                }
                lock::Wish::PassOn(place, question, passing) => {
                    let shared = passing.held.spec.shared.clone();
                    let errand = Errand::PassOn(port, place, question.id, passing);
                    self.send(shared, Box::new(question), errand);
                }
                lock::Wish::Leave(leave) => self.leave(leave),
                lock::Wish::Keep(held) => self.renewals.keep(&held),
                lock::Wish::Answer(tag, answer) => tag.answer(answer),
            }
        }
    }

    /// Does what readers want done.
    fn grant_readers(&mut self, port: u64, wishes: Vec<cache::Wish>) {
        for wish in wishes {
            match wish {
                cache::Wish::Ask(number, exchange) => {
                    self.dispatch(Work::Call(exchange), Errand::Look(port, number));
                }
                cache::Wish::Leave(leave) => self.leave(leave),
                cache::Wish::Answer(tag, answer) => tag.answer(answer),
            }
        }
    }

    fn leave(&mut self, leave: Leave) {
        let exchange = leave.exchange();
        // The link of a closed client has gone, and another would stay.
        let work = match leave.shared.is_closed() {
            true => Work::Task(Box::new(move || blocking::run(exchange, &mut || false))),
            false => Work::Call(exchange),
        };
        self.dispatch(work, Errand::Leave(leave));
    }

    fn send(&mut self, shared: Arc<Session>, operation: Box<dyn Operation>, errand: Errand) {
        self.dispatch(Work::Call(Exchange::new(shared, operation, None)), errand);
    }

    fn dispatch(&mut self, work: Work, errand: Errand) {
        self.next += 1;
        self.errands.insert(self.next, errand);
        self.out.push(Sending { work, number: self.next });
    }
}

/// The number of a client's port.
fn port(shared: &Session) -> u64 {
    shared.engine().number
}

fn has_released(grant: &Grant) -> bool {
    match grant.outcome {
        Outcome::Granted { released, .. } | Outcome::Refused { released, .. } => released,
        Outcome::Cancelled { .. } => false,
    }
}
