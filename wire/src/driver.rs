//! Drivers for bindings: the same calls on a loop that the binding's language owns.
//!
//! * [`LoopLink`] for asyncio and Node: non-blocking sockets that the running loop watches; no thread at work. What only the
//!   process' thread can do (waiting for a lock, telling its loss) comes back to it by a bell that the loop watches too.
//! * [`submit`]: many calls go out in one batch to the process' thread, and come back to a [`Sink`] in one.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::error::{Code, Error, Result};
use crate::call::answer::Answer;
use crate::machine::{Call, Driver, GiveUp, Machine, Settled, SharedCall, Start};
use crate::op::Op;
use crate::reactor::{partings, thread};
use crate::redis::link::closed;
use crate::redis::links::{Links, Socket};
use crate::session::exchange::{Exchange, Step};

pub use crate::base::credentials::{PasswordQuestion, PasswordQuestions};
pub use crate::call::answer::Sink;

/// Submits calls under numbers of the caller's to the process' thread. Returns those that were answered at once (from
/// memory, or by the failure policy); the others come to `sink`, on another thread.
pub fn submit(calls: Vec<(u64, Op<Answer>)>, sink: &Arc<dyn Sink>) -> Vec<(u64, Result<Answer>)> {
    thread::submit(calls.into_iter().map(|(id, op)| (id, op.into_call())).collect(), sink)
}

/// Takes back a call that was [`submit`]ted to this sink and is not answered yet: its answer, an error, comes to the sink
/// without delay. What was sent to Redis may still be done, but a `wait` goes on no further.
pub fn cancel(id: u64, sink: &Arc<dyn Sink>) {
    thread::cancel(id, sink);
}

/// As [`cancel`], of every call that was [`submit`]ted to this sink: nobody takes its answers any more.
pub fn cancel_all(sink: &Arc<dyn Sink>) {
    thread::cancel_all(sink);
}

/// What a loop has to do for a [`LoopLink`] after each of its turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interest {
    /// What to watch from now on, and what no more, in this order.
    pub changes: Vec<Change>,
    /// Turn after this time at the latest; none if nothing is under way.
    pub next_turn: Option<Duration>,
}

/// What a loop is to be told about a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// To watch it for writing, or else for reading, and to call [`turn`](LoopLink::turn) when it is ready.
    Watch {
        /// The descriptor.
        descriptor: RawFd,
        /// Whether for writing.
        writing: bool,
    },
    /// To watch it so no more. The descriptor may be closed already.
    Leave {
        /// The descriptor.
        descriptor: RawFd,
        /// Whether for writing.
        writing: bool,
    },
}

/// What the loop watches now.
#[derive(Default)]
struct WatchedSockets(Vec<Socket>);

impl WatchedSockets {
    /// Takes what shall be watched, and returns what the loop must be told, in this order: a new socket may have the
    /// descriptor of one that has gone.
    fn update(&mut self, sockets: impl Iterator<Item = Socket> + Clone) -> Vec<Change> {
        if sockets.clone().eq(self.0.iter().copied()) {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.0, sockets.collect());
        let find = |all: &[Socket], id| all.iter().find(|socket| socket.id == id).copied();
        let mut changes = Vec::new();
        for Socket { descriptor, id, writable } in &before {
            let now = find(&self.0, *id);
            if now.is_none() {
                changes.push(Change::Leave { descriptor: *descriptor, writing: false });
            }
            if *writable && !now.is_some_and(|now| now.writable) {
                changes.push(Change::Leave { descriptor: *descriptor, writing: true });
            }
        }
        for Socket { descriptor, id, writable } in &self.0 {
            let before = find(&before, *id);
            if before.is_none() {
                changes.push(Change::Watch { descriptor: *descriptor, writing: false });
            }
            if *writable && !before.is_some_and(|before| before.writable) {
                changes.push(Change::Watch { descriptor: *descriptor, writing: true });
            }
        }
        changes
    }
}

/// Where other threads leave what a loop shall take.
struct LoopInbox {
    answers: Mutex<Vec<(u64, Result<Answer>)>>,
    /// The clients that have ended.
    ended: Mutex<Vec<u64>>,
    bell: UnixStream,
}

impl LoopInbox {
    fn ring(&self) {
        // A full pipe means that the loop has been rung for already.
        let _ = (&self.bell).write(&[1]);
    }
}

impl Sink for LoopInbox {
    fn complete(&self, answers: Vec<(u64, Result<Answer>)>) {
        let mut inbox = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = inbox.is_empty();
        inbox.extend(answers);
        drop(inbox);
        if was_empty {
            self.ring();
        }
    }
}

impl partings::Carrier for LoopInbox {
    fn hang_up(&self, client: u64) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(client);
        self.ring();
    }
}

/// Pipelined connections, one to each server of each client whose calls it is given, driven by whoever owns the loop. Never
/// blocks: connections are dialed on a thread that lives as long as the attempt.
pub struct LoopLink<T> {
    /// By the number of the client's engine.
    clients: Vec<(u64, Links<SharedCall<T>>)>,
    wanted: fn(&T) -> bool,
    /// What the loop watches.
    watched: WatchedSockets,
    wakes: UnixStream,
    inbox: Arc<LoopInbox>,
    /// Those whose answers come to the inbox, with what takes them back.
    expected: HashMap<u64, (T, Option<GiveUp>)>,
    numbers: u64,
    /// Those of them that wait for others since the last time.
    waiting: Vec<u64>,
    /// Those that were answered at once, or ended by closing.
    ended: Vec<(T, Result<Answer>)>,
}

impl<T: 'static> LoopLink<T> {
    /// Makes a link; it connects at the first call. `wanted` is asked about a call's tag each time before it is sent: one
    /// that nobody waits for any more is dropped instead, with its tag.
    ///
    /// # Errors
    /// `unavailable` if the process has no descriptors left.
    pub fn new(wanted: fn(&T) -> bool) -> Result<LoopLink<T>> {
        let failed =
            |e| Error::new(Code::Unavailable, format!("no socket pair could be made ({e}): raise the process' limits"));
        let (bell, wakes) = UnixStream::pair().map_err(failed)?;
        bell.set_nonblocking(true).map_err(failed)?;
        wakes.set_nonblocking(true).map_err(failed)?;
        let inbox = Arc::new(LoopInbox { answers: Mutex::default(), ended: Mutex::default(), bell });
        Ok(LoopLink {
            clients: Vec::new(),
            wanted,
            watched: WatchedSockets::default(),
            wakes,
            inbox,
            expected: HashMap::new(),
            numbers: 0,
            waiting: Vec::new(),
            ended: Vec::new(),
        })
    }

    /// Returns `tag` later with an answer that another thread gives to [`sink`](LoopLink::sink) under the number returned,
    /// which was not used before.
    pub fn expect(&mut self, tag: T) -> u64 {
        self.expect_or(tag, None)
    }

    fn expect_or(&mut self, tag: T, give_up: Option<GiveUp>) -> u64 {
        self.numbers += 1;
        self.expected.insert(self.numbers, (tag, give_up));
        self.numbers
    }

    /// Where any thread may leave answers: it rings for the loop, and never blocks. An answer under a number that nobody
    /// expects, or expects no more, is dropped.
    pub fn sink(&self) -> Arc<dyn Sink> {
        self.inbox.clone()
    }

    /// Takes a call; `tag` comes back with its answer. Calls of one turn travel as one write.
    pub fn submit(&mut self, op: Op<Answer>, tag: T) {
        match op.into_call() {
            Call::One(exchange) => self.send(exchange, SharedCall::plain(tag)),
            Call::Several(task) => {
                let number = self.expect(tag);
                // What blocks has a thread of its own, and answers like the process' thread.
                thread::do_alone(number, &self.sink(), task);
            }
            Call::Machine(mut machine) => match machine.start(Driver::Loop) {
                Start::Ask(exchange) => self.send(exchange, SharedCall { tag, machine: Some(machine) }),
                Start::Enter => self.enter(tag, machine),
                Start::Block => {
                    let number = self.expect_or(tag, machine.give_up());
                    thread::do_alone(number, &self.sink(), move || machine.block(&mut || false));
                }
                Start::Done(answer) => self.ended.push((tag, answer)),
            },
        }
    }

    fn send(&mut self, mut exchange: Exchange, call: SharedCall<T>) {
        match exchange.start() {
            Step::Done(answer) => self.settle(call, answer),
            step => self.links_of(exchange.session().engine().number).submit(step, exchange, call),
        }
    }

    fn settle(&mut self, call: SharedCall<T>, answer: Result<Answer>) {
        match call.settle(answer) {
            Settled::Done(tag, answer) => self.ended.push((tag, answer)),
            Settled::Waits(tag, machine) if (self.wanted)(&tag) => self.enter(tag, machine),
            // Its caller has gone.
            Settled::Waits(..) => {}
        }
    }

    /// Has the process' thread go on with it.
    fn enter(&mut self, tag: T, machine: Box<dyn Machine>) {
        let number = self.expect_or(tag, machine.give_up());
        // A binding need not ask for them.
        if self.waiting.len() >= 2 * self.expected.len() {
            self.waiting.retain(|waiting| self.expected.contains_key(waiting));
        }
        self.waiting.push(number);
        machine.enter(number, &self.sink());
    }

    fn links_of(&mut self, client: u64) -> &mut Links<SharedCall<T>> {
        let at = self.clients.iter().position(|(number, _)| *number == client).unwrap_or_else(|| {
            let wanted = self.wanted;
            let wanted = Arc::new(move |call: &SharedCall<T>| wanted(&call.tag));
            let inbox = self.inbox.clone();
            self.clients.push((client, Links::new(Arc::new(move || inbox.ring()), wanted)));
            self.clients.len() - 1
        });
        &mut self.clients[at].1
    }

    fn links(&self) -> impl Iterator<Item = &Links<SharedCall<T>>> + Clone {
        self.clients.iter().map(|(_, links)| links)
    }

    fn links_mut(&mut self) -> impl Iterator<Item = &mut Links<SharedCall<T>>> {
        self.clients.iter_mut().map(|(_, links)| links)
    }

    /// Has the link hang up, when it is woken next, for each client that was closed or is gone: for a loop with many.
    pub fn follow_clients(&self) {
        partings::tell(self.inbox.clone());
    }

    /// Reads, writes and expires whatever is due. To be called when a socket is ready, and when the time for it has
    /// come.
    pub fn turn(&mut self) -> Interest {
        self.links_mut().for_each(Links::turn);
        self.interest()
    }

    /// A turn that reads no other socket than this one, which is ready.
    pub fn turn_ready(&mut self, descriptor: RawFd) -> Interest {
        let now = Instant::now();
        self.links_mut().for_each(|links| links.turn_ready(&[descriptor], now));
        self.interest()
    }

    /// Writes what was submitted, or dials for it. To be called after calls were submitted: a turn without the attempt
    /// to read what cannot have come yet.
    pub fn flush(&mut self) -> Interest {
        self.links_mut().for_each(Links::flush);
        self.interest()
    }

    /// A turn that is to be called when [`wake_fd`](LoopLink::wake_fd) is ready.
    pub fn wake(&mut self) -> Interest {
        let mut rings = [0; 64];
        // Rings are only a hint that a dial has ended, or an answer was left.
        let _ = self.wakes.read(&mut rings);
        let ended = std::mem::take(&mut *self.inbox.ended.lock().unwrap_or_else(PoisonError::into_inner));
        for client in ended {
            self.part(client);
        }
        self.turn()
    }

    /// Has the loop watch nothing any more: it is about to let go of the link.
    pub fn leave(&mut self) -> Interest {
        Interest { changes: self.watched.update(std::iter::empty()), next_turn: None }
    }

    fn interest(&mut self) -> Interest {
        let until = |then: Instant| then.saturating_duration_since(Instant::now());
        let changes = self.watched.update(self.clients.iter().flat_map(|(_, links)| links.sockets()));
        let next_turn = self.links().filter_map(Links::next_turn).min().map(until);
        Interest { changes, next_turn }
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.links().any(|links| links.sockets().next().is_some())
    }

    /// Takes back a call that is not answered yet, and returns its tag. What was sent to Redis may still be done, but a
    /// `wait` goes on no further.
    pub fn cancel(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(tag) = self.cancel_waiting(&is_it) {
            return Some(tag);
        }
        let is_its = |call: &SharedCall<T>| is_it(&call.tag);
        self.links_mut().find_map(|links| links.cancel(is_its)).map(|call| call.tag)
    }

    /// As [`cancel`](LoopLink::cancel), but only of a call that waits for others: the answer to a question that was sent comes.
    pub fn cancel_waiting(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let number = self.expected.iter().find(|(_, (tag, _))| is_it(tag)).map(|(number, _)| *number)?;
        self.take_back(number)
    }

    fn take_back(&mut self, number: u64) -> Option<T> {
        let (tag, give_up) = self.expected.remove(&number)?;
        give_up.map_or_else(|| thread::cancel(number, &self.sink()), |give_up| give_up());
        Some(tag)
    }

    /// What was answered since the last time.
    pub fn take_done(&mut self) -> Vec<(T, Result<Answer>)> {
        let came: Vec<_> = self.links_mut().flat_map(Links::take_done).collect();
        came.into_iter().for_each(|(call, answer)| self.settle(call, answer));
        let mut done = std::mem::take(&mut self.ended);
        let answers = std::mem::take(&mut *self.inbox.answers.lock().unwrap_or_else(PoisonError::into_inner));
        done.extend(
            answers.into_iter().filter_map(|(number, answer)| Some((self.expected.remove(&number)?.0, answer))),
        );
        done
    }

    /// Whose calls wait for others since the last time: it may take long until these are answered.
    pub fn take_waiting(&mut self) -> impl Iterator<Item = &T> {
        let expected = &self.expected;
        std::mem::take(&mut self.waiting).into_iter().filter_map(|number| Some(&expected.get(&number)?.0))
    }

    /// A descriptor that becomes readable when a dial has ended, or an answer was left at the [`sink`](LoopLink::sink):
    /// watch it for as long as the link lives, and call [`wake`](LoopLink::wake).
    pub fn wake_fd(&self) -> RawFd {
        self.wakes.as_raw_fd()
    }

    /// Whether any call is under way.
    pub fn is_busy(&self) -> bool {
        self.links().any(Links::is_busy)
    }

    /// Hangs up for a client; its calls under way end with `closed`.
    fn part(&mut self, client: u64) {
        if let Some(at) = self.clients.iter().position(|(number, _)| *number == client) {
            let mut links = self.clients.swap_remove(at).1;
            links.close();
            links.take_done().into_iter().for_each(|(call, answer)| self.settle(call, answer));
        }
    }

    /// Ends every call under way with `closed` and hangs up.
    pub fn close(&mut self) {
        while let Some((client, _)) = self.clients.first() {
            self.part(*client);
        }
        let numbers: Vec<u64> = self.expected.keys().copied().collect();
        for number in numbers {
            let taken = self.take_back(number);
            self.ended.extend(taken.map(|tag| (tag, Err(closed()))));
        }
    }
}

#[cfg(test)]
mod tests;
