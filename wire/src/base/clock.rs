//! Time: the server's decides, the process' own measures waits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Being ahead by no more than this is taken for the jitter of replies.
const JITTER: i64 = 50_000;

/// What one connection knows of its server's clock, from the time in each reply.
#[derive(Clone, Copy, Debug)]
pub struct ServerClock {
    base: Instant,
    /// Server microseconds at `base`.
    micros: i64,
}

impl ServerClock {
    /// A clock that read `micros` on the server just before `at`, when the reply was read here.
    pub fn new(micros: i64, at: Instant) -> Self {
        ServerClock { base: at, micros }
    }

    /// Learns from one more reply. The estimate is not ahead of the server but after a step of its clock: the next reply
    /// repairs a large one, some replies one of up to 50 ms.
    pub(crate) fn learn(&mut self, micros: i64, at: Instant) {
        // A peer that talks nonsense must not make the arithmetic overflow.
        if !(0..1 << 53).contains(&micros) {
            return;
        }
        let ahead = micros - self.at(at);
        if (-JITTER..=0).contains(&ahead) {
            // Jitter, or a small step back of the server's clock: the estimate sinks towards the replies.
            self.micros += ahead / 16;
        } else {
            *self = ServerClock::new(micros, at);
        }
    }

    /// Server microseconds at the local moment `at`.
    pub(crate) fn at(&self, at: Instant) -> i64 {
        match at.checked_duration_since(self.base) {
            Some(later) => self.micros + later.as_micros() as i64,
            None => self.micros - self.base.duration_since(at).as_micros() as i64,
        }
    }
}

/// Cuts a time at the latest that can be; whether it was later.
pub fn clamp(time: &mut u64, latest: u64) -> bool {
    let later = *time > latest;
    *time = latest.min(*time);
    later
}

/// The time that tests put in place of every clock; 0 is none.
#[derive(Debug, Default)]
pub struct TestTime(AtomicU64);

impl TestTime {
    /// Sets it, in microseconds since the epoch; none: the server's clock counts again.
    pub fn set(&self, micros: Option<u64>) {
        self.0.store(micros.unwrap_or(0), Ordering::Relaxed);
    }

    /// The time that was set, if one is.
    pub fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|micros| *micros > 0)
    }
}

/// The wall clock in microseconds since the epoch: the clock of `memory://`, where this process is the server.
pub(crate) fn wall_micros() -> u64 {
    micros_of(libc::CLOCK_REALTIME)
}

/// Microseconds of the clock that also runs while the machine sleeps, where there is one.
pub fn boot_micros() -> u64 {
    #[cfg(target_os = "linux")]
    const CLOCK: libc::clockid_t = libc::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC;
    micros_of(CLOCK)
}

fn micros_of(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the struct is valid and alive during the call; the clocks that are asked for always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    // Before 1970 it is that moment.
    u64::try_from(time.tv_sec).map_or(0, |seconds| seconds * 1_000_000 + time.tv_nsec as u64 / 1_000)
}

/// Microseconds as a [`Duration`], rounded up to whole milliseconds so that a sleep is never too short.
pub(crate) fn sleep_for(micros: u64) -> Duration {
    Duration::from_millis(micros.div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn the_estimate_is_never_ahead_and_follows_a_step() {
        let base = Instant::now();
        let later = |ms| base + Duration::from_millis(ms);
        let mut clock = ServerClock::new(1_000_000, base);
        assert_eq!(clock.at(later(10)), 1_010_000);
        clock.learn(1_015_000, later(10));
        assert_eq!(clock.at(later(10)), 1_015_000, "a quicker reply tells more");
        clock.learn(1_020_000, later(20));
        assert_eq!(clock.at(later(20)), 1_025_000 - 5_000 / 16, "a slower one tells less");
        for ms in 21..120 {
            clock.learn(1_000_000 + 1_000 * ms as i64, later(ms));
        }
        assert!(clock.at(later(120)) - 1_120_000 < 200, "a small step back is followed");
        clock.learn(500_000, later(30));
        assert_eq!(clock.at(later(30)), 500_000, "the server's clock went back");
    }

    #[test]
    fn a_moment_before_the_last_reply_is_earlier_on_the_server() {
        let base = Instant::now() + Duration::from_secs(1);
        let clock = ServerClock::new(1_000_000, base);
        assert_eq!(clock.at(base - Duration::from_millis(10)), 990_000);
    }

    #[test]
    fn a_time_is_cut_at_the_latest() {
        for time in [9, 10, 11] {
            let mut cut = time;
            assert_eq!((clamp(&mut cut, 10), cut), (time > 10, time.min(10)));
        }
    }

    #[test]
    fn the_wall_clock_counts_microseconds_since_1970() {
        let micros = || UNIX_EPOCH.elapsed().unwrap().as_micros() as u64;
        let (before, wall, after) = (micros(), wall_micros(), micros());
        assert!((before..=after).contains(&wall), "{before} {wall} {after}");
    }

    #[test]
    fn a_time_of_tests_counts_until_it_is_unset() {
        let time = TestTime::default();
        let times = [Some(7), None].map(|micros| {
            time.set(micros);
            time.get()
        });
        assert_eq!(times, [Some(7), None]);
    }

    #[test]
    fn the_clock_of_the_machine_goes_on() {
        let before = boot_micros();
        std::thread::sleep(Duration::from_millis(2));
        assert!((2_000..60_000_000).contains(&(boot_micros() - before)));
    }
}
