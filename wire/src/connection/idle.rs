//! The subscriptions that threads keep for those who wait next.

use std::sync::Mutex;

use super::subscription::Subscription;

/// Idle subscriptions kept beyond this number are closed.
const KEPT: usize = 8;
/// One that listens in more slots is not kept either.
const MOST_SLOTS: usize = 64;

/// The idle subscriptions of one client in one process.
#[derive(Default)]
pub(crate) struct IdleSubscriptions {
    idle: Mutex<Vec<Subscription>>,
}

impl IdleSubscriptions {
    /// One that still hears, and suits.
    pub(crate) fn take(&self, suits: impl Fn(&Subscription) -> bool) -> Option<Subscription> {
        let mut idle = self.idle.lock().ok()?;
        while let Some(at) = idle.iter().rposition(&suits) {
            let mut subscription = idle.remove(at);
            // Hints for earlier waiters are of no use.
            if subscription.listen(&mut Vec::new()).is_ok() && suits(&subscription) {
                return Some(subscription);
            }
        }
        None
    }

    /// Keeps one for the next who waits.
    pub(crate) fn give_back(&self, subscription: Subscription) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < KEPT
            && subscription.width() <= MOST_SLOTS
        {
            idle.push(subscription);
        }
    }

    /// Closes those that are idle.
    pub(crate) fn close(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }
}
