//! What keeps a Redis that refuses to work for a while from costing every call its retries.
//!
//! A call that was refused until its time was nearly over (a replica that may not write, a disk that is full, a script that
//! never ends) makes the next ones answered at once. One call at a time goes through as the probe, and is not sent again when
//! it is refused: so looking is cheap, and happens often. That a script has run proves no more than it did: where writes
//! were refused, only one that wrote ends it; after one that only read all calls are probes.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::base::error::Error;
use crate::call::breaker::{NotSent, Probes};
use crate::metrics::BreakerGauge;

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
#[derive(Default)]
pub(crate) struct RefusalBreaker {
    /// Until [`WORKING`], [`DOUBTFUL`], or when the next probe may go.
    probes: Probes,
    only_writes: AtomicBool,
    repeats: AtomicU32,
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

impl RefusalBreaker {
    /// A breaker whose state shows there.
    pub(crate) fn with_gauge(gauge: BreakerGauge) -> RefusalBreaker {
        RefusalBreaker { probes: Probes::with_gauge(gauge), ..RefusalBreaker::default() }
    }

    /// Lets a call through that may write or not, or says for how long such calls are refused. `lease` is how long a probe may
    /// take.
    pub(crate) fn admit(&self, mutates: bool, lease: Duration) -> Result<Pass, NotSent> {
        let until = self.probes.until.load(Ordering::Acquire);
        if until == WORKING || (!mutates && self.only_writes.load(Ordering::Relaxed)) {
            return Ok(Pass::Usual);
        }
        if until == DOUBTFUL {
            return Ok(Pass::Probe);
        }
        self.probes.admit(until, lease, SHORTEST).map(|()| Pass::Probe)
    }

    /// Whether a call is still answered if it turns out that it has nothing to write, as a denial has not.
    pub(crate) fn reads(&self) -> bool {
        self.only_writes.load(Ordering::Relaxed)
    }

    /// Whether anything is refused, as far as is known.
    pub(crate) fn is_on(&self) -> bool {
        self.probes.until.load(Ordering::Relaxed) != WORKING
    }

    /// A call was refused, and is not sent again.
    pub(crate) fn refused(&self, scope: Scope, error: &Error) {
        if scope == Scope::Keys {
            return;
        }
        self.only_writes.store(scope == Scope::Writes, Ordering::Relaxed);
        let repeats = self.repeats.fetch_add(1, Ordering::Relaxed);
        let pause = (SHORTEST * 2_u32.saturating_pow(repeats.min(8))).min(LONGEST);
        self.probes.refuse(error, pause);
    }

    /// A script ran, of a call that may write or not, and wrote for certain or not.
    pub(crate) fn ran(&self, mutates: bool, wrote: bool) {
        if wrote || !self.only_writes.load(Ordering::Relaxed) {
            self.repeats.store(0, Ordering::Relaxed);
            self.probes.end(WORKING);
        } else if mutates {
            self.probes.end(DOUBTFUL);
        }
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

    #[test]
    fn it_is_on_until_a_script_has_run() {
        let refusal_breaker = RefusalBreaker::default();
        assert!(!refusal_breaker.is_on());
        refusal_breaker.refused(Scope::Keys, &Error::new(Code::Unavailable, "a slot"));
        assert!(!refusal_breaker.is_on(), "a slot says nothing about the server");
        refusal_breaker.refused(Scope::All, &Error::new(Code::Unavailable, "full"));
        assert!(refusal_breaker.is_on());
        refusal_breaker.ran(true, true);
        assert!(!refusal_breaker.is_on());
    }
}
