//! One acquisition of a lock, from its grant to its end: how long it is certain, and who is told when it is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::spec::LockSpec;
use wire::base::fork::generation;
use wire::call::hint::AttemptId;
use wire::metrics::count_hold;
use wire::reactor::Cleanup;
use wire::session::holdings::Holding;

/// How sure a handle is of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockState {
    /// Never acquired, or not any more after a release.
    Released,
    /// Held for certain until the deadline.
    Held,
    /// Held until the deadline, but the last renewal failed.
    Uncertain,
    /// Not held any more, and not by a release.
    Lost,
}

impl LockState {
    /// Every state, in the order of the documentation.
    pub const ALL: [LockState; 4] = [LockState::Released, LockState::Held, LockState::Uncertain, LockState::Lost];

    /// The text of the state, the same in every language.
    pub fn as_str(self) -> &'static str {
        match self {
            LockState::Released => "released",
            LockState::Held => "held",
            LockState::Uncertain => "uncertain",
            LockState::Lost => "lost",
        }
    }
}

/// Called once when a lock is lost, on a thread of Quotalock or of the caller that noticed; must not block.
pub type LossListener = Box<dyn FnOnce() + Send>;

/// One acquisition.
pub(crate) struct HeldLock {
    pub spec: Arc<LockSpec>,
    pub id: AttemptId,
    pub token: u64,
    /// Until when it may be renewed, in the time of [`LockSpec::now`].
    pub renew_until: u64,
    generation: u64,
    /// Whether the process' thread watches it.
    watched: AtomicBool,
    /// Since when, in the time of [`LockSpec::now`].
    since: u64,
    /// Whether its loss was taken.
    taken: AtomicBool,
    tenure: Mutex<Tenure>,
}

struct Tenure {
    state: LockState,
    /// Until when it is held for certain, in the time of [`LockSpec::now`].
    deadline: u64,
    ttl: u64,
    listeners: Vec<LossListener>,
}

/// How long a lease that was asked for at `sent` is certain to last: RELIABILITY of clocks is taken as 1 % and 2 ms.
fn certain_until(sent: u64, ttl: u64) -> u64 {
    sent + ttl.saturating_sub(ttl / 100 + 2_000)
}

impl Holding for HeldLock {
    fn is_held(&self) -> bool {
        is_live(self.state())
    }

    fn has_ended(&self) -> bool {
        // What nobody has looked at since its end may still look held.
        !is_live(self.lock().state)
    }
}

impl HeldLock {
    pub fn new(spec: Arc<LockSpec>, id: AttemptId, token: u64, sent: u64) -> HeldLock {
        let ttl = spec.options.ttl;
        HeldLock {
            id,
            token,
            renew_until: sent.saturating_add(spec.options.max_hold),
            generation: generation(),
            watched: AtomicBool::new(false),
            since: sent,
            taken: AtomicBool::new(false),
            tenure: Mutex::new(Tenure {
                state: LockState::Held,
                deadline: certain_until(sent, ttl),
                ttl,
                listeners: Vec::new(),
            }),
            spec,
        }
    }

    /// What is known of it now. Notices a deadline that has passed, and tells those who listen.
    pub fn state(&self) -> LockState {
        if self.is_foreign() {
            return LockState::Lost;
        }
        let tenure = self.lock();
        if is_live(tenure.state) && self.spec.now() >= tenure.deadline {
            self.end(tenure, LockState::Lost);
            return LockState::Lost;
        }
        tenure.state
    }

    pub fn is_held(&self) -> bool {
        is_live(self.state())
    }

    /// Microseconds until the deadline; 0 if it is not held.
    pub fn remaining(&self) -> u64 {
        if self.is_held() { self.deadline().saturating_sub(self.spec.now()) } else { 0 }
    }

    /// Until when it is held for certain, in the time of [`LockSpec::now`].
    pub fn deadline(&self) -> u64 {
        self.lock().deadline
    }

    pub fn ttl(&self) -> u64 {
        self.lock().ttl
    }

    /// Whether a fork lies between the grant and this process: then it belongs to the parent alone.
    pub fn is_foreign(&self) -> bool {
        self.generation != generation()
    }

    /// Marks it as watched by the process' thread: true for the first caller.
    pub fn is_to_be_watched(&self) -> bool {
        !self.watched.swap(true, Ordering::Relaxed)
    }

    /// Whether its loss, of which the caller knows, is news: true for the first who asks. A child of a fork lost nothing.
    pub fn take_loss(&self) -> bool {
        !self.is_foreign() && !self.taken.swap(true, Ordering::Relaxed)
    }

    /// An extension that was sent at `sent` was answered.
    pub fn extended(&self, sent: u64, ttl: u64, done: bool) {
        let mut tenure = self.lock();
        if !is_live(tenure.state) {
            return;
        }
        if done {
            tenure.state = LockState::Held;
            tenure.ttl = tenure.ttl.max(ttl);
            tenure.deadline = tenure.deadline.max(certain_until(sent, ttl));
        } else {
            self.end(tenure, LockState::Lost);
        }
    }

    /// A renewal got no answer.
    pub fn doubt(&self) {
        let mut tenure = self.lock();
        if tenure.state == LockState::Held {
            tenure.state = LockState::Uncertain;
        }
    }

    /// What gives it back.
    pub fn cleanup(&self) -> Cleanup {
        Cleanup::new(&self.spec.session, self.spec.release(self.id, 0)).again_until(self.ttl())
    }

    /// It is given back: no renewal from now on, and no loss.
    pub fn give_up(&self) {
        let tenure = self.lock();
        if is_live(tenure.state) {
            self.end(tenure, LockState::Released);
        }
    }

    /// It is taken from its holder, which is notified.
    pub fn lose(&self) {
        let tenure = self.lock();
        if is_live(tenure.state) {
            self.end(tenure, LockState::Lost);
        }
    }

    /// Calls `listener` when it is lost; at once if it is already lost.
    pub fn on_loss(&self, listener: LossListener) {
        if self.state() == LockState::Lost {
            return listener();
        }
        let mut tenure = self.lock();
        match tenure.state {
            LockState::Held | LockState::Uncertain => tenure.listeners.push(listener),
            LockState::Lost => {
                drop(tenure);
                listener();
            }
            LockState::Released => {}
        }
    }

    /// Ends a tenure, and tells those who listen after the lock is let go: they may ask for the state.
    fn end(&self, mut tenure: MutexGuard<'_, Tenure>, state: LockState) {
        tenure.state = state;
        let listeners = std::mem::take(&mut tenure.listeners);
        drop(tenure);
        let is_lost = state == LockState::Lost;
        count_hold(is_lost, Duration::from_micros(self.spec.now().saturating_sub(self.since)));
        if is_lost {
            listeners.into_iter().for_each(|listener| listener());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tenure> {
        self.tenure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_live(state: LockState) -> bool {
    matches!(state, LockState::Held | LockState::Uncertain)
}
