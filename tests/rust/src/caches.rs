//! What the tests of caches share.

use std::time::Duration;

use quotalock::{Cache, Got, Op, Result, Seen, Ticket};

use crate::futures::block_on;

/// How a value is got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// On the caller's thread alone.
    Here,
    /// On the caller's thread, while the process' thread waits for it.
    AmongThreads,
    /// As a future.
    Awaited,
}

/// All of them.
pub const WAYS: [Way; 3] = [Way::Here, Way::AmongThreads, Way::Awaited];

/// Gets a value, or the lease to load it.
///
/// # Errors
/// Those of [`Cache::get`].
///
/// # Panics
/// If the key cannot be one.
pub fn get(way: Way, cache: &Cache, key: &[u8], wait: Duration) -> Result<Got> {
    run(way, cache.get(key, wait).unwrap())
}

/// As [`get`], of what was described.
///
/// # Errors
/// Those of [`Cache::get`].
pub fn run(way: Way, getting: Op<Got>) -> Result<Got> {
    match way {
        Way::Here => getting.run(),
        Way::AmongThreads => getting.run_among_threads(&mut || false),
        Way::Awaited => block_on(getting),
    }
}

/// The lease to load.
///
/// # Panics
/// If there is none.
pub fn ticket(got: Result<Got>) -> Ticket {
    match got {
        Ok(Got::Load(ticket)) => ticket,
        other => panic!("no ticket but {other:?}"),
    }
}

/// What was found.
///
/// # Panics
/// If that is no value.
pub fn found(got: Result<Got>) -> Seen {
    match got {
        Ok(Got::Found(seen)) => seen,
        other => panic!("no value but {other:?}"),
    }
}

/// The text of a value.
///
/// # Panics
/// If it is none.
pub fn text(seen: &Seen) -> Option<&str> {
    seen.value.as_ref().map(|value| std::str::from_utf8(value).unwrap())
}

/// Stores what was loaded: whether it is stored.
///
/// # Panics
/// If Redis cannot be asked.
pub fn fill(ticket: &Ticket, value: &str) -> bool {
    ticket.fill(Some(value.into())).unwrap().run().unwrap()
}
