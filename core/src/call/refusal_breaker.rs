//! What keeps a Redis that refuses to work for a while from costing every call its retries.
//!
//! A call that was refused until its time was nearly over (a replica that may not write, a disk that is full, a script that
//! never ends) makes the next ones answered at once. One call at a time goes through as the probe, and is not sent again when
//! it is refused: so looking is cheap, and happens often. That a script has run proves no more than it did: where writes
//! were refused, only one that wrote ends it; after one that only read all calls are probes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::error::Error;
use crate::call::breaker::Refused;

/// The time until the first probe; it doubles with each that is refused.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest time between probes, and so the longest time that a recovery goes unnoticed.
const LONGEST: Duration = Duration::from_millis(200);
/// Nothing is refused.
const WORKING: u64 = 0;
/// Writes were refused, and since then something has run that may not have written.
const DOUBTFUL: u64 = u64::MAX;

/// What a server refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Whatever writes.
    Writes,
    /// Everything.
    All,
    /// Whatever has these keys: no reason to think ill of the server.
    Keys,
}

/// The state for one server, in one process.
pub(crate) struct RefusalBreaker {
    base: Instant,
    /// [`WORKING`], [`DOUBTFUL`], or the microsecond after `base` at which the next probe may go.
    until: AtomicU64,
    only_writes: AtomicBool,
    repeats: AtomicU32,
    last: Mutex<Option<Error>>,
}

/// How a call may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// As usual.
    Usual,
    /// To look whether Redis works again.
    Probe,
    /// For what Redis can still tell by reading. If it is refused, that is no news.
    Glance,
}

impl Default for RefusalBreaker {
    fn default() -> Self {
        RefusalBreaker {
            base: Instant::now(),
            until: AtomicU64::new(WORKING),
            only_writes: AtomicBool::new(false),
            repeats: AtomicU32::new(0),
            last: Mutex::new(None),
        }
    }
}

impl RefusalBreaker {
    /// Lets a call through that may write or not, or says for how long such calls are refused. `lease` is how long a probe may
    /// take.
    pub fn admit(&self, mutates: bool, lease: Duration) -> Result<Pass, Refused> {
        let until = self.until.load(Ordering::Acquire);
        if until == WORKING || (!mutates && self.only_writes.load(Ordering::Relaxed)) {
            return Ok(Pass::Usual);
        }
        if until == DOUBTFUL {
            return Ok(Pass::Probe);
        }
        let now = self.now();
        if now >= until {
            let next = now + lease.as_micros() as u64;
            if self.until.compare_exchange(until, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Ok(Pass::Probe);
            }
        }
        let error = self.last.lock().ok().and_then(|last| last.clone());
        Err(Refused { error, retry_after: Duration::from_micros(until.saturating_sub(now)).max(SHORTEST) })
    }

    /// Whether a call is still answered if it turns out that it has nothing to write, as a denial has not.
    pub fn reads(&self) -> bool {
        self.only_writes.load(Ordering::Relaxed)
    }

    /// Whether anything is refused, as far as is known.
    pub fn is_on(&self) -> bool {
        self.until.load(Ordering::Relaxed) != WORKING
    }

    /// A call was refused, and is not sent again.
    pub fn refused(&self, scope: Scope, error: &Error) {
        if scope == Scope::Keys {
            return;
        }
        if let Ok(mut last) = self.last.lock() {
            *last = Some(error.clone());
        }
        self.only_writes.store(scope == Scope::Writes, Ordering::Relaxed);
        let repeats = self.repeats.fetch_add(1, Ordering::Relaxed);
        let pause = (SHORTEST * 2_u32.saturating_pow(repeats.min(8))).min(LONGEST);
        self.until.store(self.now() + pause.as_micros() as u64, Ordering::Release);
    }

    /// A script ran, of a call that may write or not, and wrote for certain or not.
    pub fn ran(&self, mutates: bool, wrote: bool) {
        if wrote || !self.only_writes.load(Ordering::Relaxed) {
            self.repeats.store(0, Ordering::Relaxed);
            self.until.store(WORKING, Ordering::Release);
        } else if mutates {
            self.until.store(DOUBTFUL, Ordering::Release);
        }
    }

    fn now(&self) -> u64 {
        // Never 0, which has a meaning of its own.
        self.base.elapsed().as_micros() as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Code;

    /// Longer than a machine stands still that is shared.
    const LEASE: Duration = Duration::from_secs(2);

    fn refused(scope: Scope) -> RefusalBreaker {
        let refusal_breaker = RefusalBreaker::default();
        refusal_breaker.refused(scope, &Error::new(Code::Unavailable, "full"));
        refusal_breaker
    }

    fn probe(refusal_breaker: &RefusalBreaker) {
        while let Err(refused) = refusal_breaker.admit(true, LEASE) {
            std::thread::sleep(refused.retry_after);
        }
    }

    #[test]
    fn one_probe_at_a_time_and_none_for_ever() {
        let refusal_breaker = refused(Scope::All);
        probe(&refusal_breaker);
        let refused = refusal_breaker.admit(false, LEASE).unwrap_err();
        assert_eq!(refused.error.unwrap().message(), "full");
        std::thread::sleep(LEASE);
        assert_eq!(
            refusal_breaker.admit(true, LEASE).ok(),
            Some(Pass::Probe),
            "a probe that vanished is followed by another"
        );
        refusal_breaker.ran(false, false);
        assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Usual));
    }

    #[test]
    fn a_script_that_read_does_not_show_that_writes_work() {
        let refusal_breaker = refused(Scope::Writes);
        assert_eq!(refusal_breaker.admit(false, LEASE).ok(), Some(Pass::Usual), "reads go on");
        refusal_breaker.ran(false, false);
        probe(&refusal_breaker);
        assert!(refusal_breaker.admit(true, LEASE).is_err(), "a read that went well is no news");
        refusal_breaker.ran(true, false);
        assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Probe));
        assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Probe), "nobody waits for another's proof");
        refusal_breaker.ran(true, true);
        assert_eq!(refusal_breaker.admit(true, LEASE).ok(), Some(Pass::Usual));
    }

    #[test]
    fn the_pause_grows_to_a_bound() {
        let refusal_breaker = refused(Scope::Writes);
        for _ in 0..40 {
            refusal_breaker.refused(Scope::Writes, &Error::new(Code::Unavailable, "full"));
        }
        let pause = refusal_breaker.admit(true, LEASE).unwrap_err().retry_after;
        assert!(pause > LONGEST / 2 && pause <= LONGEST, "{pause:?}");
    }
}
