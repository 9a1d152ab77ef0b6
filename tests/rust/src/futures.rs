//! Futures, polled without an executor.

use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Wakes this thread.
pub fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

/// Polls a future to its end on this thread.
///
/// # Panics
/// If it has no end within half a minute.
pub fn block_on<T>(asked: impl IntoFuture<Output = T>) -> T {
    let waker = waker();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(asked.into_future());
    let give_up = Instant::now() + Duration::from_secs(30);
    loop {
        if let Poll::Ready(ready) = future.as_mut().poll(&mut context) {
            return ready;
        }
        assert!(Instant::now() < give_up, "a future hangs");
        std::thread::park_timeout(Duration::from_millis(100));
    }
}
