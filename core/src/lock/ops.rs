//! Calls of a handle that were described but not yet made.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use super::held::HeldLock;
use super::messages;
use super::spec::LockSpec;
use super::{Attempt, Inner};
use super::{blocking, quorum};
use crate::lock::lease_table::{ExtendLease, ForceRelease};
use wire::call::prelude::*;
use wire::call::sink::Sink;
use wire::op::typed;
use wire::reactor::{completion, thread};
use wire::redis;
use wire::session::exchange::Exchange;

/// A described acquisition. Dropped, it asks nothing.
#[must_use = "nothing happens until it is run, awaited or submitted"]
pub struct Acquiring {
    pub(crate) attempt: Attempt,
}

impl Acquiring {
    /// Acquires on this thread alone and waits as long as was said: true if the lock is held now.
    ///
    /// # Errors
    /// As [`Lock::acquire`](crate::Lock::acquire) says.
    pub fn run(self) -> Result<bool> {
        self.run_interruptibly(&mut || false)
    }

    /// As [`run`](Acquiring::run), asking `interrupted` about 20 times a second; true ends it with an `internal` error, and
    /// leaves nothing behind.
    ///
    /// # Errors
    /// As [`run`](Acquiring::run).
    pub fn run_interruptibly(self, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
        if self.attempt.lock.spec.is_quorum() {
            return quorum::acquire(self.attempt, messages::keep_if_renewed, interrupted);
        }
        blocking::acquire(self.attempt, interrupted)
    }

    /// As [`run_interruptibly`](Acquiring::run_interruptibly), but if it has to wait, the process' thread waits for it: one
    /// subscription for all threads, which wait in order.
    ///
    /// # Errors
    /// As [`run`](Acquiring::run).
    pub fn run_among_threads(self, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
        if self.attempt.lock.spec.is_quorum() {
            return quorum::acquire(self.attempt, messages::watch, interrupted);
        }
        blocking::acquire_among_threads(self.attempt, interrupted)
    }

    /// Hands the acquisition to the process' thread; its answer, a flag, comes to `sink` under this number.
    pub fn submit(self, id: u64, sink: &Arc<dyn Sink>) {
        match self.attempt.lock.spec.is_quorum() {
            true => thread::do_alone(id, sink, move || self.run_among_threads(&mut || false).map(Answer::new)),
            false => messages::acquire(self.attempt, id, sink),
        }
    }
}

impl IntoFuture for Acquiring {
    type Output = Result<bool>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<bool>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let mut awaited = AwaitedAcquire { lock: self.attempt.lock.clone(), answered: false };
            let answer = completion::ask_for(|sink| self.submit(0, sink)).await;
            awaited.answered = true;
            typed(answer)
        })
    }
}

/// Ends an acquisition whose future is dropped before its answer came.
struct AwaitedAcquire {
    lock: Arc<Inner>,
    answered: bool,
}

impl Drop for AwaitedAcquire {
    fn drop(&mut self) {
        if !self.answered {
            self.lock.abandon();
        }
    }
}

/// A described release. Renewal has stopped already; dropped, the lock is left to its end.
#[must_use = "nothing happens until it is run, awaited or submitted"]
pub struct Releasing {
    pub(crate) held: Option<Arc<HeldLock>>,
    /// Whether it was held when this was described.
    pub(crate) was_held: bool,
}

impl Releasing {
    pub(super) fn new(held: Option<Arc<HeldLock>>) -> Releasing {
        Releasing::of(held, HeldLock::give_up)
    }

    pub(super) fn forfeiting(held: Option<Arc<HeldLock>>) -> Releasing {
        Releasing::of(held, HeldLock::lose)
    }

    fn of(held: Option<Arc<HeldLock>>, end: fn(&HeldLock)) -> Releasing {
        let was_held = held.as_ref().is_some_and(|held| held.is_held());
        held.iter().for_each(|held| end(held));
        // The close of its client has given it back.
        let held = held.filter(|held| !held.spec.clients().any(|client| client.is_closed()));
        Releasing { held, was_held }
    }

    /// Releases on this thread: true if the lock was held until now.
    ///
    /// # Errors
    /// `unavailable`, `timeout`, `not_permitted`, `wrong_type`, `closed`: the lock ends with its ttl at the latest.
    pub fn run(self) -> Result<bool> {
        self.run_interruptibly(&mut || false)
    }

    /// As [`run`](Releasing::run), asking `interrupted` about 20 times a second; true ends it with an `internal` error.
    ///
    /// # Errors
    /// As [`run`](Releasing::run).
    pub fn run_interruptibly(self, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
        let Some(held) = self.held else { return Ok(false) };
        if held.spec.is_quorum() {
            return Ok(quorum::release(&held, interrupted)? && self.was_held);
        }
        let release = held.spec.release(held.id, 0);
        let exchange = Exchange::new(held.spec.session.clone(), Box::new(release), None);
        let released: bool = typed(redis::blocking::run(exchange, interrupted))?;
        messages::freed(&held.spec);
        Ok(released && self.was_held)
    }

    /// As [`run_interruptibly`](Releasing::run_interruptibly), but what fails or is interrupted is sent again in the
    /// background, by the process' thread, until it is answered or the lease is over.
    ///
    /// # Errors
    /// As [`run`](Releasing::run).
    pub fn run_among_threads(self, interrupted: &mut dyn FnMut() -> bool) -> Result<bool> {
        let held = self.held.clone();
        // Only the process' thread knows of those who wait behind the first, and may have come before others elsewhere.
        let passes = held.as_ref().is_some_and(|held| held.spec.hands_on_in_order());
        let released = match passes {
            true => typed(completion::wait_for(|sink| self.submit(0, sink), |_| {}, interrupted)),
            false => self.run_interruptibly(interrupted),
        };
        if let (Err(_), Some(held)) = (&released, held) {
            messages::give_back(held);
        }
        released
    }

    /// Hands the release to the process' thread, which passes the lock on to the next waiter of this process in the same
    /// call. Its answer, a flag, comes to `sink` under this number.
    pub fn submit(self, id: u64, sink: &Arc<dyn Sink>) {
        match &self.held {
            Some(held) if held.spec.is_quorum() => thread::do_alone(id, sink, move || self.run().map(Answer::new)),
            Some(held) => messages::release(held.clone(), self.was_held, id, sink),
            None => sink.complete(vec![(id, Ok(Answer::new(false)))]),
        }
    }
}

impl IntoFuture for Releasing {
    type Output = Result<bool>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<bool>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { typed(completion::ask_for(|sink| self.submit(0, sink)).await) })
    }
}

/// An extension of a handle's lease, by its user.
pub(super) struct ExtendCall {
    /// None if there is nothing to extend.
    held: Option<Arc<HeldLock>>,
    sent: u64,
    extend: ExtendLease,
}

impl ExtendCall {
    pub fn new(held: Option<Arc<HeldLock>>, ttl: u64) -> ExtendCall {
        let held = held.filter(|held| held.is_held());
        let (keys, id, shown) = match &held {
            Some(held) => (held.spec.keys.clone(), held.id, held.spec.shown.clone()),
            None => (Arc::default(), [0; 16], Arc::default()),
        };
        // Described now, sent later: counted from now it is certain.
        let sent = held.as_ref().map_or(0, |held| held.spec.now());
        ExtendCall { held, sent, extend: ExtendLease { keys, id, ttl, shown } }
    }

    /// Extends on most of several servers.
    pub fn everywhere(&self) -> Result<bool> {
        let Some(held) = self.held.as_ref().filter(|held| held.is_held()) else { return Ok(false) };
        let done = quorum::extend(held, self.extend.ttl)?;
        held.extended(self.sent, self.extend.ttl, done);
        Ok(done && held.is_held())
    }
}

impl Operation for ExtendCall {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        self.extend.frame()
    }

    fn args(&self, args: &mut Args<'_>) {
        self.extend.args(args);
    }

    fn local_answer(&self) -> Option<Answer> {
        // What was lost meanwhile stays lost: its holder may have been told.
        let is_held = self.held.as_ref().is_some_and(|held| held.is_held());
        (!is_held).then_some(Answer::new(false))
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        self.extend.twin(space, now)
    }

    fn decode(&self, fields: &[Reply], source: Source) -> Result<Answer> {
        let answer = self.extend.decode(fields, source)?;
        let (Some(done), Some(held)) = (answer.get::<bool>(), &self.held) else { return Ok(answer) };
        held.extended(self.sent, self.extend.ttl, *done);
        // The answer may have come when the lease was over.
        Ok(Answer::new(*done && held.is_held()))
    }
}

/// A forced release, of which those who wait in this process hear at once.
pub(super) struct ForceReleaseCall {
    pub spec: Arc<LockSpec>,
    pub release: ForceRelease,
}

impl Operation for ForceReleaseCall {
    fn feature(&self) -> Feature {
        Feature::Lock
    }

    fn frame(&self) -> Frame<'_> {
        self.release.frame()
    }

    fn args(&self, args: &mut Args<'_>) {
        self.release.args(args);
    }

    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>> {
        self.release.twin(space, now)
    }

    fn decode(&self, fields: &[Reply], source: Source) -> Result<Answer> {
        messages::freed(&self.spec);
        self.release.decode(fields, source)
    }
}
