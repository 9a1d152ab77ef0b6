//! The links of one client, one to each server that its calls go to.

use std::os::fd::RawFd;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::blocking::astray;
use super::link::{IsWanted, Link, closed};
use super::pipelined::PipelinedCall;
use crate::base::error::Result;
use crate::call::answer::Answer;
use crate::session::Session;
use crate::session::exchange::{Exchange, Step};

/// A socket to be watched for reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Socket {
    pub(crate) descriptor: RawFd,
    /// The numbers of its server and of the connection to it: descriptors are reused by the system, these are not.
    pub(crate) id: (u64, u64),
    /// Whether to watch it for writing too.
    pub(crate) writable: bool,
}

/// The links of one client.
pub(crate) struct Links<T> {
    all: Vec<Link<T>>,
    /// Calls that have no server yet, and sleep before they start again.
    napping: Vec<(Instant, PipelinedCall<T>)>,
    /// Calls that wait for the servers to be found, and how many searches had ended when they began to.
    lost: Vec<PipelinedCall<T>>,
    searches: u64,
    /// The client, if its servers may change.
    session: Weak<Session>,
    done: Vec<(T, Result<Answer>)>,
    wake: Arc<dyn Fn() + Send + Sync>,
    wanted: IsWanted<T>,
}

impl<T> Links<T> {
    /// `wake` is called from another thread when a dial has ended; `wanted` says whether somebody still waits for a call.
    pub(crate) fn new(wake: Arc<dyn Fn() + Send + Sync>, wanted: IsWanted<T>) -> Links<T> {
        Links {
            all: Vec::new(),
            napping: Vec::new(),
            lost: Vec::new(),
            searches: 0,
            session: Weak::new(),
            done: Vec::new(),
            wake,
            wanted,
        }
    }

    /// Takes a call that was started and what its start said.
    pub(crate) fn submit(&mut self, step: Step, exchange: Exchange, tag: T) {
        match step {
            Step::Done(answer) => self.done.push((tag, answer)),
            Step::Sleep(pause) => self.napping.push((Instant::now() + pause, (exchange, tag))),
            Step::Send => match self.link_of(&exchange) {
                Some(link) => link.submit(step, exchange, tag),
                None => self.done.push((tag, Err(astray()))),
            },
            Step::Discover => {
                if self.lost.is_empty() {
                    let session = exchange.session();
                    self.session = Arc::downgrade(session);
                    self.searches = session.engine().route.searches();
                    session.discover_elsewhere(Some(self.wake.clone()));
                }
                self.lost.push((exchange, tag));
            }
        }
    }

    fn link_of(&mut self, exchange: &Exchange) -> Option<&mut Link<T>> {
        let node = exchange.node()?;
        let at = self.all.iter().position(|link| link.node().number == node.number).unwrap_or_else(|| {
            if exchange.session().engine().route.cluster().is_some() {
                self.session = Arc::downgrade(exchange.session());
            }
            self.all.push(Link::new(node.clone(), self.wake.clone(), self.wanted.clone()));
            self.all.len() - 1
        });
        self.all.get_mut(at)
    }

    /// Reads, writes, dials and expires whatever is due, without blocking.
    pub(crate) fn turn(&mut self) {
        self.all.iter_mut().for_each(Link::turn);
        self.settle();
    }

    /// As [`turn`](Links::turn), but reads only on the sockets that are ready.
    pub(crate) fn turn_ready(&mut self, ready: &[RawFd], now: Instant) {
        for link in &mut self.all {
            let is_ready = |(descriptor, _)| ready.contains(&descriptor);
            // Only what was submitted has come? Then there is nothing to read.
            if link.socket().is_some_and(|socket| !is_ready(socket)) && link.next_turn().is_none_or(|due| due > now) {
                link.flush();
            } else {
                link.turn();
            }
        }
        self.settle();
    }

    /// Writes what waits, or dials for it, without blocking.
    pub(crate) fn flush(&mut self) {
        self.all.iter_mut().for_each(Link::flush);
        self.settle();
    }

    /// Starts again what slept for long enough, or has servers by now, and gives calls to the links that they go to.
    fn settle(&mut self) {
        if !self.napping.is_empty() || !self.lost.is_empty() {
            self.start_again(Instant::now());
        }
        while self.all.iter().any(Link::has_elsewhere) {
            let elsewhere: Vec<_> = self.all.iter_mut().flat_map(Link::take_elsewhere).collect();
            elsewhere.into_iter().for_each(|(step, (exchange, tag))| self.submit(step, exchange, tag));
            self.all.iter_mut().for_each(Link::flush);
        }
        if let Some(session) = self.session.upgrade() {
            // What is known of the servers is looked after while calls go on.
            if session.engine().route.is_search_due() {
                session.discover_elsewhere(None);
            }
            self.all.retain(|link| !link.node().is_retired() || !link.is_idle());
        }
    }

    fn start_again(&mut self, now: Instant) {
        let mut again: Vec<_> = self.napping.extract_if(.., |(then, _)| *then <= now).map(|(_, job)| job).collect();
        let ended = self.session.upgrade().map_or(0, |session| session.engine().route.searches());
        if ended != self.searches {
            again.append(&mut self.lost);
        }
        let late: Vec<_> = self.lost.extract_if(.., |(exchange, _)| exchange.deadline() <= now).collect();
        if again.is_empty() && late.is_empty() {
            return;
        }
        for (mut exchange, tag) in again {
            let step = exchange.start();
            self.submit(step, exchange, tag);
        }
        for (mut exchange, tag) in late {
            let step = exchange.on_timeout_unsent();
            self.submit(step, exchange, tag);
        }
        self.all.iter_mut().for_each(Link::flush);
    }

    /// What was answered since the last time.
    pub(crate) fn take_done(&mut self) -> Vec<(T, Result<Answer>)> {
        let mut done = std::mem::take(&mut self.done);
        for link in &mut self.all {
            if done.is_empty() {
                done = link.take_done();
            } else {
                done.append(&mut link.take_done());
            }
        }
        done
    }

    /// The sockets of the links that are connected.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = Socket> + Clone {
        self.all.iter().filter_map(|link| {
            let (descriptor, connection) = link.socket()?;
            Some(Socket { descriptor, id: (link.node().number, connection), writable: link.wants_write() })
        })
    }

    /// When to turn again if nothing else happens.
    pub(crate) fn next_turn(&self) -> Option<Instant> {
        let napping = self.napping.iter().map(|(then, _)| *then);
        let lost = self.lost.iter().map(|(exchange, _)| exchange.deadline());
        self.all.iter().filter_map(Link::next_turn).chain(napping).chain(lost).min()
    }

    /// Whether any call is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.napping.is_empty() || !self.lost.is_empty() || self.all.iter().any(Link::is_busy)
    }

    /// Takes back a call that its owner no longer waits for, and returns its tag. What is on the wire may still be done, but
    /// whatever would come after it will not.
    pub(crate) fn cancel(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(at) = self.napping.iter().position(|(_, (_, tag))| is_it(tag)) {
            return Some(self.napping.swap_remove(at).1.1);
        }
        if let Some(at) = self.lost.iter().position(|(_, tag)| is_it(tag)) {
            return Some(self.lost.swap_remove(at).1);
        }
        self.all.iter_mut().find_map(|link| link.cancel(&is_it))
    }

    /// Ends every call under way with `closed` and hangs up.
    pub(crate) fn close(&mut self) {
        let napping = std::mem::take(&mut self.napping).into_iter().map(|(_, job)| job);
        for (_, tag) in napping.chain(std::mem::take(&mut self.lost)) {
            self.done.push((tag, Err(closed())));
        }
        self.all.iter_mut().for_each(Link::close);
    }
}
