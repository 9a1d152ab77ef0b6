//! How late the machine wakes a sleeper, so that a busy machine is not taken for a slow library.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const NAP: Duration = Duration::from_millis(10);

/// Watches from its making until it is asked.
pub struct Stalls {
    over: Arc<AtomicBool>,
    thread: JoinHandle<(Duration, Duration)>,
}

impl Stalls {
    /// Begins to watch.
    pub fn watch() -> Stalls {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let thread = std::thread::spawn(move || {
            let (mut worst, mut lost) = (Duration::ZERO, Duration::ZERO);
            while !ends.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(NAP);
                let late = began.elapsed() - NAP;
                (worst, lost) = (worst.max(late), lost + late);
            }
            (worst, lost)
        });
        Stalls { over, thread }
    }

    /// How late a sleeper was woken at worst.
    pub fn worst(self) -> Duration {
        self.end().0
    }

    /// How late it was woken altogether: about as much of the time was other programs'.
    pub fn lost(self) -> Duration {
        self.end().1
    }

    fn end(self) -> (Duration, Duration) {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// How often something is timed before it counts as slow.
const TRIES: usize = 10;

/// Times something until it once takes at most so long, as far as the machine did not stand still: a busy machine delays some
/// of the tries, a slow library all of them. Returns what that try answered.
///
/// # Panics
/// If all of ten tries take longer.
pub fn within<T>(most: Duration, what: &str, mut timed: impl FnMut() -> T) -> T {
    let mut soonest = Duration::MAX;
    for _ in 0..TRIES {
        let (stalls, began) = (Stalls::watch(), Instant::now());
        let answer = timed();
        let took = began.elapsed();
        soonest = soonest.min(took.saturating_sub(stalls.worst()));
        if soonest <= most {
            return answer;
        }
    }
    panic!("{what}: {soonest:?} at best, not {most:?}");
}
