//! How late the machine wakes a sleeper, so that a busy machine is not taken for a slow library.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const NAP: Duration = Duration::from_millis(10);

/// Watches from its making until it is asked.
pub struct Stalls {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Stalls {
    /// Begins to watch.
    pub fn watch() -> Stalls {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let thread = std::thread::spawn(move || {
            let mut worst = Duration::ZERO;
            while !ends.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(NAP);
                worst = worst.max(began.elapsed() - NAP);
            }
            worst
        });
        Stalls { over, thread }
    }

    /// How late a sleeper was woken at worst.
    pub fn worst(self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}
