//! What keeps a Redis that is dead, or refuses to work for a while, from costing every call its timeout or its retries.
//!
//! A connection that cannot be made opens the [`Breaker`] for a time in proportion to what the attempt cost. While it is
//! open, calls are answered at once; when the time is over one call goes through as the probe. Nothing here can get
//! stuck: the probe holds its turn by a lease, so one that vanishes is followed by another.
//!
//! A call that was refused until its time was nearly over (a replica that may not write, a disk that is full, a script that
//! never ends) makes the next ones answered at once by the [`RefusalBreaker`]. One call at a time goes through as the probe, and
//! is not sent again when it is refused: so looking is cheap, and happens often. That a script has run proves no more than it did:
//! where writes were refused, only one that wrote ends it; after one that only read all calls are probes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::error::Error;
use crate::metrics::BreakerGauge;

/// The shortest time between probes: a refused connection costs microseconds, so looking often is cheap.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest time between probes, and so the longest time that a recovery goes unnoticed.
const LONGEST: Duration = Duration::from_secs(1);
/// The time until the first probe after a refusal; it doubles with each that is refused.
const SHORTEST_REFUSAL: Duration = Duration::from_millis(10);
/// The longest time between probes after refusals.
const LONGEST_REFUSAL: Duration = Duration::from_millis(200);

/// Why a call was not let through.
pub(crate) struct NotSent {
    pub(crate) error: Option<Error>,
    pub(crate) retry_after: Duration,
}

/// Until when calls are refused, and why; then one at a time goes through as the probe.
struct Probes {
    base: Instant,
    /// 0: nothing is refused; else the microsecond after `base` at which the next probe may go.
    pub(crate) until: AtomicU64,
    last: Mutex<Option<Error>>,
    gauge: BreakerGauge,
}

impl Default for Probes {
    fn default() -> Self {
        Probes::with_gauge(BreakerGauge::default())
    }
}

impl Probes {
    /// What is refused shows there.
    pub(crate) fn with_gauge(gauge: BreakerGauge) -> Probes {
        Probes { base: Instant::now(), until: AtomicU64::new(0), last: Mutex::new(None), gauge }
    }

    /// The microsecond after `base`; never 0, which has a meaning of its own.
    pub(crate) fn now(&self) -> u64 {
        self.base.elapsed().as_micros() as u64 + 1
    }

    /// Lets a call through as the probe, or says for how long calls are refused. `until` is what was just read; `lease` is how
    /// long a probe may take.
    pub(crate) fn admit(&self, until: u64, lease: Duration, shortest: Duration) -> Result<(), NotSent> {
        let now = self.now();
        if now >= until {
            let next = now + lease.as_micros() as u64;
            if self.until.compare_exchange(until, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                self.gauge.refuse(lease);
                return Ok(());
            }
        }
        let error = self.last.lock().ok().and_then(|last| last.clone());
        Err(NotSent { error, retry_after: Duration::from_micros(until.saturating_sub(now)).max(shortest) })
    }

    /// Refuses calls for a while.
    pub(crate) fn refuse(&self, error: &Error, pause: Duration) {
        if let Ok(mut last) = self.last.lock() {
            *last = Some(error.clone());
        }
        if self.until.swap(self.now() + pause.as_micros() as u64, Ordering::AcqRel) == 0 {
            self.gauge.opened();
        }
        self.gauge.refuse(pause);
    }

    /// Refuses no call any more; `until` says what that means.
    pub(crate) fn end(&self, until: u64) {
        self.until.store(until, Ordering::Release);
        self.gauge.admit();
    }
}

/// Whether one server can be reached, as far as is known in one process.
#[derive(Default)]
pub(crate) struct Breaker {
    probes: Probes,
    /// The time of the last reply, whichever connection brought it.
    answered: AtomicU64,
}

impl Breaker {
    /// A breaker whose state shows there.
    pub(crate) fn with_gauge(gauge: BreakerGauge) -> Breaker {
        Breaker { probes: Probes::with_gauge(gauge), answered: AtomicU64::new(0) }
    }

    /// Lets a call through, or says for how long calls are refused. `lease` is how long a probe may take.
    pub(crate) fn admit(&self, lease: Duration) -> Result<(), NotSent> {
        match self.probes.until.load(Ordering::Acquire) {
            0 => Ok(()),
            until => self.probes.admit(until, lease, SHORTEST),
        }
    }

    /// Whether the last attempt to make a connection failed.
    pub(crate) fn is_open(&self) -> bool {
        self.probes.until.load(Ordering::Relaxed) != 0
    }

    /// Whether the server has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed) != 0
    }

    /// The server answered.
    pub(crate) fn success(&self) {
        self.answered.store(self.probes.now(), Ordering::Relaxed);
        if self.probes.until.load(Ordering::Relaxed) != 0 {
            self.probes.end(0);
        }
    }

    /// No connection could be made, which took `cost` until now. Of no account if another one was answered meanwhile.
    pub(crate) fn failure(&self, cost: Duration, error: &Error) {
        self.failure_within(cost, LONGEST, error);
    }

    /// The same, with probes no longer apart than this.
    pub(crate) fn failure_within(&self, cost: Duration, longest: Duration, error: &Error) {
        let began = self.probes.now().saturating_sub(cost.as_micros() as u64);
        if began > 0 && self.answered.load(Ordering::Relaxed) > began {
            return;
        }
        self.probes.refuse(error, (cost * 2).clamp(SHORTEST, longest));
    }
}

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

/// Whether one server does what it is asked, as far as is known in one process.
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
        self.probes.admit(until, lease, SHORTEST_REFUSAL).map(|()| Pass::Probe)
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
        let pause = (SHORTEST_REFUSAL * 2_u32.saturating_pow(repeats.min(8))).min(LONGEST_REFUSAL);
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
mod tests;
