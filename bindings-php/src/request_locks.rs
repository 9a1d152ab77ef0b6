//! The locks that this request holds. None outlives it: what is still held at its end, or by an object that nobody has
//! any more, is released then.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use quotalock::{Lock, Op};

use crate::call;
use crate::registry::{Handle, Handles};

/// What releasing may cost in all when nobody asked for it. Where it is not enough, the lock ends with its ttl.
const PATIENCE: Duration = Duration::from_millis(100);

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
    // Of the thread, as the clients. A forked child inherits the list, but what its parent holds is not held there.
    static HELD: RefCell<BTreeMap<u64, (Lock, Handles)>> = const { RefCell::new(BTreeMap::new()) };
}

/// A number for a new lock object.
pub fn number() -> u64 {
    NEXT.replace(NEXT.get() + 1)
}

/// Releases the lock at the end of the request, unless it is forgotten before.
pub fn keep(number: u64, lock: &Lock, handles: &Handles) {
    HELD.with_borrow_mut(|held| held.insert(number, (lock.clone(), handles.clone())));
}

/// Its owner releases it.
pub fn forget(number: u64) {
    HELD.with_borrow_mut(|held| held.remove(&number));
}

/// Releases a lock of which nobody will know any more.
pub fn give_back(lock: &Lock) {
    release(std::iter::once(lock.release()));
}

/// Releases what is held through a client that is about to close.
pub fn give_back_of(handle: &Rc<Handle>) {
    let is_its = |(_, of): &(Lock, Handles)| of.iter().any(|of| Rc::ptr_eq(of, handle));
    let (its, others) = HELD.take().into_iter().partition(|(_, held)| is_its(held));
    HELD.set(others);
    give_back_all_of(&its, Lock::forfeit);
}

/// Releases what is held, for the end of the request.
pub fn give_back_all() {
    give_back_all_of(&HELD.take(), Lock::release);
}

fn give_back_all_of(held: &BTreeMap<u64, (Lock, Handles)>, how: fn(&Lock) -> Op<bool>) {
    // What was made last was made within the others.
    release(held.values().rev().map(|(lock, _)| how(lock)));
}

fn release(releases: impl Iterator<Item = Op<bool>>) {
    let end = Instant::now() + PATIENCE;
    for releasing in releases {
        // There is nobody to tell an error; what is only described counts as released here, and ends with its ttl.
        if Instant::now() < end {
            let _ = call::until(end, |asked| releasing.run_interruptibly(asked));
        }
    }
}
