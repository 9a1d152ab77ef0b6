//! Acquiring and releasing for drivers that make calls themselves: what is asked once they carry; whoever has to wait goes on on
//! the process' thread.

use std::sync::Arc;

use super::attempt::{Attempt, AttemptStep, taken_back};
use super::held::HeldLock;
use super::messages;
use super::{Acquiring, Releasing};
use wire::base::error::Result;
use wire::call::answer::Answer;
use wire::op::{Op, typed};

impl Acquiring {
    /// Whether its first question may be asked by a driver: one that waits goes behind those of its client that wait already, whom
    /// only the process' thread knows.
    pub fn is_plain(&self) -> bool {
        let spec = &self.attempt.lock.spec;
        let is_single = !spec.is_quorum() && spec.options.replicas_ack == 0;
        is_single && !(self.attempt.waits() && spec.session.engine().has_waiters())
    }

    /// The first question of one that [`is_plain`](Acquiring::is_plain), and what reads its answer.
    pub fn ask(mut self) -> (Op<Answer>, AskedAcquiring) {
        self.attempt.wait_beside_others();
        let question = self.attempt.ask_once();
        let op = Op::new(&self.attempt.lock.spec.session, Box::new(question), None);
        (op, AskedAcquiring { attempt: Some(self.attempt) })
    }
}

/// An acquisition whose first question is under way. Dropped, it leaves nothing behind.
pub struct AskedAcquiring {
    attempt: Option<Attempt>,
}

impl AskedAcquiring {
    /// Reads the answer: whether the lock is held, or what is to be [`submit`](Acquiring::submit)ted, since it waits.
    pub fn after(mut self, answer: Result<Answer>) -> std::result::Result<Result<bool>, Box<Acquiring>> {
        let Some(mut attempt) = self.attempt.take() else { return Ok(Err(taken_back())) };
        let ended = match attempt.on_answer(answer) {
            AttemptStep::Held(held) => {
                messages::keep_if_renewed(&held);
                return Ok(Ok(true));
            }
            AttemptStep::Refused => Ok(false),
            AttemptStep::Failed(error) => Err(error),
            AttemptStep::Listen | AttemptStep::Rest(_) if attempt.is_abandoned() => Err(taken_back()),
            AttemptStep::Listen | AttemptStep::Rest(_) => return Err(Box::new(Acquiring { attempt })),
        };
        messages::forget(&attempt);
        Ok(ended)
    }
}

impl Drop for AskedAcquiring {
    fn drop(&mut self) {
        self.attempt.iter().for_each(messages::forget);
    }
}

impl Releasing {
    /// Whether a driver may send it: nobody of its client waits, to whom the process' thread would pass the lock on.
    pub fn is_plain(&self) -> bool {
        let has_waiters = |held: &Arc<HeldLock>| held.spec.session.engine().has_waiters();
        self.held.as_ref().is_some_and(|held| !held.spec.is_quorum() && !has_waiters(held))
    }

    /// The release of one that [`is_plain`](Releasing::is_plain), and what reads its answer.
    pub fn ask(self) -> Option<(Op<Answer>, AskedReleasing)> {
        let held = self.held?;
        let op = Op::new(&held.spec.session, Box::new(held.spec.release(held.id, 0)), None);
        Some((op, AskedReleasing { held: Some(held), was_held: self.was_held }))
    }
}

/// A release that is under way. Dropped, or failed, it is done in the background.
pub struct AskedReleasing {
    held: Option<Arc<HeldLock>>,
    was_held: bool,
}

impl AskedReleasing {
    /// Reads the answer: whether the lock was held until now.
    ///
    /// # Errors
    /// As [`Releasing::run`] says.
    pub fn after(mut self, answer: Result<Answer>) -> Result<bool> {
        let released: bool = typed(answer)?;
        // Who began to wait meanwhile rests until it hears.
        if let Some(held) = self.held.take()
            && held.spec.session.engine().has_waiters()
        {
            messages::freed(&held.spec);
        }
        Ok(released && self.was_held)
    }
}

impl Drop for AskedReleasing {
    fn drop(&mut self) {
        self.held.take().into_iter().for_each(messages::give_back);
    }
}
