//! Several calls of one client on the caller's thread: those to one server travel together, so they take one round trip.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::blocking::{discover, encode, receive};
use crate::base::error::{Error, Result};
use crate::call::answer::Answer;
use crate::connection::deadline::{interruption, sleep_until};
use crate::connection::wire::{Broken, Failure, Wire};
use crate::session::exchange::{Exchange, Step};
use crate::session::node::Node;

/// As many bytes are sent before their answers are read: the server works on these while it could take no more.
const MOST: usize = 1 << 20;

/// A call with its place among the answers.
struct BatchedCall {
    at: usize,
    exchange: Exchange,
    /// Whether it is to be sent as it is.
    is_begun: bool,
}

/// Drives calls of one client to their ends, each within the client's timeout; their answers come in their order. Asks
/// `interrupted` about 20 times a second while nothing comes; true ends all that have no answer with an `internal` error.
pub fn run_all(exchanges: Vec<Exchange>, interrupted: &mut dyn FnMut() -> bool) -> Vec<Result<Answer>> {
    let count = exchanges.len();
    let mut batch = Batch::default();
    let jobs = exchanges.into_iter().enumerate();
    batch.queue.extend(jobs.map(|(at, exchange)| BatchedCall { at, exchange, is_begun: false }));
    while !batch.queue.is_empty() {
        if let Err(error) = batch.turn(interrupted) {
            batch.end(error);
        }
    }
    let mut answers: Vec<Result<Answer>> = (0..count).map(|_| Err(interruption())).collect();
    batch.done.into_iter().for_each(|(at, answer)| answers[at] = answer);
    answers
}

#[derive(Default)]
struct Batch {
    /// What is to be sent, in this order.
    queue: VecDeque<BatchedCall>,
    /// What goes to another server than the trip under way.
    apart: VecDeque<BatchedCall>,
    /// What is on its way, in the order of the wire.
    sent: VecDeque<BatchedCall>,
    done: Vec<(usize, Result<Answer>)>,
    /// What was refused, to be sent again after a pause.
    later: Vec<BatchedCall>,
    pause: Duration,
    /// What waits for the servers to be found.
    lost: Vec<BatchedCall>,
}

impl Batch {
    /// Sends as much as goes at once and reads the answers.
    ///
    /// # Errors
    /// `internal` if the caller was interrupted.
    fn turn(&mut self, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        if let Some(node) = self.begin_one(None) {
            let went = self.trip(&node, interrupted);
            // A trip of their own, with the time for one.
            self.apart.append(&mut self.queue);
            self.queue = std::mem::take(&mut self.apart);
            went?;
        }
        for mut job in std::mem::take(&mut self.lost) {
            let step = discover(&mut job.exchange, interrupted)?;
            self.follow(job, step);
        }
        let pause = std::mem::take(&mut self.pause);
        if !pause.is_zero() {
            sleep_until(Instant::now() + pause, interrupted)?;
        }
        self.queue.extend(self.later.drain(..));
        Ok(())
    }

    /// Begins the next call that is to be sent, and says where to; those before it were answered without, or go elsewhere than
    /// `to`.
    fn begin_one(&mut self, to: Option<&Node>) -> Option<Arc<Node>> {
        while let Some(mut job) = self.queue.pop_front() {
            if !job.is_begun {
                if to.is_some_and(|node| !job.exchange.may_go_to(node)) {
                    self.apart.push_back(job);
                    continue;
                }
                let step = job.exchange.start();
                if !matches!(step, Step::Send) {
                    self.follow(job, step);
                    continue;
                }
                job.is_begun = true;
            }
            // It may go elsewhere after all.
            if to.is_some_and(|node| !job.exchange.is_for(node)) {
                self.apart.push_back(job);
                continue;
            }
            let node = job.exchange.node().cloned();
            self.sent.push_back(job);
            return node;
        }
        None
    }

    fn trip(&mut self, node: &Node, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let timeout = self.sent.front().map(|job| job.exchange.session().timeout).unwrap_or_default();
        match self.exchange(node, timeout, interrupted) {
            Ok(()) => {}
            Err(Broken::Interrupted) => return Err(interruption()),
            Err(Broken::TimedOut) => {
                let asked = Instant::now().checked_sub(timeout);
                asked.into_iter().for_each(|then| node.pool.distrust(then));
                for mut job in std::mem::take(&mut self.sent) {
                    let step = job.exchange.on_timeout();
                    self.follow(job, step);
                }
            }
            Err(Broken::Failed(Failure::NotSent(error))) => {
                // The others would find no connection either, each after the time that takes.
                while self.begin_one(Some(node)).is_some() {}
                self.fail(&error, Failure::NotSent);
            }
            Err(Broken::Failed(Failure::Unknown(error))) => self.fail(&error, Failure::Unknown),
        }
        Ok(())
    }

    /// Writes the call that was begun and those that go with it, and reads as many answers.
    fn exchange(
        &mut self,
        node: &Node,
        timeout: Duration,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(), Broken> {
        let deadline = self.sent.front().map_or_else(Instant::now, |job| job.exchange.deadline());
        let mut wire = loop {
            let dialed = node.connect(timeout, deadline, interrupted);
            let mut wire = dialed.map_err(|error| Broken::Failed(Failure::NotSent(error)))?;
            self.encode(&mut wire, node);
            match wire.send(deadline, &node.server, interrupted) {
                Ok(()) => break wire,
                // The peer was gone before we wrote: another connection may do.
                Err(Broken::Failed(Failure::NotSent(_))) => {}
                Err(broken) => return Err(broken),
            }
        };
        let mut is_elsewhere = false;
        // Each within its own time; all began a moment ago.
        let mut session = None;
        while let Some(job) = self.sent.front() {
            let reply = receive(&mut wire, &job.exchange, &node.server, interrupted)?;
            if let Some(mut job) = self.sent.pop_front() {
                let step = job.exchange.on_reply(reply, &mut wire.clock);
                is_elsewhere |= job.exchange.wants_another_server();
                session.get_or_insert_with(|| job.exchange.session().clone());
                self.follow(job, step);
            }
        }
        if is_elsewhere {
            node.pool.distrust(Instant::now());
        } else if session.is_none_or(|session| session.engine().route.look(&mut wire, node, deadline)) {
            node.pool.give_back(wire);
        }
        Ok(())
    }

    /// Encodes what was begun, and begins more while there is room.
    fn encode(&mut self, wire: &mut Wire, node: &Node) {
        wire.clear();
        let mut size = self.sent.iter().fold(0, |_, job| encode(wire, &job.exchange));
        while size < MOST
            && self.begin_one(Some(node)).is_some()
            && let Some(job) = self.sent.back()
        {
            size = encode(wire, &job.exchange);
        }
    }

    /// The connection has failed all that has no answer.
    fn fail(&mut self, error: &Error, how: fn(Error) -> Failure) {
        for mut job in std::mem::take(&mut self.sent) {
            let step = job.exchange.on_failure(how(error.clone()));
            self.follow(job, step);
        }
    }

    fn follow(&mut self, job: BatchedCall, step: Step) {
        match step {
            Step::Done(answer) => self.done.push((job.at, answer)),
            Step::Send => self.queue.push_back(BatchedCall { is_begun: true, ..job }),
            Step::Sleep(pause) => {
                self.pause = self.pause.max(pause);
                self.later.push(BatchedCall { is_begun: false, ..job });
            }
            Step::Discover => self.lost.push(BatchedCall { is_begun: false, ..job }),
        }
    }

    /// Ends all that has no answer.
    fn end(&mut self, error: Error) {
        let left = self.sent.drain(..).chain(self.queue.drain(..)).chain(self.apart.drain(..));
        let left = left.chain(self.later.drain(..)).chain(self.lost.drain(..));
        self.done.extend(left.map(|job| (job.at, Err(error.clone()))));
    }
}
