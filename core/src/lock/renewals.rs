//! The leases of this process that are watched: each is renewed at a third of its ttl, and its loss is told.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::held::HeldLock;
use super::quorum;
use wire::base::error::Result;
use wire::call::answer::Answer;
use wire::reactor::Work;
use wire::session::exchange::Exchange;

/// The longest that a deadline is not looked at: the clock of deadlines also runs while the machine sleeps, timers don't.
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// A lease that is watched.
struct Renewal {
    held: Weak<HeldLock>,
    /// When to renew it, in the time of the handle; none while a renewal is under way, or if it is not to be renewed.
    renew_at: Option<u64>,
    /// When to look at it.
    due: Instant,
}

impl Renewal {
    fn new(held: &Arc<HeldLock>) -> Renewal {
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
    fn rest(&mut self, held: &HeldLock) {
        let next = self.renew_at.unwrap_or(u64::MAX).min(held.deadline());
        let left = Duration::from_micros(next.saturating_sub(held.spec.now()) + 1);
        self.due = Instant::now() + left.min(LONGEST_LOOK);
    }
}

/// A renewal that is to be sent, or was.
pub(crate) struct Due {
    held: Weak<HeldLock>,
    /// When, in the time of the handle.
    sent: u64,
    ttl: u64,
}

impl Due {
    /// What has to be done. It has a sixth of the ttl to be answered.
    pub fn work(&self) -> Work {
        let Some(held) = self.held.upgrade() else { return Work::Task(Box::new(|| Ok(Answer::new(false)))) };
        let (ttl, spec) = (self.ttl, &held.spec);
        if spec.is_quorum() {
            let held = held.clone();
            return Work::Task(Box::new(move || quorum::extend(&held, ttl).map(Answer::new)));
        }
        let exchange = Exchange::new(spec.session.clone(), Box::new(spec.extend(held.id, ttl)), None);
        Work::Call(exchange.within(Duration::from_micros(ttl / 6)))
    }
}

/// All of them.
#[derive(Default)]
pub(crate) struct Renewals {
    all: Vec<Renewal>,
}

impl Renewals {
    /// Watches one more, unless it does.
    pub fn watch(&mut self, held: &Arc<HeldLock>) {
        if held.is_to_be_watched() {
            self.all.push(Renewal::new(held));
        }
    }

    /// When to look again.
    pub fn next_turn(&self) -> Option<Instant> {
        self.all.iter().map(|renewal| renewal.due).min()
    }

    /// Those to be renewed now. Tells what was lost, and forgets what has ended.
    pub fn due(&mut self, now: Instant) -> Vec<Due> {
        let mut due = Vec::new();
        // The thread turns for every call of the process; most turns have nothing to renew.
        if self.all.iter().all(|renewal| renewal.due > now) {
            return due;
        }
        self.all.retain_mut(|renewal| {
            let Some(held) = renewal.held.upgrade() else { return false };
            if renewal.due > now {
                return true;
            }
            // Looking is what notices a loss.
            if !held.is_held() {
                return false;
            }
            let now = held.spec.now();
            if renewal.renew_at.is_some_and(|at| at <= now) {
                due.push(Due { held: renewal.held.clone(), sent: now, ttl: held.ttl() });
                renewal.renew_at = None;
            }
            renewal.rest(&held);
            true
        });
        due
    }

    /// Takes the answer to a renewal.
    pub fn on_answer(&mut self, due: &Due, answer: Result<Answer>) {
        let Some(held) = due.held.upgrade() else { return };
        let next = match answer.and_then(Answer::take) {
            Ok(done) => {
                held.extended(due.sent, due.ttl, done);
                Renewal::new(&held)
            }
            _ => {
                held.doubt();
                // There is nothing to wait for but a moment.
                let (again, fresh) = (held.spec.now() + due.ttl / 20, Renewal::new(&held));
                Renewal { renew_at: fresh.renew_at.map(|_| again), ..fresh }
            }
        };
        if let Some(renewal) = self.all.iter_mut().find(|renewal| renewal.held.ptr_eq(&due.held)) {
            *renewal = next;
            renewal.rest(&held);
        }
    }
}
