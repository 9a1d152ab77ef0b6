//! Locks: a handle for a mutex, a semaphore's permits, one side of a read-write lock, or several mutexes at once.

mod acquisition;
mod attempt;
mod handover;
mod held;
pub(crate) mod lease_table;
mod ops;
mod options;
mod passed;
mod queue;
mod quorum;
mod renewals;
mod spec;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::client::Client;
use crate::limiter::policy::MAX_PERIOD;
use crate::lock::lease_table::{ALL_PERMITS, Inspect, Inspection};
use wire::base::error::{Code, Error, Result};
use wire::base::fork::ForkCell;
use wire::call::answer::Answer;
use wire::op::Op;

use acquisition::{Acquisition, HandleRelease};
use attempt::Attempt;
pub(crate) use held::HeldLock;
pub use held::{LockState, LossListener};
use ops::{ExtendCall, ForceReleaseCall};
pub use options::{
    DEFAULT_LOCK_TTL, DEFAULT_MAX_HOLD, LockOptions, MAX_ACK_TIMEOUT, MAX_LABEL_BYTES, MAX_LOCK_NAMES, MAX_LOCK_TTL,
    MAX_PERMITS, MIN_LOCK_TTL,
};
use options::{check_floor, check_ttl};
pub(crate) use quorum::{release as release_everywhere, scripts};
use spec::LockKind;
pub(crate) use spec::LockSpec;

/// A handle for a lock: a lease that ends by itself. Cheap to clone; clones are the same handle. Made by [`Client::lock`]
/// and its neighbours.
///
/// A handle is acquired by one caller at a time and can be acquired again after its release. It is not re-entrant. A forked
/// child does not hold what its parent holds. Dropped while it is held, it is released in the background.
#[derive(Clone)]
pub struct Lock {
    inner: Arc<Inner>,
}

/// What clones of a handle share.
pub(crate) struct Inner {
    pub spec: Arc<LockSpec>,
    handle: ForkCell<Mutex<Handle>>,
}

/// What a handle knows of itself in one process.
#[derive(Default)]
struct Handle {
    held: Option<Arc<HeldLock>>,
    /// The number of the attempt under way; 0 is none.
    attempt: u64,
    /// How many attempts there were.
    attempts: u64,
    /// The largest fencing token seen.
    floor: u64,
    /// How long the last attempt could wait, and why it was refused.
    refusal: (Duration, String),
}

impl Client {
    /// Makes a handle for a mutex. Does no I/O.
    ///
    /// # Errors
    /// `invalid_argument` for an empty name, one over 1 KiB, or options out of bounds.
    pub fn lock(&self, name: &[u8], options: LockOptions) -> Result<Lock> {
        Lock::new(self, LockKind::Mutex, &[name], (1, 1), options)
    }

    /// Makes a handle for several mutexes that are granted all or none, in one call: no order of names can deadlock.
    ///
    /// # Errors
    /// As [`lock`](Client::lock); for no name, more than [`MAX_LOCK_NAMES`], or one named twice. In a cluster the names must
    /// lie in one slot, else acquiring fails with `cross_slot`.
    pub fn lock_all(&self, names: &[&[u8]], options: LockOptions) -> Result<Lock> {
        Lock::new(self, LockKind::Mutex, names, (1, 1), options)
    }

    /// Makes a handle for `weight` of a semaphore's `permits` (1 to [`MAX_PERMITS`]; at most 1,024 holders at once).
    ///
    /// # Errors
    /// As [`lock`](Client::lock); for a weight of 0 or above the permits.
    pub fn semaphore(&self, name: &[u8], permits: u64, weight: u64, options: LockOptions) -> Result<Lock> {
        Lock::new(self, LockKind::Semaphore, &[name], (permits, weight), options)
    }

    /// Makes a handle for the reading side of a read-write lock: up to 1,024 readers at once, none beside a writer or after
    /// one that waits.
    ///
    /// # Errors
    /// As [`lock`](Client::lock).
    pub fn read_lock(&self, name: &[u8], options: LockOptions) -> Result<Lock> {
        Lock::new(self, LockKind::Read, &[name], (ALL_PERMITS, 1), options)
    }

    /// Makes a handle for the writing side of a read-write lock: alone.
    ///
    /// # Errors
    /// As [`lock`](Client::lock).
    pub fn write_lock(&self, name: &[u8], options: LockOptions) -> Result<Lock> {
        Lock::new(self, LockKind::Write, &[name], (ALL_PERMITS, ALL_PERMITS), options)
    }
}

impl Lock {
    /// Makes a handle for a mutex over several independent servers, one for each client: it is held if most of them granted
    /// it within its ttl. For an odd number of servers that share no fate; those who wait ask again now and then.
    ///
    /// # Errors
    /// As [`Client::lock`]; for fewer than three clients or more than 15, a server that is there twice, `fair` or `replicas_ack`.
    pub fn quorum(clients: &[Client], name: &[u8], options: LockOptions) -> Result<Lock> {
        LockSpec::quorum(clients, name, &options).map(Lock::of)
    }

    fn new(
        client: &Client,
        kind: LockKind,
        names: &[&[u8]],
        of_permits: (u64, u64),
        options: LockOptions,
    ) -> Result<Lock> {
        LockSpec::new(client, kind, names, of_permits, options).map(Lock::of)
    }

    fn of(spec: LockSpec) -> Lock {
        Lock { inner: Arc::new(Inner { spec: Arc::new(spec), handle: ForkCell::new() }) }
    }

    /// Describes an acquisition that waits for at most `wait`; nothing is asked until it is run, awaited or submitted. Its
    /// answer is whether the lock was granted; [`not_acquired`](Lock::not_acquired) says why not.
    ///
    /// # Errors
    /// `invalid_argument` if this handle holds the lock, or another attempt of it is under way. The acquisition itself fails
    /// with `unavailable`, `timeout`, `not_permitted`, `wrong_type` or `closed`, and then has left nothing behind.
    pub fn acquire(&self, wait: Duration) -> Result<Op<bool>> {
        Ok(Op::machine(Box::new(Acquisition::new(self.attempt(wait)?))))
    }

    fn attempt(&self, wait: Duration) -> Result<Attempt> {
        Attempt::new(self.inner.clone(), wait.min(Duration::from_micros(MAX_PERIOD)))
    }

    /// Ends an acquisition that was submitted or awaited and whose caller was cancelled: nothing of it stays behind, also if the
    /// lock was granted meanwhile, which is then released in the background.
    pub fn abandon(&self) {
        self.inner.abandon();
    }

    /// Describes the release: true if it was held until now. Renewal stops at once. Releasing what is not held, or was lost, is
    /// false.
    pub fn release(&self) -> Op<bool> {
        Op::machine(Box::new(HandleRelease::new(self.inner.handle().held.take())))
    }

    /// For a binding whose object goes away: releases in the background what it holds, and returns what to warn its user of. None if
    /// it holds nothing, or does not renew: then the lease is meant to end by itself.
    pub fn let_go(&self) -> Option<String> {
        // Asked with nothing locked: who listens for a loss is told here, and may ask the handle.
        let held = self.held_now().filter(|held| held.spec.options.renew && held.is_held())?;
        self.inner.handle().held = None;
        acquisition::give_back(held);
        Some(self.unkept())
    }

    /// Describes a release that the holder did not ask for, such as by the close of a client: the holder is notified of the loss
    /// at once.
    pub fn forfeit(&self) -> Op<bool> {
        Op::machine(Box::new(HandleRelease::forfeiting(self.held_now())))
    }

    /// Extends the lease to at least `ttl` microseconds (none: the lock's own) from now: false if it was lost. It only ever
    /// lengthens.
    ///
    /// # Errors
    /// `invalid_argument` for a ttl out of bounds.
    pub fn extend(&self, ttl: Option<u64>) -> Result<Op<bool>> {
        let ttl = ttl.unwrap_or(self.inner.spec.options.ttl);
        check_ttl(ttl)?;
        let call = ExtendCall::new(self.held_now(), ttl);
        Ok(match self.inner.spec.is_quorum() {
            false => Op::new(&self.inner.spec.session, Box::new(call), None),
            true => Op::task(move || call.everywhere().map(Answer::new)),
        })
    }

    /// What the handle knows, without asking Redis.
    pub fn state(&self) -> LockState {
        self.held_now().map_or(LockState::Released, |held| held.state())
    }

    /// Whether it is held for certain now.
    pub fn is_held(&self) -> bool {
        self.held_now().is_some_and(|held| held.is_held())
    }

    /// An error unless it is held for certain now.
    ///
    /// # Errors
    /// `lost`.
    pub fn assert_held(&self) -> Result<()> {
        let lost = |why: &str| {
            let what = format!("{} {why}", self.inner.spec.shown);
            Err(Error::new(Code::Lost, format!("{what}: stop or undo the work, another may hold it")))
        };
        match self.state() {
            LockState::Held | LockState::Uncertain => Ok(()),
            LockState::Lost => lost("was lost"),
            LockState::Released => lost("is not held"),
        }
    }

    /// For how many microseconds it is held for certain; 0 if it is not.
    pub fn remaining(&self) -> u64 {
        self.held_now().map_or(0, |held| held.remaining())
    }

    /// The fencing token of the grant, larger than that of every grant of the name before; none if it was never acquired, or
    /// is released. It stays after a loss.
    pub fn token(&self) -> Option<u64> {
        self.held_now().map(|held| held.token)
    }

    /// Makes every later token larger than `floor`: for a resource that has seen a larger token than the lock gave.
    ///
    /// # Errors
    /// `invalid_argument` for a floor above 2^52.
    pub fn raise_floor(&self, floor: u64) -> Result<()> {
        check_floor("floor", floor)?;
        let mut handle = self.inner.handle();
        handle.floor = handle.floor.max(floor);
        Ok(())
    }

    /// Calls `listener` once when the present grant is lost: at once if it is; never if it is released before, or not
    /// held.
    pub fn on_loss(&self, listener: LossListener) {
        if let Some(held) = self.held_now() {
            held.on_loss(listener);
            // Whoever acquired it on a thread alone, not to be renewed, has nobody who would notice.
            if held.is_held() {
                queue::watch(&held);
            }
        }
    }

    /// Whether the present grant is lost; true once for each grant. For a binding that tells a loss to a listener of its own, on
    /// the caller's thread.
    pub fn take_loss(&self) -> bool {
        self.held_now().is_some_and(|held| held.state() == LockState::Lost && held.take_loss())
    }

    /// The error for an acquisition that was not granted: it says who holds the lock.
    pub fn not_acquired(&self) -> Error {
        let (wait, why) = self.inner.handle().refusal.clone();
        self.inner.spec.not_acquired(wait, &why)
    }

    /// Who holds the lock (of several names or servers, the first), and how many wait for it.
    pub fn inspect(&self) -> Op<Inspection> {
        let spec = &self.inner.spec;
        Op::new(&spec.session, Box::new(Inspect { keys: spec.keys[..1].into(), shown: spec.shown.clone() }), None)
    }

    /// Takes the lock away from all holders, and returns how many there were. For operators: the holders learn of it as a loss
    /// when they next renew or extend.
    pub fn force_release(&self) -> Op<u64> {
        let spec = &self.inner.spec;
        if spec.is_quorum() {
            let spec = spec.clone();
            return Op::task(move || quorum::force_release(&spec).map(Answer::new));
        }
        Op::new(&spec.session, Box::new(ForceReleaseCall { spec: spec.clone(), release: spec.force_release() }), None)
    }

    /// What to warn the user of a binding of, whose object went as soon as it held the lock.
    pub fn unkept(&self) -> String {
        let what = &self.inner.spec.shown;
        format!("{what} was released because nothing keeps its handle: keep it in a variable until you release it")
    }

    /// The names, as they were given.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.inner.spec.names
    }

    /// The Redis keys, one for each name.
    pub fn redis_keys(&self) -> &[Vec<u8>] {
        &self.inner.spec.keys
    }

    /// The ttl in microseconds.
    pub fn ttl(&self) -> u64 {
        self.inner.spec.options.ttl
    }

    fn held_now(&self) -> Option<Arc<HeldLock>> {
        self.inner.handle().held.clone()
    }
}

impl Inner {
    fn handle(&self) -> MutexGuard<'_, Handle> {
        self.handle.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An attempt begins.
    fn begin(&self, wait: Duration) -> Result<u64> {
        let mut handle = self.handle();
        if handle.held.as_ref().is_some_and(|held| held.is_held()) {
            let what = &self.spec.shown;
            return Err(Error::invalid(format!(
                "{what} is already held by this handle: release it first, or use another handle"
            )));
        }
        if handle.attempt != 0 {
            let what = &self.spec.shown;
            return Err(Error::invalid(format!("{what} is already being acquired by this handle: use another handle")));
        }
        handle.attempts += 1;
        handle.attempt = handle.attempts;
        handle.refusal = (wait, "no answer came".to_owned());
        Ok(handle.attempt)
    }

    fn on_grant_end(&self, number: u64) {
        let mut handle = self.handle();
        if handle.attempt == number {
            handle.attempt = 0;
        }
    }

    fn is_current(&self, number: u64) -> bool {
        self.handle().attempt == number
    }

    /// Ends the attempt under way, if there is one, whatever its driver does; gives back what it has got.
    fn abandon(&self) {
        let mut handle = self.handle();
        let (attempt, held) = (std::mem::take(&mut handle.attempt), handle.held.take());
        drop(handle);
        if attempt != 0 {
            queue::look_for_abandoned(&self.spec);
        }
        if let Some(held) = held {
            acquisition::give_back(held);
        }
    }

    /// As [`abandon`](Inner::abandon), if no other attempt has begun since the one of this number.
    fn abandon_attempt(&self, number: u64) {
        if self.handle().attempts == number {
            self.abandon();
        }
    }

    fn floor(&self) -> u64 {
        self.handle().floor.max(self.spec.options.token_above)
    }

    /// Takes a grant for the attempt of this number; false if that was abandoned, or its client closed.
    fn granted(&self, held: &Arc<HeldLock>, number: u64) -> bool {
        // In this order: either this sees the close, or the close sees the grant.
        let holding: Weak<HeldLock> = Arc::downgrade(held);
        self.spec.clients().for_each(|client| client.engine().holdings.add(holding.clone()));
        let is_open = !self.spec.clients().any(|client| client.is_closed());
        let mut handle = self.handle();
        handle.floor = handle.floor.max(held.token);
        let is_wanted = handle.attempt == number && is_open;
        if is_wanted {
            handle.held = Some(held.clone());
        }
        is_wanted
    }

    fn refused(&self, why: String) {
        self.handle().refusal.1 = why;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A process without our thread (PHP) gives back by itself what it holds.
        if self.spec.options.renew
            && let Some(handle) = self.handle.get()
            && let Some(held) = handle.lock().unwrap_or_else(PoisonError::into_inner).held.take()
        {
            acquisition::give_back(held);
        }
    }
}
