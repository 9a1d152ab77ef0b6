//! What handles tell the process' thread, from whichever thread they are used on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attempt::Attempt;
use super::held::HeldLock;
use super::queue::LockQueue;
use super::spec::LockSpec;
use wire::call::answer::Sink;
use wire::reactor::thread;

/// Asks the process' thread to acquire; the answer, a flag, comes to `sink` under this number.
pub(super) fn acquire(mut attempt: Attempt, id: u64, sink: &Arc<dyn Sink>) {
    attempt.wait_beside_others();
    let session = attempt.lock.spec.session.clone();
    thread::request(&session, id, sink, |guests, tag| {
        if let Some(locks) = guests.of::<LockQueue>() {
            locks.acquire(attempt, tag);
        }
    });
}

/// Asks the process' thread to release; the answer, a flag, comes to `sink` under this number.
pub(super) fn release(held: Arc<HeldLock>, was_held: bool, id: u64, sink: &Arc<dyn Sink>) {
    let session = held.spec.session.clone();
    thread::request(&session, id, sink, move |guests, tag| {
        if let Some(locks) = guests.of::<LockQueue>() {
            locks.release(held, was_held, tag);
        }
    });
}

/// Asks the process' thread to renew a grant and to tell its loss.
pub(super) fn watch(held: &Arc<HeldLock>) {
    let kept = held.clone();
    // It is renewed at a third of its ttl: until then the thread need not know, and most are given back before.
    let latest = Instant::now() + Duration::from_micros(held.remaining() / 4);
    thread::notify_by(latest, &held.spec.session, move |guests| {
        if kept.is_held()
            && let Some(locks) = guests.of::<LockQueue>()
        {
            locks.watch(&kept);
        }
    });
}

/// As [`watch`], if the handle is to be renewed: a process that wants no thread of ours renews nothing.
pub(super) fn keep_if_renewed(held: &Arc<HeldLock>) {
    if held.spec.options.renew {
        watch(held);
    }
}

/// Tells those who wait in this process that something was freed.
pub(super) fn freed(spec: &Arc<LockSpec>) {
    let keys = spec.keys.clone();
    thread::notify_if_awake(&spec.session, move |guests| {
        if let Some(locks) = guests.get::<LockQueue>() {
            locks.on_freed(&keys);
        }
    });
}

/// Takes back in the background what an attempt may have left.
pub(super) fn forget(attempt: &Attempt) {
    if let Some(cleanup) = attempt.cleanup() {
        cleanup.send_in_background();
    }
}

/// Removes from the lines those whose callers are gone.
pub(super) fn look_for_abandoned(spec: &LockSpec) {
    thread::notify_if_awake(&spec.session, |guests| {
        if let Some(locks) = guests.get::<LockQueue>() {
            locks.sweep();
        }
    });
}
