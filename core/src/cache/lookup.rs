//! One caller who wants an entry: what to ask, and what an answer means. It never touches a socket and never sleeps; drivers
//! do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Got;
use super::options::{DEFAULT_WAIT_AFTER_LEASE, WhenAway};
use super::target::{CacheSpec, EntryTarget};
use super::ticket::Ticket;
use crate::cache::single_flight::{Look, Looked};
use crate::limiter::policy::MAX_PERIOD;
use wire::base::error::{Code, Error, Result};
use wire::base::fork::generation;
use wire::call::answer::Answer;
use wire::call::command::odd_reply;
use wire::call::hint::AttemptId;
use wire::connection::subscription::HintChannel;
use wire::machine::Next;
use wire::metrics::LoadResult;
use wire::reactor::{Cleanup, IN_MEMORY, Outage, longest_rest};
use wire::session::exchange::Exchange;

impl CacheSpec {
    /// A lookup of an entry, which waits for at most `wait`; if that is none, for longer than the lease of one who dies.
    pub fn lookup(self: &Arc<CacheSpec>, key: &[u8], wait: Option<Duration>) -> Result<Lookup> {
        let default = || Duration::from_micros(self.lease + DEFAULT_WAIT_AFTER_LEASE);
        Lookup::new(self.target(key)?, wait.unwrap_or_else(default).min(Duration::from_micros(MAX_PERIOD)))
    }
}

/// One caller, under an id of its own.
pub(crate) struct Lookup {
    pub target: Arc<EntryTarget>,
    pub id: AttemptId,
    luck: Vec<u64>,
    pub wait: Duration,
    /// When waiting ends.
    pub until: Instant,
    /// Where hints for it are heard, if anywhere.
    ear: Option<HintChannel>,
    /// Whether it has tried to listen elsewhere since it rested.
    moved: bool,
    /// Whether a question was sent whose answer did not come yet: it may have brought a lease.
    pending: bool,
    /// How long the lease of whoever loads lasted, when last heard; none if nobody said.
    busy: Option<u64>,
    outage: Outage,
    /// Whether it belongs to a thread that waits for its own calls.
    pub here: bool,
    generation: u64,
}

impl Lookup {
    pub fn new(target: Arc<EntryTarget>, wait: Duration) -> Result<Lookup> {
        let (id, luck) = target.spec.draw(1)?;
        let until = Instant::now() + wait;
        let generation = generation();
        let outage = Outage::default();
        let (ear, busy) = (None, None);
        let (moved, pending, here) = (false, false, false);
        Ok(Lookup { target, id, luck, wait, until, ear, moved, pending, busy, outage, here, generation })
    }

    /// Whether it was told that another loads.
    pub fn is_waiting(&self) -> bool {
        self.busy.is_some()
    }

    /// Where hints for it will be heard from now on, if anywhere.
    pub fn listen_at(&mut self, ear: Option<HintChannel>) {
        self.ear = ear;
    }

    /// The slot in which it waits.
    pub fn slot(&self) -> u16 {
        self.target.spec.session.slot(&self.target.keys[0])
    }

    /// Whether hints for it are said there first.
    pub fn is_near(&self, ear: HintChannel) -> bool {
        self.target.spec.session.is_near(self.slot(), ear)
    }

    /// Whether it listens where it is told first, or as near as it may.
    fn hears(&mut self) -> bool {
        let Some(ear) = self.ear else { return false };
        self.is_near(ear) || std::mem::replace(&mut self.moved, true)
    }

    /// The next question.
    pub fn ask(&mut self) -> Look {
        let spec = &self.target.spec;
        self.pending = true;
        Look {
            id: self.id,
            ttl: spec.lease,
            channel: self.ear.map(|ear| ear.channel),
            luck: self.luck.clone(),
            // A caller who waits outlasts an absence first.
            load_when_away: spec.when_away == WhenAway::Load && !self.is_waiting(),
            ..Look::only([self.target.keys.clone()].into(), self.target.shown.clone(), spec.feature())
        }
    }

    /// The next question, on its way.
    pub fn exchange(&mut self) -> Exchange {
        let look = self.ask();
        Exchange::new(self.target.spec.session.clone(), Box::new(look), None)
    }

    /// Reads the answer to the last question.
    pub fn read(&mut self, answer: Result<Answer>) -> Next<Got> {
        let looked = match answer.and_then(Answer::take::<Vec<Looked>>) {
            Ok(looked) => looked,
            Err(error) => {
                self.on_error(&error);
                return match self.outlasts(&error) {
                    Some(until) => Next::Rest(until),
                    None => Next::Done(self.on_failure(error)),
                };
            }
        };
        // A server that answers but cannot be listened to is not all there yet.
        if self.ear.is_some() {
            self.outage.end();
        }
        match <[Looked; 1]>::try_from(looked) {
            Ok([looked]) => self.on_looked(looked),
            Err(other) => Next::Done(Err(odd_reply(format!("{} entries", other.len())))),
        }
    }

    /// Reads the error that the last question came to: what was refused has left nothing.
    pub fn on_error(&mut self, error: &Error) {
        self.pending &= matches!(error.code(), Code::Timeout | Code::Unavailable | Code::Internal);
    }

    /// Until when to rest before what has failed so is tried again; none if that is of no use. Who was told that another loads
    /// outlasts a restart: else all who wait would load at once, or fail, while that one is about to store.
    pub fn outlasts(&mut self, error: &Error) -> Option<Instant> {
        if self.is_waiting() { self.outage.outlasts(error, self.until, self.id[0]) } else { None }
    }

    /// Knows of the outage that another has seen.
    pub fn learn(&mut self, other: &Outage) {
        self.outage.learn(other);
    }

    /// What it knows of the server's absence.
    pub fn outage(&self) -> Outage {
        self.outage.clone()
    }

    /// What it gets where Redis cannot be asked: the duty to load without a lease, if that is what its cache says; none if it
    /// says to raise.
    pub fn without_redis(&self) -> Option<Got> {
        let loads = self.target.spec.when_away == WhenAway::Load;
        loads.then(|| Got::Load(Ticket::new(self.target.clone(), self.id, (0, 0), None, self.here)))
    }

    /// What it gets where Redis cannot be asked, or not be listened to, for this reason.
    pub fn on_failure(&self, error: Error) -> Result<Got> {
        match self.without_redis().filter(|_| matches!(error.code(), Code::Unavailable | Code::Timeout)) {
            Some(got) => Ok(got),
            None => Err(error),
        }
    }

    /// Reads what was found.
    pub fn on_looked(&mut self, looked: Looked) -> Next<Got> {
        // What Redis did not say may have been done all the same.
        self.pending = matches!(looked, Looked::Load { token: 0, .. });
        match looked {
            Looked::Load { token, left, at_hand } => {
                let ticket = Ticket::new(self.target.clone(), self.id, (token, left), at_hand, self.here);
                Next::Done(Ok(Got::Load(ticket)))
            }
            Looked::Seen(seen) => Next::Done(Ok(Got::Found(seen))),
            Looked::Failed { error, left } => Next::Done(Err(self.target.failed(&error, left))),
            Looked::Busy { left } => {
                self.busy = Some(left);
                let now = Instant::now();
                if now >= self.until {
                    return Next::Done(Err(self.late()));
                }
                if self.target.spec.is_in_memory() {
                    return Next::Rest((now + IN_MEMORY).min(self.until));
                }
                if !self.hears() {
                    return Next::Listen;
                }
                self.moved = false;
                // Not all at the same moment when a loader has died.
                let free = Duration::from_micros(left) + Duration::from_micros(u64::from(self.id[1]) * 80);
                Next::Rest((now + free.min(longest_rest(self.id[0]))).min(self.until))
            }
            Looked::Nothing => Next::Done(Err(odd_reply("nothing to load".to_owned()))),
        }
    }

    /// What frees the lease that its last question may have brought; none if that is known.
    pub fn take_leave(&mut self) -> Option<Cleanup> {
        let may_have = std::mem::take(&mut self.pending) && self.generation == generation();
        may_have.then(|| self.target.cleanup(self.id))
    }

    /// What it gets when its wait is over: an error, or what it gets without Redis if that has been away until now.
    pub fn on_wait_over(&self) -> Result<Got> {
        match self.outage.error() {
            Some(error) => self.on_failure(error.clone()),
            None => Err(self.late()),
        }
    }

    /// Counts what its caller gets. Who gives up, or whose client is closed, gets nothing.
    pub fn count_result(&self, got: std::result::Result<&Got, &Error>) {
        let result = match got {
            Ok(Got::Load(_)) => LoadResult::Loaded,
            Ok(Got::Found(_)) if self.is_waiting() => LoadResult::Waited,
            Ok(Got::Found(seen)) if seen.stale => LoadResult::Stale,
            Ok(Got::Found(_)) => LoadResult::Hit,
            Err(error) if error.code() == Code::Closed => return,
            Err(_) => LoadResult::Error,
        };
        self.target.spec.counters.count(result);
    }

    fn late(&self) -> Error {
        self.target.late(self.wait, self.busy.unwrap_or(0))
    }
}

impl Drop for Lookup {
    fn drop(&mut self) {
        if let Some(cleanup) = self.take_leave() {
            cleanup.send(self.here);
        }
    }
}
