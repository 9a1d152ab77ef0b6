//! What the process' thread does for locks: renews those that are held, tells their loss, and runs the lines of those who
//! wait. It hands operations to the hub's links and takes their answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::attempt::Attempt;
use super::held::Held;
use super::options::Spec;
use super::quorum;
use super::room::{Passing, Place, Room, Wish};
use crate::cache::{self, Reader, Readers};
use crate::client::Shared;
use crate::error::Result;
use crate::exchange::Exchange;
use crate::lease::{Channel, Extend, Grant, Id, Outcome};
use crate::op::Task;
use crate::operation::{Answer, Operation, odd_reply};
use crate::store::redis::hub::{self, Sink, Tag};
use crate::store::redis::pool;

/// The longest that a deadline is not looked at: the clock of deadlines also runs while the machine sleeps, timers don't.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

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
            Request::Acquire(attempt) => quorum::acquire(attempt, &mut || false).map(Answer::Flag),
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
    Renew {
        held: Weak<Held>,
        sent: u64,
        ttl: u64,
    },
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

/// Takes answers that are of no interest.
struct Nobody;

impl Sink for Nobody {
    fn complete(&self, _answers: Vec<(u64, Result<Answer>)>) {}
}

/// A lease that is watched.
struct Renewal {
    held: Weak<Held>,
    /// When to renew it, in the time of the handle; none while a renewal is under way, or if it is not to be renewed.
    renew_at: Option<u64>,
    /// When to look at it.
    due: Instant,
}

impl Renewal {
    fn new(held: &Arc<Held>) -> Renewal {
        // A third of the ttl, up to a tenth of that earlier, so that leases granted together are not all renewed together.
        let third = held.ttl() / 3;
        let renew_at = held.spec.now() + third - third / 10 * u64::from(held.id[1]) / 255;
        let renews = held.spec.options.renew && renew_at < held.renew_until;
        let mut renewal =
            Renewal { held: Arc::downgrade(held), renew_at: renews.then_some(renew_at), due: Instant::now() };
        renewal.rest(held);
        renewal
    }

    /// Looks again when it is to be renewed, or is over.
    fn rest(&mut self, held: &Held) {
        let next = self.renew_at.unwrap_or(u64::MAX).min(held.deadline());
        let left = Duration::from_micros(next.saturating_sub(held.spec.now()) + 1);
        self.due = Instant::now() + left.min(LONGEST_LOOK);
    }
}

/// All that the thread knows of locks.
#[derive(Default)]
pub(crate) struct Desk {
    rooms: HashMap<u64, Room>,
    readers: HashMap<u64, Readers>,
    renewals: Vec<Renewal>,
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
            Notice::Keep(held) => self.keep(&held),
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
        let renewals = self.renewals.iter().map(|renewal| renewal.due);
        let readers = self.readers.values().filter_map(Readers::next_turn);
        renewals.chain(self.rooms.values().filter_map(Room::next_turn)).chain(readers).min()
    }

    fn keep(&mut self, held: &Arc<Held>) {
        self.renewals.push(Renewal::new(held));
    }

    /// Renews what is due, tells what was lost, and forgets what has ended.
    fn renew(&mut self, now: Instant) {
        // The thread turns for every call of the process; most turns have nothing to renew.
        if self.renewals.iter().all(|renewal| renewal.due > now) {
            return;
        }
        for mut renewal in std::mem::take(&mut self.renewals) {
            let Some(held) = renewal.held.upgrade() else { continue };
            if renewal.due <= now {
                // Looking is what notices a loss.
                if !held.is_held() {
                    continue;
                }
                let (ttl, spec) = (held.ttl(), &held.spec);
                if renewal.renew_at.is_some_and(|at| at <= spec.now()) {
                    let errand = Errand::Renew { held: renewal.held.clone(), sent: spec.now(), ttl };
                    let work = if spec.is_quorum() {
                        let held = held.clone();
                        Work::Task(Box::new(move || quorum::extend(&held, ttl).map(Answer::Flag)))
                    } else {
                        let extend = Extend { keys: spec.keys.clone(), id: held.id, ttl, shown: spec.shown.clone() };
                        let exchange = Exchange::new(spec.shared.clone(), Box::new(extend), None);
                        Work::Call(exchange.within(Duration::from_micros(ttl / 6)))
                    };
                    self.dispatch(work, errand);
                    renewal.renew_at = None;
                }
                renewal.rest(&held);
            }
            self.renewals.push(renewal);
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
            Errand::Renew { held, sent, ttl } => {
                let Some(held) = held.upgrade() else { return };
                let is_it = |renewal: &&mut Renewal| renewal.held.ptr_eq(&Arc::downgrade(&held));
                let next = match answer {
                    Ok(Answer::Flag(done)) => {
                        held.extended(sent, ttl, done);
                        Renewal::new(&held)
                    }
                    _ => {
                        held.doubt();
                        // There is nothing to wait for but a moment.
                        let (again, fresh) = (held.spec.now() + ttl / 20, Renewal::new(&held));
                        Renewal { renew_at: fresh.renew_at.map(|_| again), ..fresh }
                    }
                };
                if let Some(renewal) = self.renewals.iter_mut().find(is_it) {
                    *renewal = next;
                    renewal.rest(&held);
                }
            }
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
                Wish::Keep(held) => self.keep(&held),
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

/// Has the process' thread renew a grant and tell its loss.
pub(super) fn keep(held: &Arc<Held>) {
    hub::notify(Notice::Keep(held.clone()));
}

/// As [`keep`], if the handle is to be renewed: a process that wants no thread of ours renews nothing.
pub(super) fn keep_if_renewed(held: &Arc<Held>) {
    if held.spec.options.renew {
        keep(held);
    }
}

/// Tells those who wait in this process that something was freed.
pub(super) fn freed(held: &Arc<Held>) {
    hub::notify_if_awake(Notice::Freed(held.clone()));
}

/// Releases in the background what nobody holds any more.
pub(super) fn give_back(held: Arc<Held>) {
    if held.is_foreign() {
        return;
    }
    held.give_up();
    // As any release: whoever waits for it here must not rest on.
    let nobody: Arc<dyn Sink> = Arc::new(Nobody);
    hub::request(Request::Release { held, was_held: false }, 0, &nobody);
}

/// Takes back in the background what an attempt may have left.
pub(super) fn forget(attempt: &Attempt) {
    if let Some(leave) = attempt.leave() {
        hub::notify(Notice::Leave(attempt.lock.spec.shared.clone(), Box::new(leave)));
    }
}

/// Has those leave the lines whose callers are gone.
pub(super) fn look_for_abandoned() {
    hub::notify_if_awake(Notice::Abandoned);
}
