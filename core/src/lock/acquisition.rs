//! Acquiring and releasing as machines: what is asked first, who waits, and what is left behind where nobody wants the answer.

use std::sync::Arc;
use std::time::Instant;

use super::attempt::{Attempt, taken_back};
use super::held::HeldLock;
use super::queue;
use super::quorum;
use wire::base::error::{Code, Error, Result};
use wire::call::answer::{Answer, Sink};
use wire::connection::subscription::HintChannel;
use wire::driver;
use wire::machine::{Driver, GiveUp, Machine, Next, Start, WaitPlace};
use wire::op::Op;
use wire::reactor::CLEAN_UP;
use wire::session::exchange::Exchange;

/// A described acquisition: whether the lock is held. Dropped before it began, it asks nothing.
pub(super) struct Acquisition {
    /// None once it is over.
    attempt: Option<Attempt>,
    driver: Driver,
}

impl Acquisition {
    pub fn new(attempt: Attempt) -> Acquisition {
        Acquisition { attempt: Some(attempt), driver: Driver::Caller }
    }

    /// How a grant is looked after from now on.
    fn keep(&self) -> fn(&Arc<HeldLock>) {
        match self.driver {
            // A process that wants no thread of ours renews nothing.
            Driver::Caller | Driver::Loop => queue::keep_if_renewed,
            Driver::Threads | Driver::Process => queue::watch,
        }
    }
}

impl Machine for Acquisition {
    fn start(&mut self, driver: Driver) -> Start {
        self.driver = driver;
        let Some(attempt) = &mut self.attempt else { return Start::Done(Err(taken_back())) };
        let spec = attempt.lock.spec.clone();
        if spec.is_quorum() {
            return Start::Block;
        }
        // One that waits goes behind those of its client that wait already, whom only the process' thread knows; and replicas are
        // asked on a connection that waits for them.
        let is_plain = || spec.options.replicas_ack == 0 && !(attempt.waits() && spec.session.engine().has_waiters());
        match driver {
            Driver::Process => return Start::Enter,
            Driver::Loop if !is_plain() => return Start::Enter,
            Driver::Caller => return Start::Ask(attempt.exchange()),
            Driver::Loop => attempt.wait_beside_others(),
            Driver::Threads => {}
        }
        let question = attempt.ask_once();
        Start::Ask(spec.exchange(question))
    }

    fn on_answer(&mut self, answer: Result<Answer>) -> Next<Answer> {
        let keep = self.keep();
        let Some(attempt) = &mut self.attempt else { return Next::Done(Err(taken_back())) };
        match attempt.on_answer(answer) {
            Next::Done(Ok(Some(held))) => {
                keep(&held);
                Next::Done(Ok(Answer::new(true)))
            }
            Next::Done(Ok(None)) => Next::Done(Ok(Answer::new(false))),
            Next::Done(Err(error)) => Next::Done(Err(error)),
            _ if self.driver == Driver::Loop && attempt.is_abandoned() => Next::Done(Err(taken_back())),
            Next::Listen => Next::Listen,
            Next::Rest(until) => Next::Rest(attempt.nap(until)),
        }
    }

    fn on_end(&mut self, result: &Result<Answer>) {
        let Some(attempt) = self.attempt.take() else { return };
        if result.as_ref().is_ok_and(|answer| answer.get() == Some(&true)) {
            return;
        }
        if self.driver != Driver::Caller {
            return queue::forget(&attempt);
        }
        // A server that answered a moment ago has the client's timeout, as a new connection to it may be needed; a caller who was
        // failed or interrupted waits no longer than a moment.
        let within = match result {
            Err(error) if error.code() != Code::Closed => CLEAN_UP,
            _ => attempt.lock.spec.session.timeout,
        };
        attempt.cleanup().into_iter().for_each(|cleanup| cleanup.send_here(within));
    }

    fn enter(mut self: Box<Self>, id: u64, sink: &Arc<dyn Sink>) {
        match self.attempt.take() {
            Some(attempt) => queue::acquire(attempt, id, sink),
            None => sink.complete(vec![(id, Err(taken_back()))]),
        }
    }

    fn give_up(&self) -> Option<GiveUp> {
        let attempt = self.attempt.as_ref()?;
        let (lock, number) = (attempt.lock.clone(), attempt.number);
        Some(Box::new(move || lock.abandon_attempt(number)))
    }

    fn block(mut self: Box<Self>, interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
        let keep = if self.driver == Driver::Caller { queue::keep_if_renewed } else { queue::watch };
        let attempt = self.attempt.take().ok_or_else(taken_back)?;
        quorum::acquire(attempt, keep, interrupted).map(Answer::new)
    }

    fn place(&self) -> Option<WaitPlace> {
        let attempt = self.attempt.as_ref()?;
        let spec = &attempt.lock.spec;
        Some(WaitPlace {
            session: spec.session.clone(),
            prefix: spec.wake_prefix.clone(),
            slot: attempt.slot(),
            topic: attempt.id,
            until: attempt.until,
        })
    }

    fn is_likely_to_wait(&self) -> bool {
        self.attempt.as_ref().is_some_and(|attempt| attempt.waits() && !attempt.is_in_memory())
    }

    fn listen_at(&mut self, channel: Option<HintChannel>) {
        self.attempt.iter_mut().for_each(|attempt| attempt.listen_at(channel));
    }

    fn ask(&mut self) -> Option<Exchange> {
        self.attempt.as_mut().map(Attempt::exchange)
    }

    fn outlasts(&mut self, error: &Error) -> Option<Instant> {
        self.attempt.as_mut()?.outlasts(error)
    }

    fn on_wait_over(&mut self) -> Result<Answer> {
        let attempt = self.attempt.as_mut().ok_or_else(taken_back)?;
        let result = attempt.on_wait_over();
        attempt.came_to(&result);
        result.map(Answer::new)
    }
}

impl Drop for Acquisition {
    fn drop(&mut self) {
        // Of one that was described only, nothing is left.
        self.attempt.iter().for_each(queue::forget);
    }
}

/// A described release: whether the lock was held until now. Renewal has stopped already; dropped before it began, the lock is left
/// to its end.
pub(super) struct HandleRelease {
    /// None once it is over.
    held: Option<Arc<HeldLock>>,
    /// Whether it was held when this was described.
    was_held: bool,
    driver: Option<Driver>,
}

impl HandleRelease {
    pub fn new(held: Option<Arc<HeldLock>>) -> HandleRelease {
        HandleRelease::of(held, HeldLock::give_up)
    }

    pub fn forfeiting(held: Option<Arc<HeldLock>>) -> HandleRelease {
        HandleRelease::of(held, HeldLock::lose)
    }

    /// Of a lock that no handle holds any more.
    pub fn orphaned(held: Arc<HeldLock>) -> HandleRelease {
        HandleRelease { held: Some(held), was_held: false, driver: None }
    }

    fn of(held: Option<Arc<HeldLock>>, end: fn(&HeldLock)) -> HandleRelease {
        let was_held = held.as_ref().is_some_and(|held| held.is_held());
        held.iter().for_each(|held| end(held));
        // The close of its client has given it back.
        let held = held.filter(|held| !held.spec.clients().any(|client| client.is_closed()));
        HandleRelease { held, was_held, driver: None }
    }
}

impl Machine for HandleRelease {
    fn start(&mut self, driver: Driver) -> Start {
        self.driver = Some(driver);
        let Some(held) = &self.held else { return Start::Done(Ok(Answer::new(false))) };
        let spec = &held.spec;
        if spec.is_quorum() {
            return Start::Block;
        }
        // Only the process' thread knows of those who wait behind the first, and may have come before others elsewhere.
        let enters = match driver {
            Driver::Caller => false,
            Driver::Threads => spec.hands_on_in_order(),
            Driver::Loop => spec.session.engine().has_waiters(),
            Driver::Process => true,
        };
        if enters {
            return Start::Enter;
        }
        Start::Ask(Exchange::new(spec.session.clone(), Box::new(spec.release(held.id, 0)), None))
    }

    fn on_answer(&mut self, answer: Result<Answer>) -> Next<Answer> {
        let released = match answer.and_then(Answer::take::<bool>) {
            Ok(released) => released,
            Err(error) => return Next::Done(Err(error)),
        };
        if let Some(held) = self.held.take()
            // On a loop its client's waiters are known; elsewhere the thread knows of those of all.
            && (self.driver != Some(Driver::Loop) || held.spec.session.engine().has_waiters())
        {
            queue::freed(&held.spec);
        }
        Next::Done(Ok(Answer::new(released && self.was_held)))
    }

    fn enter(mut self: Box<Self>, id: u64, sink: &Arc<dyn Sink>) {
        match self.held.take() {
            Some(held) => queue::release(held, self.was_held, id, sink),
            None => sink.complete(vec![(id, Ok(Answer::new(false)))]),
        }
    }

    fn give_up(&self) -> Option<GiveUp> {
        // It is done whoever waits for it.
        Some(Box::new(|| {}))
    }

    fn block(mut self: Box<Self>, interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
        let Some(held) = &self.held else { return Ok(Answer::new(false)) };
        let released = quorum::release(held, interrupted)?;
        self.held = None;
        Ok(Answer::new(released && self.was_held))
    }
}

impl Drop for HandleRelease {
    fn drop(&mut self) {
        // A process with a thread of ours releases in the background what could not be released; another leaves it to its end.
        if matches!(self.driver, Some(Driver::Threads | Driver::Loop)) {
            self.held.take().into_iter().for_each(give_back);
        }
    }
}

/// Takes answers that are of no interest.
struct Nobody;

impl Sink for Nobody {
    fn complete(&self, _answers: Vec<(u64, Result<Answer>)>) {}
}

/// Releases in the background what nobody holds any more.
pub(super) fn give_back(held: Arc<HeldLock>) {
    if held.is_foreign() {
        return;
    }
    held.give_up();
    // As any release: whoever waits for it here must not rest on.
    let nobody: Arc<dyn Sink> = Arc::new(Nobody);
    let release: Op<Answer> = Op::machine(Box::new(HandleRelease::orphaned(held)));
    driver::submit(vec![(0, release)], &nobody);
}
