//! What keeps a dead Redis from costing every call its timeout.
//!
//! A connection that cannot be made opens the breaker for a time in proportion to what the attempt cost. While it is
//! open, calls are answered at once; when the time is over one call goes through as the probe. Nothing here can get
//! stuck: the probe holds its turn by a lease, so one that vanishes is followed by another.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::error::Error;
use crate::metrics::BreakerGauge;

/// The shortest time between probes: a refused connection costs microseconds, so looking often is cheap.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest time between probes, and so the longest time that a recovery goes unnoticed.
const LONGEST: Duration = Duration::from_secs(1);

/// Why a call was not let through.
pub(crate) struct NotSent {
    pub(crate) error: Option<Error>,
    pub(crate) retry_after: Duration,
}

/// Until when calls are refused, and why; then one at a time goes through as the probe.
pub(super) struct Probes {
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

/// The state for one server, in one process.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Code;

    fn down() -> Error {
        Error::new(Code::Unavailable, "down")
    }

    #[test]
    fn one_probe_at_a_time_and_none_for_ever() {
        let breaker = Breaker::default();
        // Longer than a machine stands still that is shared.
        let lease = Duration::from_millis(2_000);
        assert!(breaker.admit(lease).is_ok());
        breaker.failure(Duration::from_millis(400), &down());
        let refused = breaker.admit(lease).unwrap_err();
        assert_eq!(refused.error.unwrap().message(), "down");
        std::thread::sleep(refused.retry_after);
        assert!(breaker.admit(lease).is_ok(), "the probe");
        assert!(breaker.admit(lease).is_err(), "one at a time");
        std::thread::sleep(lease);
        assert!(breaker.admit(lease).is_ok(), "a probe that vanished is followed by another");
        breaker.success();
        assert!(breaker.admit(lease).is_ok() && breaker.admit(lease).is_ok());
    }

    #[test]
    fn a_server_that_answers_another_connection_is_not_down() {
        let breaker = Breaker::default();
        let (dialed, longer) = (Duration::from_millis(1_900), Duration::from_millis(2_000));
        std::thread::sleep(longer);
        breaker.success();
        breaker.failure(dialed, &down());
        assert!(breaker.admit(Duration::ZERO).is_ok(), "answered while the other was dialed");
        std::thread::sleep(longer);
        breaker.failure(dialed, &down());
        assert!(breaker.admit(Duration::ZERO).is_err(), "answered before that");
    }

    #[test]
    fn the_pause_is_in_proportion_to_the_cost() {
        let pause = |cost| {
            let breaker = Breaker::default();
            breaker.failure(cost, &down());
            breaker.admit(Duration::ZERO).err().map(|refused| refused.retry_after)
        };
        // So short that it may be over.
        assert!(pause(Duration::ZERO).is_none_or(|shortest| shortest <= SHORTEST));
        let middle = pause(Duration::from_millis(400)).unwrap();
        assert!(middle > SHORTEST && middle <= Duration::from_millis(800));
        assert!(pause(Duration::from_secs(60)).unwrap() <= LONGEST);
    }

    #[test]
    fn it_is_open_from_a_failure_to_the_next_success() {
        let breaker = Breaker::default();
        let state = || (breaker.is_open(), breaker.has_answered());
        assert_eq!(state(), (false, false));
        breaker.failure(Duration::ZERO, &down());
        assert_eq!(state(), (true, false));
        breaker.success();
        assert_eq!(state(), (false, true));
    }

    #[test]
    fn the_pause_is_twice_the_cost() {
        let breaker = Breaker::default();
        breaker.failure(LONGEST / 2, &down());
        let pause = breaker.admit(Duration::ZERO).unwrap_err().retry_after;
        // Some of it has passed.
        assert!(pause > LONGEST / 4 && pause <= LONGEST, "{pause:?}");
    }
}
