//! How many permits a limiter takes ahead, and what a call on its way has to do with them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wire::base::fork::ForkCell;
use wire::session::Session;

use crate::client::Client;
use crate::limiter::purse::{Purses, Taking};

/// How much this process knows that may answer in place of Redis: who knows something adds one, and takes it away.
pub(crate) static KNOWN: AtomicUsize = AtomicUsize::new(0);

/// How many permits a limiter takes at once at most.
pub(super) struct Prefetch {
    /// As given; 0 if each call asks.
    pub most: u64,
    /// Whether it takes any: what is in memory has nothing to save.
    pub takes: bool,
}

impl Prefetch {
    pub fn new(most: u64, in_memory: bool) -> Prefetch {
        let takes = most > 0 && !in_memory;
        KNOWN.fetch_add(usize::from(takes), Ordering::Relaxed);
        Prefetch { most, takes }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        KNOWN.fetch_sub(usize::from(self.takes), Ordering::Relaxed);
    }
}

/// What a call about a key has to do with the permits that its process holds.
pub(super) struct PrefetchCall {
    pub session: Arc<Session>,
    purses: Arc<ForkCell<Purses>>,
    at: Mutex<PrefetchProgress>,
}

#[derive(Default)]
pub(super) struct PrefetchProgress {
    pub taking: Taking,
    /// Whether Redis has denied what it asked for beside its cost: then it asks for its cost alone.
    pub alone: bool,
    /// Whether more is given back than is known to have been consumed here.
    pub over: bool,
}

impl PrefetchCall {
    pub fn new(client: &Client) -> PrefetchCall {
        PrefetchCall { session: client.session.clone(), purses: client.purses.clone(), at: Mutex::default() }
    }

    /// The permits that its client has in this process.
    pub fn purses(&self) -> &Purses {
        self.purses.get_or_init(Purses::default)
    }

    /// As [`purses`](PrefetchCall::purses), if its client ever had any in this process.
    pub fn purses_if_made(&self) -> Option<&Purses> {
        self.purses.get()
    }

    pub fn progress(&self) -> MutexGuard<'_, PrefetchProgress> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much is asked for beside the cost.
    pub fn more(&self) -> u64 {
        self.progress().taking.more
    }
}
