//! One search for servers at a time, and who waits for its end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::connection::deadline::SLICE;
use crate::connection::wire::Broken;

/// Called from another thread when a search has ended.
pub(crate) type Bell = Arc<dyn Fn() + Send + Sync>;

/// The search of one client, in one process.
#[derive(Default)]
pub(crate) struct Discovery {
    state: Mutex<DiscoveryState>,
    over: Condvar,
    /// How many searches have ended.
    ended: AtomicU64,
}

#[derive(Default)]
struct DiscoveryState {
    busy: bool,
    bells: Vec<Bell>,
}

/// Somebody's search; dropped, it is over, and those who waited for it look at what came of it.
pub(crate) struct DiscoveryGuard<'a>(&'a Discovery);

impl Drop for DiscoveryGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy = false;
        let bells = std::mem::take(&mut state.bells);
        self.0.ended.fetch_add(1, Ordering::Release);
        drop(state);
        self.0.over.notify_all();
        bells.iter().for_each(|ring| ring());
    }
}

impl Discovery {
    fn lock(&self) -> MutexGuard<'_, DiscoveryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many searches have ended.
    pub(crate) fn searches_ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }

    /// Begins a search; none if one is under way.
    pub(crate) fn begin(&self) -> Option<DiscoveryGuard<'_>> {
        let was_busy = std::mem::replace(&mut self.lock().busy, true);
        (!was_busy).then(|| DiscoveryGuard(self))
    }

    /// As [`begin`](Discovery::begin), for another thread, which [adopts](Discovery::adopt_search) it; rings when it is over, or the
    /// one that is under way.
    pub(crate) fn begin_elsewhere(&self, bell: Option<Bell>) -> bool {
        let mut state = self.lock();
        state.bells.extend(bell);
        !std::mem::replace(&mut state.busy, true)
    }

    /// The search that was begun elsewhere, for this thread.
    pub(crate) fn adopt_search(&self) -> DiscoveryGuard<'_> {
        DiscoveryGuard(self)
    }

    /// Waits for the end of the search that is under way.
    pub(crate) fn wait(&self, deadline: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<(), Broken> {
        let before = self.searches_ended();
        let mut state = self.lock();
        while state.busy && self.searches_ended() == before {
            let left = deadline.saturating_duration_since(Instant::now());
            state = self.over.wait_timeout(state, left.min(SLICE)).unwrap_or_else(PoisonError::into_inner).0;
            if state.busy && self.searches_ended() == before {
                // A signal's handler may be slow, or make a call of its own.
                drop(state);
                if interrupted() {
                    return Err(Broken::Interrupted);
                }
                if Instant::now() >= deadline {
                    return Err(Broken::TimedOut);
                }
                state = self.lock();
            }
        }
        Ok(())
    }
}

/// After what is known of the servers gets doubtful, the time in which a process looks again: each at a moment of its own, so
/// that hundreds don't ask at once. Meanwhile calls find their servers by redirections.
const SPREAD: Duration = Duration::from_secs(8);
/// The least time between two looks of a process.
const GAP: Duration = Duration::from_secs(1);

/// When to look again.
pub struct Pace {
    base: Instant,
    /// 0 if there is no reason to, else the microsecond after `base`.
    due: AtomicU64,
    /// Not before this microsecond.
    earliest: AtomicU64,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { base: Instant::now(), due: AtomicU64::new(0), earliest: AtomicU64::new(0) }
    }
}

impl Pace {
    /// There is a reason to look again. `luck` chooses the moment, out of 255.
    pub fn want(&self, now: Instant, luck: impl FnOnce() -> u8) {
        if self.due.load(Ordering::Relaxed) != 0 {
            return;
        }
        let pause = SPREAD.mul_f64(f64::from(luck()) / 255.0).as_micros() as u64;
        let due = (self.micros(now) + pause).max(self.earliest.load(Ordering::Relaxed));
        // Who was first has chosen.
        let _ = self.due.compare_exchange(0, due, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it is time.
    pub fn is_due(&self, now: impl FnOnce() -> Instant) -> bool {
        let due = self.due.load(Ordering::Relaxed);
        due != 0 && self.micros(now()) >= due
    }

    /// A look has ended.
    pub fn looked(&self, now: Instant) {
        self.earliest.store(self.micros(now) + GAP.as_micros() as u64, Ordering::Relaxed);
        self.due.store(0, Ordering::Relaxed);
    }

    fn micros(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.base).as_micros() as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_searches_and_the_others_wait_for_its_end() {
        let discovery = Arc::new(Discovery::default());
        let search = discovery.begin().unwrap();
        assert!(discovery.begin().is_none());
        let rung = Arc::new(AtomicU64::new(0));
        let bell: Bell = Arc::new({
            let rung = rung.clone();
            move || _ = rung.fetch_add(1, Ordering::SeqCst)
        });
        assert!(!discovery.begin_elsewhere(Some(bell)));
        let late = discovery.wait(Instant::now() + Duration::from_millis(5), &mut || false);
        assert!(matches!(late, Err(Broken::TimedOut)));
        let stopped = discovery.wait(Instant::now() + Duration::from_secs(20), &mut || true);
        assert!(matches!(stopped, Err(Broken::Interrupted)));
        let waiting = std::thread::spawn({
            let discovery = discovery.clone();
            move || discovery.wait(Instant::now() + Duration::from_secs(20), &mut || false).is_ok()
        });
        drop(search);
        assert!(waiting.join().unwrap());
        assert_eq!((rung.load(Ordering::SeqCst), discovery.searches_ended()), (1, 1));
        assert!(discovery.begin_elsewhere(None) && discovery.begin().is_none());
        drop(discovery.adopt_search());
        assert!(discovery.begin().is_some());
    }

    #[test]
    fn a_doubt_has_a_process_look_once_at_a_moment_of_its_own() {
        let (pace, start) = (Pace::default(), Instant::now());
        let is_due = |after| pace.is_due(|| start + after);
        assert!(!is_due(SPREAD));
        pace.want(start, || 255);
        assert!(!is_due(SPREAD - GAP) && is_due(SPREAD + GAP), "the last of all");
        pace.want(start, || 0);
        assert!(!is_due(SPREAD - GAP), "the moment is chosen once");
        pace.looked(start + SPREAD);
        pace.want(start + SPREAD, || 0);
        assert!(!is_due(SPREAD + GAP / 2) && is_due(SPREAD + GAP * 2), "not at once after the last look");
        let first = Pace::default();
        first.want(Instant::now(), || 0);
        assert!(first.is_due(Instant::now));
    }

    #[test]
    fn a_fleet_asks_evenly_for_eight_seconds() {
        let fleet: Vec<Pace> = (0..=255).map(|_| Pace::default()).collect();
        // Later than the beginning of each, however long the machine stood still meanwhile.
        let start = Instant::now();
        for (pace, luck) in fleet.iter().zip(0..=255) {
            pace.want(start, || luck);
        }
        let due = |after| fleet.iter().filter(|pace| pace.is_due(|| start + after)).count();
        for second in 0..SPREAD.as_secs() as u32 {
            let asked = due(GAP * (second + 1)) - due(GAP * second);
            assert!((31..=33).contains(&asked), "{asked} of 256 in second {second}");
        }
    }
}
