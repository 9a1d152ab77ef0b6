//! Decisions that this process makes without a call: JavaScript writes what it asks into a small array, calls a function that
//! takes nothing, and reads the answer there.
//!
//! | number | JavaScript writes | we write |
//! |---|---|---|
//! | 0 | | 1 if this process may know an answer in place of Redis: then it is worth asking; and 2 if there is a warning |
//! | 1 | the handle of the limiter | where the decision ends |
//! | 2 | the cost | from here on: the decision (answers/mod.rs) |
//! | 3 | the length of its key, which begins the keys | |
//! | 4 | 1 if a denial is an error | |

use std::cell::{RefCell, UnsafeCell};

use napi::bindgen_prelude::{Float64Array, Uint8Array};
use quotalock::{Decision, convert, driver};

use crate::answers::{WIDTH, of_rule, of_whole};

/// Where the decision begins.
const DECISION: usize = 2;

/// What the channel and its function have in common.
pub struct AtOnce {
    /// Written by JavaScript: the keys of calls.
    pub keys: Uint8Array,
    /// Written by both.
    instant: UnsafeCell<Float64Array>,
    /// By handle; free places are none.
    pub limiters: RefCell<Vec<Option<quotalock::Limiter>>>,
}

impl AtOnce {
    pub fn new(keys: Uint8Array, instant: Float64Array) -> AtOnce {
        AtOnce { keys, instant: UnsafeCell::new(instant), limiters: RefCell::default() }
    }

    /// Does something with the numbers.
    fn with<T>(&self, how: impl FnOnce(&mut [f64]) -> T) -> T {
        // SAFETY: JavaScript waits for us meanwhile, on this thread, and never transfers the memory. What is done with them
        // calls neither JavaScript nor this function again.
        how(unsafe { (*self.instant.get()).as_mut() })
    }

    /// Decides what was asked, and writes where the decision ends; 0 if it was not decided, or is an error: then it is to be
    /// asked with the next batch, which says so.
    pub fn decide(&self) {
        let asked = self.with(|numbers| {
            let &mut [_, handle, cost, length, requires, ..] = numbers else { return None };
            numbers[1] = 0.0;
            Some((handle as usize, cost, length as usize, requires == 1.0))
        });
        let Some(Some(end)) = asked.and_then(|asked| self.written(asked)) else { return };
        self.with(|numbers| numbers[1] = end as f64);
        if quotalock::has_limiter_warning() {
            self.tell_whether_known();
        }
    }

    /// Decides, and writes the decision where JavaScript reads it; tells where it ends.
    fn written(&self, (handle, cost, length, requires): (usize, f64, usize, bool)) -> Option<Option<usize>> {
        let limiters = self.limiters.try_borrow().ok()?;
        let limiter = limiters.get(handle)?.as_ref()?;
        let (key, cost) = (self.keys.get(..length)?, convert::unsigned_float("cost", cost).ok()?);
        limiter.decide_at_once(key, cost, requires, |decision| self.with(|numbers| write(numbers, decision)))
    }

    /// Tells JavaScript whether it is worth asking, and whether there is a warning.
    pub fn tell_whether_known(&self) {
        let known = f64::from(u8::from(driver::may_know()) + 2 * u8::from(quotalock::has_limiter_warning()));
        self.with(|numbers| numbers.iter_mut().take(1).for_each(|number| *number = known));
    }
}

/// Writes a decision where JavaScript reads it, and tells where it ends; none if it has no numbers.
fn write(numbers: &mut [f64], decision: &Decision) -> Option<usize> {
    let (whole, rules) = numbers.get_mut(DECISION..)?.as_chunks_mut::<WIDTH>().0.split_first_mut()?;
    *whole = of_whole(decision).ok()?;
    for (place, rule) in rules.get_mut(..decision.rules.len())?.iter_mut().zip(&decision.rules) {
        *place = of_rule(rule).ok()?;
    }
    Some(DECISION + WIDTH * (1 + decision.rules.len()))
}
