//! One caller's attempt to get a lock: what to ask, and what an answer means. It never touches a socket and never
//! sleeps; drivers do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Inner;
use super::held::HeldLock;
use super::spec::describe_holder;
use crate::lock::lease_table::{Acquire, AcquireOutcome, AttemptId, Grant, PATIENCE, QueueMode};
use wire::base::error::{Code, Error, Result};
use wire::base::random;
use wire::call::answer::Answer;
use wire::connection::subscription::HintChannel;
use wire::machine::Next;
use wire::metrics::{AcquisitionResult, count_acquisition, count_healed_lock};
use wire::reactor::{Cleanup, IN_MEMORY, Outage, longest_rest};
use wire::session::exchange::Exchange;

/// How long one rests whose grant too few replicas have, before they are asked again.
const UNTIL_REPLICAS: Duration = Duration::from_millis(100);
/// For how long the next in a line leaves it to the holder to hand the lock on, before it asks.
pub(super) const SHORT_HOLD: Duration = Duration::from_millis(100);
/// Those further back in the queue look a little later, so that they don't all come when a holder has died.
const APART: Duration = Duration::from_millis(20);

/// What follows from an answer: the grant, none if it was refused and time is over.
pub(crate) type AttemptNext = Next<Option<Arc<HeldLock>>>;

/// One attempt, under an id of its own. Its handle can make no other while it lives.
pub(crate) struct Attempt {
    pub lock: Arc<Inner>,
    pub id: AttemptId,
    /// Which of the handle's attempts it is.
    pub number: u64,
    began: Instant,
    /// When waiting ends.
    pub until: Instant,
    /// Where hints for it are heard, if anywhere.
    ear: Option<HintChannel>,
    /// Whether it has tried to listen elsewhere since it rested.
    moved: bool,
    who: Arc<[u8]>,
    /// Whether a question has no answer yet.
    asked: bool,
    /// Whether a question may have left something, that is a waiter, or a late copy that would be granted.
    left: bool,
    /// When the last question was sent, in the time of the handle.
    sent: u64,
    outage: Outage,
    /// Kept if it waits beside others of its client.
    waiting: Option<Arc<()>>,
    /// Whether it was made, and not only described.
    is_made: bool,
    /// What it came to, as far as that is known.
    result: Option<AcquisitionResult>,
}

impl Attempt {
    /// Begins an attempt.
    ///
    /// # Errors
    /// `invalid_argument` if the handle holds the lock, or another attempt of it is under way.
    pub fn new(lock: Arc<Inner>, wait: Duration) -> Result<Attempt> {
        let id = random::bytes()?;
        let who = lock.spec.who();
        let number = lock.begin(wait)?;
        let began = Instant::now();
        let until = began + wait;
        Ok(Attempt {
            lock,
            id,
            number,
            began,
            until,
            ear: None,
            moved: false,
            who,
            asked: false,
            left: false,
            sent: 0,
            outage: Outage::default(),
            waiting: None,
            is_made: false,
            result: None,
        })
    }

    /// Lets others of its client know that it may wait.
    pub fn wait_beside_others(&mut self) {
        self.is_made = true;
        if self.waits() {
            self.waiting = Some(self.lock.spec.session.engine().waiting.clone());
        }
    }

    /// Whether its caller has abandoned it.
    pub fn is_abandoned(&self) -> bool {
        !self.lock.is_current(self.number)
    }

    /// Whether the caller waits at all.
    pub fn waits(&self) -> bool {
        self.until > Instant::now()
    }

    /// Whether its last question was not just now; false if there was none.
    pub fn asked_long_ago(&self) -> bool {
        self.sent > 0 && self.lock.spec.now().saturating_sub(self.sent) >= SHORT_HOLD.as_micros() as u64
    }

    /// Where hints for it will be heard from now on, if anywhere.
    pub fn listen_at(&mut self, ear: Option<HintChannel>) {
        self.ear = ear;
    }

    /// The slot in which it waits.
    pub fn slot(&self) -> u16 {
        let spec = &self.lock.spec;
        spec.keys.first().map_or(0, |key| spec.session.slot(key))
    }

    /// Whether hints for it are said there first.
    pub fn is_near(&self, ear: HintChannel) -> bool {
        self.lock.spec.session.is_near(self.slot(), ear)
    }

    /// How it ends when its time is over: refused, or failed if the server has been away until now.
    pub fn on_wait_over(&self) -> Result<bool> {
        self.outage.error().map_or(Ok(false), |error| Err(error.clone()))
    }

    /// Knows of the outage that another has seen.
    pub fn learn(&mut self, other: &Attempt) {
        self.outage.learn(&other.outage);
    }

    /// Until when to rest before what has failed so is tried again; none if that is of no use.
    pub fn outlasts(&mut self, error: &Error) -> Option<Instant> {
        self.result = Some(AcquisitionResult::Error);
        if !error.may_pass() || !self.waits() {
            return None;
        }
        // What was asked may still arrive.
        self.left |= self.asked;
        let until = self.outage.outlasts(error, self.until, self.id[0])?;
        self.result = None;
        Some(until)
    }

    /// The next question, in place of the holder `instead_of` if that one passes the lock on.
    pub fn ask(&mut self, instead_of: Option<AttemptId>) -> Acquire {
        let question = self.ask_once();
        let spec = &self.lock.spec;
        let can_wait = self.waits() && (self.ear.is_some() || self.is_in_memory());
        let queue = match (can_wait, spec.in_order()) {
            (false, _) => QueueMode::No,
            (true, false) => QueueMode::Hint,
            (true, true) => QueueMode::Order,
        };
        self.left |= can_wait;
        Acquire { queue, channel: self.ear.map(|ear| ear.channel).unwrap_or_default(), instead_of, ..question }
    }

    /// The next question, on its way.
    pub fn exchange(&mut self) -> Exchange {
        let question = self.ask(None);
        self.lock.spec.exchange(question)
    }

    /// The question of one who is to stand in a line if it is refused: where only the first asks, a waiter that is left by
    /// another would be told in its place, and keep it out for as long as that counts.
    pub fn ask_once(&mut self) -> Acquire {
        (self.asked, self.is_made) = (true, true);
        self.sent = self.lock.spec.now();
        self.question()
    }

    /// The question of one who does not wait.
    pub fn question(&self) -> Acquire {
        Acquire {
            floor: self.lock.floor(),
            waited: self.began.elapsed().as_micros() as u64,
            ..self.lock.spec.question(self.id, self.who.clone())
        }
    }

    /// Reads the answer to the last question.
    pub fn on_answer(&mut self, answer: Result<Answer>) -> AttemptNext {
        let next = self.read(answer);
        self.result = match &next {
            Next::Done(Ok(Some(_))) => Some(AcquisitionResult::Acquired),
            Next::Done(Ok(None)) => Some(AcquisitionResult::Refused),
            Next::Done(Err(error)) => failure(error),
            Next::Listen | Next::Rest(_) => None,
        };
        next
    }

    /// It came to this: whether the lock is held.
    pub fn came_to(&mut self, result: &Result<bool>) {
        self.result = match result {
            Ok(true) => Some(AcquisitionResult::Acquired),
            Ok(false) => Some(AcquisitionResult::Refused),
            Err(error) => failure(error),
        };
    }

    fn read(&mut self, answer: Result<Answer>) -> AttemptNext {
        let grant = match answer.and_then(Answer::take::<Grant>) {
            Ok(grant) => grant,
            // It was granted, but too few replicas have it. Asked again it is granted again, and they are asked once more.
            Err(error) if error.code() == Code::NotAcquired => {
                self.lock.refused(error.message().to_owned());
                if !self.waits() {
                    return Next::Done(Ok(None));
                }
                self.outage.end();
                return Next::Rest((Instant::now() + UNTIL_REPLICAS).min(self.until));
            }
            Err(error) => {
                // A key of another type is refused before anything is written: there is nothing to take back.
                self.asked &= !matches!(error.code(), Code::WrongType | Code::NewerVersion);
                return self.outlasts(&error).map_or(Next::Done(Err(error)), Next::Rest);
            }
        };
        self.outage.end();
        // A refused try left nothing.
        self.asked = !matches!(grant.outcome, AcquireOutcome::Refused { .. });
        self.left |= grant.repeated;
        self.on_grant(grant)
    }

    fn on_grant(&mut self, grant: Grant) -> AttemptNext {
        if grant.healed {
            count_healed_lock();
        }
        let spec = &self.lock.spec;
        match grant.outcome {
            AcquireOutcome::Granted { token, .. } => {
                let held = Arc::new(HeldLock::new(spec.clone(), self.id, token, self.sent));
                if held.is_held() {
                    return if self.lock.granted(&held, self.number) {
                        Next::Done(Ok(Some(held)))
                    } else {
                        Next::Done(Err(taken_back()))
                    };
                }
                let what = format!("{} was granted, but its ttl was over when the answer came", spec.shown);
                Next::Done(Err(Error::new(
                    Code::Timeout,
                    format!("{what}: use a longer ttl, or check whether the server is slow"),
                )))
            }
            AcquireOutcome::Cancelled { .. } => Next::Done(Err(Error::new(
                Code::Internal,
                format!("{} was requested by an attempt that had ended", spec.shown),
            ))),
            AcquireOutcome::Refused { wait, place, holder, .. } => {
                self.lock.refused(describe_holder(&holder, wait));
                if !self.waits() {
                    return Next::Done(Ok(None));
                }
                if !self.is_in_memory() && !self.hears() {
                    return Next::Listen;
                }
                self.moved = false;
                Next::Rest(self.rest(wait, place))
            }
        }
    }

    /// Whether it listens where it is told first, or as near as it may.
    fn hears(&mut self) -> bool {
        let Some(ear) = self.ear else { return false };
        self.is_near(ear) || std::mem::replace(&mut self.moved, true)
    }

    /// When to ask again if no hint comes.
    fn rest(&self, wait: u64, place: u64) -> Instant {
        let free = Duration::from_micros(wait).saturating_add(APART * place.min(50) as u32);
        let next = (Instant::now() + free.min(longest_rest(self.id[0]))).min(self.until);
        // From then on it waits in order, which nobody else notices.
        let turn = self.began + Duration::from_micros(PATIENCE);
        if self.lock.spec.in_order() || turn <= Instant::now() { next } else { next.min(turn) }
    }

    /// As a rest, but in memory, where no hint comes, a short one.
    pub fn nap(&self, rest: Instant) -> Instant {
        if self.is_in_memory() { rest.min(Instant::now() + IN_MEMORY) } else { rest }
    }

    pub fn is_in_memory(&self) -> bool {
        self.lock.spec.session.endpoint.is_memory()
    }

    /// What takes back all that the attempt may have left, or will leave when a late question arrives; none if that is
    /// nothing.
    pub fn cleanup(&self) -> Option<Cleanup> {
        let spec = &self.lock.spec;
        let release = || spec.release(self.id, spec.tombstone());
        (self.asked || self.left).then(|| Cleanup::new(&spec.session, release()).again_until(spec.options.ttl))
    }
}

/// What an acquisition that failed so came to; nothing if it was given up.
fn failure(error: &Error) -> Option<AcquisitionResult> {
    (error.code() != Code::Closed).then_some(AcquisitionResult::Error)
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // Of one that only waited, nobody has read an answer.
        let is_over = self.is_made && !self.is_abandoned() && !self.waits();
        let over = || if self.on_wait_over().is_ok() { AcquisitionResult::Refused } else { AcquisitionResult::Error };
        if let Some(result) = self.result.or_else(|| is_over.then(over)) {
            count_acquisition(result, self.began.elapsed());
        }
        self.lock.on_grant_end(self.number);
    }
}

/// The error for whoever still waits for an attempt that its caller has abandoned.
pub(super) fn taken_back() -> Error {
    Error::new(Code::Closed, "the caller gave up the acquisition")
}
