//! One non-blocking connection to one server on which many calls travel at once. It has no thread and no loop: its owner
//! submits calls, lets it `turn` when its descriptor is ready or its time has come, and takes what is done.

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::Instant;

use super::pipelined::{Bundles, Ends, Pipelined, PipelinedCall};
use crate::base::error::{Code, Error, Result};
use crate::base::thread::on_thread;
use crate::call::answer::Answer;
use crate::connection::deadline::CallDeadline;
use crate::connection::dial::{dial, overdue};
use crate::connection::open::Connection;
use crate::connection::wire::Failure;
use crate::session::exchange::{Exchange, Step};
use crate::session::node::Node;

/// Whether somebody still waits for a call.
pub(crate) type IsWanted<T> = Arc<dyn Fn(&T) -> bool + Send + Sync>;

/// A pipelined connection, made when needed and again when lost.
pub(crate) struct Link<T> {
    node: Arc<Node>,
    state: LinkState<T>,
    /// Calls to be put on the wire.
    waiting: SendQueue<T>,
    /// Calls that sleep before they start again.
    napping: Vec<(Instant, PipelinedCall<T>)>,
    /// Calls that go elsewhere now.
    elsewhere: Vec<(Step, PipelinedCall<T>)>,
    done: Vec<(T, Result<Answer>)>,
    /// Called from another thread when a dial has ended.
    wake: Arc<dyn Fn() + Send + Sync>,
    /// Whether somebody still waits for the call: asked before it is sent, each time.
    wanted: IsWanted<T>,
    /// Counts connections: descriptors are reused by the system, these numbers are not.
    epoch: u64,
}

enum LinkState<T> {
    Idle,
    Dialing(Dialing),
    Up(Box<Pipelined<T>>),
}

struct Dialing {
    result: Receiver<Result<Connection>>,
    began: Instant,
    deadline: Instant,
    /// Tells the thread that nobody waits for it any more.
    over: Arc<AtomicBool>,
}

impl Drop for Dialing {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl<T> Link<T> {
    pub(crate) fn new(node: Arc<Node>, wake: Arc<dyn Fn() + Send + Sync>, wanted: IsWanted<T>) -> Link<T> {
        Link {
            node,
            state: LinkState::Idle,
            waiting: SendQueue::default(),
            napping: Vec::new(),
            elsewhere: Vec::new(),
            done: Vec::new(),
            wake,
            wanted,
            epoch: 0,
        }
    }

    /// Takes a call that was started and what its start said.
    pub(crate) fn submit(&mut self, step: Step, exchange: Exchange, tag: T) {
        match step {
            Step::Done(answer) => self.done.push((tag, answer)),
            Step::Send if exchange.is_for(&self.node) => self.waiting.push((exchange, tag)),
            Step::Send | Step::Discover => self.elsewhere.push((step, (exchange, tag))),
            Step::Sleep(pause) => self.napping.push((Instant::now() + pause, (exchange, tag))),
        }
    }

    /// The server at the other end.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Whether there are calls that go elsewhere.
    pub(crate) fn has_elsewhere(&self) -> bool {
        !self.elsewhere.is_empty()
    }

    /// Takes the calls that go elsewhere, with what is to be done with each.
    pub(crate) fn take_elsewhere(&mut self) -> Vec<(Step, PipelinedCall<T>)> {
        std::mem::take(&mut self.elsewhere)
    }

    /// Reads, writes, dials and expires whatever is due, without blocking.
    pub(crate) fn turn(&mut self) {
        let now = Instant::now();
        self.finish_dial();
        self.read(now);
        self.expire(now);
        self.send();
    }

    /// Writes what waits, or dials for it, without blocking.
    pub(crate) fn flush(&mut self) {
        let now = Instant::now();
        if self.waiting.next_deadline().is_some_and(|first| first <= now) {
            self.expire(now);
        }
        self.send();
    }

    /// What was answered since the last time.
    pub(crate) fn take_done(&mut self) -> Vec<(T, Result<Answer>)> {
        std::mem::take(&mut self.done)
    }

    /// The socket, with the number of the connection it belongs to.
    pub(crate) fn socket(&self) -> Option<(RawFd, u64)> {
        match &self.state {
            LinkState::Up(up) => Some((up.descriptor(), self.epoch)),
            _ => None,
        }
    }

    /// Whether there are bytes that the socket did not take yet.
    pub(crate) fn wants_write(&self) -> bool {
        matches!(&self.state, LinkState::Up(up) if up.wants_write())
    }

    /// When to turn again if nothing else happens.
    pub(crate) fn next_turn(&self) -> Option<Instant> {
        let pending = match &self.state {
            LinkState::Up(up) if up.has_more() => return Some(Instant::now()),
            LinkState::Up(up) => up.next_deadline(),
            _ => None,
        };
        let waiting = self.waiting.next_deadline();
        let napping = self.napping.iter().map(|(then, _)| *then).min();
        [pending, waiting, napping].into_iter().flatten().min()
    }

    /// Whether any call is under way.
    pub(crate) fn is_busy(&self) -> bool {
        let pending = matches!(&self.state, LinkState::Up(up) if !up.is_free());
        pending || !self.waiting.is_empty() || !self.napping.is_empty()
    }

    /// Whether no call is under way, and no answer left here.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_busy() && self.done.is_empty() && self.elsewhere.is_empty()
    }

    /// Takes back a call that its owner no longer waits for, and returns its tag. What is on the wire may still be done,
    /// but whatever would come after it will not.
    pub(crate) fn cancel(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(at) = self.napping.iter().position(|(_, (_, tag))| is_it(tag)) {
            return Some(self.napping.swap_remove(at).1.1);
        }
        if let Some((_, tag)) = self.waiting.take_first(|(_, tag)| is_it(tag)) {
            return Some(tag);
        }
        let LinkState::Up(up) = &mut self.state else { return None };
        up.take_first(|(_, tag)| is_it(tag)).map(|(_, tag)| tag)
    }

    /// Ends every call under way with `closed` and hangs up.
    pub(crate) fn close(&mut self) {
        let up = match std::mem::replace(&mut self.state, LinkState::Idle) {
            LinkState::Up(up) => up.into_jobs(),
            _ => Vec::new(),
        };
        let napping = std::mem::take(&mut self.napping).into_iter().map(|(_, job)| job);
        let waiting = self.waiting.take_all();
        for (_, tag) in up.into_iter().chain(napping).chain(waiting) {
            self.done.push((tag, Err(closed())));
        }
    }

    fn finish_dial(&mut self) {
        let LinkState::Dialing(dialing) = &self.state else { return };
        let result = match dialing.result.try_recv() {
            Err(TryRecvError::Empty) if Instant::now() < dialing.deadline => return,
            // The thread will notice a little later; until then the next calls would wait for it in vain.
            Err(TryRecvError::Empty) => Err(overdue(&self.node.server)),
            Ok(result) => result,
            Err(TryRecvError::Disconnected) => Err(Error::new(Code::Internal, "the dialing thread died")),
        };
        let nonblocking = |connection: Connection| {
            let failed = |e: std::io::Error| Error::new(Code::Unavailable, format!("the new connection failed: {e}"));
            connection.stream.set_nonblocking(true).map(|()| connection).map_err(failed)
        };
        let began = dialing.began;
        match result.and_then(nonblocking) {
            Ok(connection) => {
                self.node.reached(connection.epoch);
                self.epoch += 1;
                self.state = LinkState::Up(Box::new(Pipelined::new(connection, self.node.clone())));
            }
            Err(error) => {
                self.node.not_reached(began.elapsed(), &error);
                self.state = LinkState::Idle;
                for (mut exchange, tag) in self.waiting.take_all() {
                    let step = exchange.on_failure(Failure::NotSent(error.clone()));
                    // Not to be dialed again in the same turn: a repeat waits for the next start.
                    self.submit(step, exchange, tag);
                }
            }
        }
    }

    fn read(&mut self, now: Instant) {
        let LinkState::Up(up) = &mut self.state else { return };
        let mut again = Vec::new();
        let mut ends = Ends { again: &mut again, done: &mut self.done, napping: &mut self.napping };
        let broken = up.read(now, &mut ends);
        again.into_iter().for_each(|(step, (exchange, tag))| self.submit(step, exchange, tag));
        if let Some(error) = broken {
            self.hang_up(error);
        }
    }

    /// Gives up the connection: what was sent on it may or may not have been done.
    fn hang_up(&mut self, error: Error) {
        let LinkState::Up(up) = std::mem::replace(&mut self.state, LinkState::Idle) else { return };
        for (mut exchange, tag) in up.into_jobs() {
            let step = exchange.on_failure(Failure::Unknown(error.clone()));
            self.submit(step, exchange, tag);
        }
    }

    fn expire(&mut self, now: Instant) {
        for (then, (mut exchange, tag)) in std::mem::take(&mut self.napping) {
            if then <= now {
                let step = exchange.start();
                self.submit(step, exchange, tag);
            } else {
                self.napping.push((then, (exchange, tag)));
            }
        }
        for (mut exchange, tag) in self.waiting.take_late(now) {
            let step = exchange.on_timeout_unsent();
            self.submit(step, exchange, tag);
        }
        let LinkState::Up(up) = &mut self.state else { return };
        let mut silent = None;
        let mut late = Vec::new();
        while let Some((mut exchange, tag)) = up.take_late(now) {
            // Nearly all of it: the call began a little before it was put on the wire, and an answer to an earlier one
            // may have come just after.
            let timeout = exchange.session().timeout;
            if now.duration_since(up.heard()) >= timeout - timeout / 8 {
                silent = Some(timeout);
            }
            late.push((exchange.on_timeout(), exchange, tag));
        }
        late.into_iter().for_each(|(step, exchange, tag)| self.submit(step, exchange, tag));
        if let Some(timeout) = silent {
            let (server, ms) = (&self.node.server, timeout.as_millis());
            let message = format!("{server} gave no answer for {ms} ms: the call may or may not have been counted");
            self.hang_up(Error::new(Code::Timeout, message));
        }
    }

    /// Writes what waits as far as there is room, or dials for it.
    fn send(&mut self) {
        loop {
            self.put_on_wire();
            self.write();
            // The socket may have taken all that there was room for, or have broken under it.
            let at_once = match &self.state {
                LinkState::Up(up) => !up.is_full() && !up.is_leaving(),
                LinkState::Dialing(_) => false,
                LinkState::Idle => true,
            };
            if self.waiting.is_empty() || !at_once {
                return;
            }
        }
    }

    fn put_on_wire(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let wanted = self.wanted.clone();
        if let LinkState::Up(up) = &mut self.state
            && up.is_of_no_use()
        {
            self.state = LinkState::Idle;
        }
        match &mut self.state {
            // What waits for a server that was demoted goes to the next one, when this has answered what it was asked.
            LinkState::Up(up) if up.is_leaving() => {}
            // What waits for a server that is slower than its callers is unsent for certain when its time is over.
            LinkState::Up(up) => {
                let mut bundles = Bundles::default();
                while !up.is_full()
                    && let Some(job) = self.waiting.pop()
                {
                    if wanted(&job.1) {
                        bundles.put(job, self.waiting.len(), up);
                    }
                }
                bundles.flush(up);
            }
            LinkState::Dialing(_) => {}
            LinkState::Idle => {
                self.waiting.retain(|(_, tag)| wanted(tag));
                self.dial();
            }
        }
    }

    fn dial(&mut self) {
        // The latest: each call ends at its own, and one with little time left must not end the dial of the others.
        let Some((last, _)) = self.waiting.latest() else { return };
        let deadline = last.deadline();
        let (tell, result) = sync_channel(1);
        let (wake, node, over) = (self.wake.clone(), self.node.clone(), Arc::new(AtomicBool::new(false)));
        let is_over = over.clone();
        let spawned = on_thread("quotalock-dial", move || {
            let mut is_over = || is_over.load(Ordering::Relaxed);
            let dialed = dial(&node.server, &mut CallDeadline::new(deadline, &mut is_over));
            // Nobody listens any more if the link was closed meanwhile.
            let _ = tell.send(dialed);
            wake();
        });
        match spawned {
            Ok(()) => self.state = LinkState::Dialing(Dialing { result, began: Instant::now(), deadline, over }),
            Err(error) => {
                for (mut exchange, tag) in self.waiting.take_all() {
                    let step = exchange.on_failure(Failure::NotSent(error.clone()));
                    self.submit(step, exchange, tag);
                }
            }
        }
    }

    fn write(&mut self) {
        let LinkState::Up(up) = &mut self.state else { return };
        if let Err(error) = up.write() {
            self.hang_up(error);
        }
    }
}

/// Calls not yet put on the wire. Of ten thousand that wait for a slow server, those whose time is over are found
/// without looking at the others.
struct SendQueue<T> {
    jobs: VecDeque<PipelinedCall<T>>,
    /// Whether calls were sent again: then they are not in the order of their deadlines.
    unordered: bool,
}

impl<T> Default for SendQueue<T> {
    fn default() -> Self {
        SendQueue { jobs: VecDeque::new(), unordered: false }
    }
}

impl<T> SendQueue<T> {
    fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    fn len(&self) -> usize {
        self.jobs.len()
    }

    fn push(&mut self, job: PipelinedCall<T>) {
        let last = self.jobs.back().map(|(exchange, _)| exchange.deadline());
        self.unordered = last.is_some_and(|last| self.unordered || last > job.0.deadline());
        self.jobs.push_back(job);
    }

    fn pop(&mut self) -> Option<PipelinedCall<T>> {
        self.jobs.pop_front()
    }

    /// The call with the most time left.
    fn latest(&self) -> Option<&PipelinedCall<T>> {
        self.jobs.iter().max_by_key(|(exchange, _)| exchange.deadline())
    }

    /// When the first caller's time is over.
    fn next_deadline(&self) -> Option<Instant> {
        let mut deadlines = self.jobs.iter().map(|(exchange, _)| exchange.deadline());
        if self.unordered { deadlines.min() } else { deadlines.next() }
    }

    /// Takes the calls whose time is over.
    fn take_late(&mut self, now: Instant) -> VecDeque<PipelinedCall<T>> {
        let late = |(exchange, _): &PipelinedCall<T>| exchange.deadline() <= now;
        if !self.unordered {
            return self.jobs.drain(..self.jobs.partition_point(late)).collect();
        }
        let (taken, kept) = self.take_all().into_iter().partition(late);
        self.jobs = kept;
        taken
    }

    /// Takes the first call that fits.
    fn take_first(&mut self, fits: impl Fn(&PipelinedCall<T>) -> bool) -> Option<PipelinedCall<T>> {
        self.jobs.remove(self.jobs.iter().position(fits)?)
    }

    /// Keeps the calls that fit.
    fn retain(&mut self, fits: impl Fn(&PipelinedCall<T>) -> bool) {
        self.jobs.retain(fits);
    }

    /// Takes all calls.
    fn take_all(&mut self) -> VecDeque<PipelinedCall<T>> {
        std::mem::take(&mut self.jobs)
    }
}

/// The error of a call whose client was closed meanwhile.
pub(crate) fn closed() -> Error {
    Error::new(Code::Closed, "the client was closed during the call")
}
