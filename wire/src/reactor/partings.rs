//! Who is told that a client was closed, or is gone: the process' thread, and loops that carry calls of many clients.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::thread;
use crate::base::fork::ForkCell;

/// Who carries calls of clients that others close.
pub(crate) trait Carrier: Send + Sync {
    /// Hangs up for the client whose engine has this number. Called on any thread; must not block.
    fn hang_up(&self, client: u64);
}

type Carriers = Mutex<Vec<Weak<dyn Carrier>>>;

static CARRIERS: ForkCell<Carriers> = ForkCell::new();

/// Tells a carrier of every client that ends from now on, for as long as it lives.
pub(crate) fn tell(carrier: Arc<dyn Carrier>) {
    let mut carriers = CARRIERS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    carriers.retain(|carrier| carrier.strong_count() > 0);
    carriers.push(Arc::downgrade(&carrier));
}

/// Hangs up for the client whose engine has this number; its calls under way end with `closed`.
pub fn hang_up(client: u64) {
    thread::hang_up(client);
    let Some(carriers) = CARRIERS.get() else { return };
    let alive: Vec<_> = {
        let carriers = carriers.lock().unwrap_or_else(PoisonError::into_inner);
        carriers.iter().filter_map(Weak::upgrade).collect()
    };
    alive.iter().for_each(|carrier| carrier.hang_up(client));
}
