//! What the process' thread does for locks: renews those that are held, tells their loss, and runs the lines of those who
//! wait. It hands operations to the hub's links and takes their answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::attempt::Attempt;
use super::held::Held;
use super::options::Spec;
use super::quorum;
use super::renewals::{Due, Renewals};
use super::room::{Passing, Place, Room, Wish};
use super::tell;
use crate::cache::{self, Reader, Readers};
use crate::client::Shared;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::lease::{Channel, Grant, Id, Outcome};
use crate::op::Task;
use crate::operation::{Answer, Operation, odd_reply};
use crate::store::redis::hub::{Sink, Tag};
use crate::store::redis::pool;

/// What handles ask of the process' thread.
pub(crate) enum Request {
    Acquire(Attempt),
    Release {
        held: Arc<Held>,
        was_held: bool,
    },
    /// An entry of a cache.
    Read(Reader),
}

impl Request {
    /// Whether it is about several servers: then a thread of its own does it, with [`run`](Request::run).
    pub fn is_quorum(&self) -> bool {
        match self {
            Request::Acquire(attempt) => attempt.lock.spec.is_quorum(),
            Request::Release { held, .. } => held.spec.is_quorum(),
            Request::Read(_) => false,
        }
    }

    /// Does it on this thread, on several servers.
    pub fn run(self) -> Result<Answer> {
        match self {
            Request::Acquire(attempt) => quorum::acquire(attempt, tell::keep, &mut || false).map(Answer::Flag),
            Request::Release { held, was_held } => {
                quorum::release(&held, &mut || false).map(|released| Answer::Flag(released && was_held))
            }
            Request::Read(_) => Err(odd_reply("a read of several servers".to_owned())),
        }
    }
}

/// What the thread is told without an answer to it.
pub(crate) enum Notice {
    /// Renew it and tell its loss.
    Keep(Arc<Held>),
    /// Something was freed by another thread.
    Freed(Arc<Held>),
    /// A caller has abandoned its attempt.
    Abandoned,
    /// Send this; nobody waits for the answer.
    Leave(Arc<Shared>, Box<dyn Operation>),
}

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
    Leave,
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

/// All that the thread knows of locks.
#[derive(Default)]
pub(crate) struct Desk {
    rooms: HashMap<u64, Room>,
    readers: HashMap<u64, Readers>,
    renewals: Renewals,
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
                let port = port(&attempt.lock.spec);
                self.rooms.entry(port).or_default().enter(attempt, tag);
            }
            Request::Read(reader) => {
                let port = reader.place.spec.shared.engine().port.id();
                self.readers.entry(port).or_default().enter(reader, tag);
            }
            Request::Release { held, was_held } => {
                let port = port(&held.spec);
                let tag = match self.rooms.get_mut(&port) {
                    Some(room) => room.pass_on(&held, was_held, tag),
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
            Notice::Freed(held) => {
                if let Some(room) = self.rooms.get_mut(&port(&held.spec)) {
                    room.on_freed(&held.spec.keys);
                }
            }
            Notice::Abandoned => self.rooms.values_mut().for_each(Room::sweep),
            Notice::Leave(shared, operation) => self.send(shared, operation, Errand::Leave),
        }
    }

    /// The client of a port was closed.
    pub fn close(&mut self, port: u64) {
        if let Some(mut room) = self.rooms.remove(&port) {
            room.close();
            self.grant(port, room.wishes);
        }
        if let Some(mut readers) = self.readers.remove(&port) {
            readers.close();
            self.grant_readers(port, readers.wishes);
        }
    }

    /// The calls of this client among what is to be sent, with their numbers.
    pub fn take_out(&mut self, port: u64) -> Vec<(Exchange, u64)> {
        let mut taken = Vec::new();
        for Sending { work, number } in std::mem::take(&mut self.out) {
            match work {
                Work::Call(exchange) if exchange.shared().engine().port.id() == port => taken.push((exchange, number)),
                work => self.out.push(Sending { work, number }),
            }
        }
        taken
    }

    /// Takes back what its caller does not wait for any more.
    pub fn cancel(&mut self, is_it: impl Fn(&Tag) -> bool) {
        self.readers.values_mut().for_each(|readers| readers.cancel(&is_it));
    }

    /// Which clients' waiters need a subscription, and what they have in common.
    pub fn deaf(&self) -> Vec<(u64, Arc<Shared>, Arc<[u8]>)> {
        let rooms = self.rooms.iter().filter(|(_, room)| room.is_deaf()).filter_map(|(port, room)| {
            let spec = &room.any()?.lock.spec;
            Some((*port, spec.shared.clone(), spec.wake_prefix.clone()))
        });
        let readers = self.readers.iter().filter(|(_, readers)| readers.is_deaf()).filter_map(|(port, readers)| {
            let spec = &readers.any()?.place.spec;
            Some((*port, spec.shared.clone(), spec.wake_prefix.clone()))
        });
        rooms.chain(readers).collect()
    }

    /// Whether there are answers that no turn has looked at.
    pub fn has_answers(&self) -> bool {
        !self.tray.answers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether anybody of a client waits.
    pub fn has_waiters(&self, port: u64) -> bool {
        self.rooms.get(&port).is_some_and(|room| !room.is_empty())
            || self.readers.get(&port).is_some_and(|readers| !readers.is_empty())
    }

    /// A client's subscription was made, or failed.
    pub fn on_hearing(&mut self, port: u64, heard: Result<Channel>) {
        let (room, readers) = (self.rooms.entry(port).or_default(), self.readers.entry(port).or_default());
        match heard {
            Ok(channel) => {
                room.on_hearing(channel);
                readers.on_hearing(channel);
            }
            Err(error) => {
                room.on_deafness(&error);
                readers.on_deafness(&error);
            }
        }
    }

    /// A client's subscription has gone, and nobody waits.
    pub fn on_silence(&mut self, port: u64) {
        if let Some(room) = self.rooms.get_mut(&port) {
            room.on_silence();
        }
        if let Some(readers) = self.readers.get_mut(&port) {
            readers.on_silence();
        }
    }

    /// Hints have come on a client's subscription.
    pub fn on_hints(&mut self, port: u64, hints: &[Id]) {
        if let Some(room) = self.rooms.get_mut(&port) {
            hints.iter().for_each(|id| room.on_hint(id));
        }
        if let Some(readers) = self.readers.get_mut(&port) {
            hints.iter().for_each(|topic| readers.on_hint(topic));
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
        let mut wishes = Vec::new();
        for (port, room) in &mut self.rooms {
            room.turn(now);
            wishes.push((*port, std::mem::take(&mut room.wishes)));
        }
        wishes.into_iter().for_each(|(port, wishes)| self.grant(port, wishes));
        let mut wishes = Vec::new();
        for (port, readers) in &mut self.readers {
            readers.turn(now);
            wishes.push((*port, std::mem::take(&mut readers.wishes)));
        }
        wishes.into_iter().for_each(|(port, wishes)| self.grant_readers(port, wishes));
        !self.out.is_empty()
    }

    /// When to turn again if nothing else happens.
    pub fn next_turn(&self) -> Option<Instant> {
        let rooms = self.rooms.values().filter_map(Room::next_turn);
        rooms.chain(self.readers.values().filter_map(Readers::next_turn)).chain(self.renewals.next_turn()).min()
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
                if let Some(room) = self.rooms.get_mut(&port) {
                    room.on_answer(&place, &id, answer);
                }
            }
            Errand::Look(port, number) => {
                if let Some(readers) = self.readers.get_mut(&port) {
                    readers.on_answer(number, answer);
                }
            }
            Errand::PassOn(port, place, id, Passing { held, was_held, tag }) => {
                let released = match &answer {
                    Ok(Answer::Grant(grant, _)) => Ok(Answer::Flag(was_held && has_released(grant))),
                    Ok(_) => Ok(Answer::Flag(false)),
                    Err(error) => {
                        // Nobody knows whether it was released: once more, for nobody.
                        let release = held.spec.release(held.id, 0);
                        self.send(held.spec.shared.clone(), Box::new(release), Errand::Leave);
                        Err(error.clone())
                    }
                };
                tag.answer(released);
                if let Some(room) = self.rooms.get_mut(&port) {
                    room.on_answer(&place, &id, answer);
                }
            }
            Errand::Release { port, held, was_held, tag } => {
                if let (Ok(_), Some(room)) = (&answer, self.rooms.get_mut(&port)) {
                    room.on_freed(&held.spec.keys);
                }
                tag.answer(answer.map(|answer| match answer {
                    Answer::Flag(released) => Answer::Flag(released && was_held),
                    other => other,
                }));
            }
            Errand::Renew(due) => self.renewals.on_answer(&due, answer),
            Errand::Leave => {}
        }
    }

    /// Does what a room wants done.
    fn grant(&mut self, port: u64, wishes: Vec<Wish>) {
        for wish in wishes {
            match wish {
                Wish::Ask(place, id, exchange) => {
                    // What asks replicas would hold up all behind it.
                    let work = match exchange.is_solitary() {
                        true => Work::Task(Box::new(move || pool::run(exchange, &mut || false))),
                        false => Work::Call(exchange),
                    };
                    self.dispatch(work, Errand::Ask(port, place, id));
                }
                Wish::PassOn(place, question, passing) => {
                    let shared = passing.held.spec.shared.clone();
                    let errand = Errand::PassOn(port, place, question.id, passing);
                    self.send(shared, Box::new(question), errand);
                }
                Wish::Leave(shared, release) => self.send(shared, Box::new(release), Errand::Leave),
                Wish::Keep(held) => self.renewals.keep(&held),
                Wish::Answer(tag, answer) => tag.answer(answer),
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
                cache::Wish::Leave(shared, leave) => self.send(shared, leave, Errand::Leave),
                cache::Wish::Answer(tag, answer) => tag.answer(answer),
            }
        }
    }

    fn send(&mut self, shared: Arc<Shared>, operation: Box<dyn Operation>, errand: Errand) {
        self.dispatch(Work::Call(Exchange::new(shared, operation, None)), errand);
    }

    fn dispatch(&mut self, work: Work, errand: Errand) {
        self.next += 1;
        self.errands.insert(self.next, errand);
        self.out.push(Sending { work, number: self.next });
    }
}

fn port(spec: &Spec) -> u64 {
    spec.shared.engine().port.id()
}

fn has_released(grant: &Grant) -> bool {
    match grant.outcome {
        Outcome::Granted { released, .. } | Outcome::Refused { released, .. } => released,
        Outcome::Cancelled { .. } => false,
    }
}
