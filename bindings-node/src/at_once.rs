//! Decisions that this process makes without a call: JavaScript writes what it asks into a small array, and reads the answer
//! there.
//!
//! | number | JavaScript writes | we write |
//! |---|---|---|
//! | 0 | | 1 if this process may know an answer in place of Redis: then it is worth asking |
//! | 1 | the handle of the limiter | from here on: the decision (answers/mod.rs) |
//! | 2 | the cost | |
//! | 3 | the length of its key, which begins the keys | |
//! | 4 | 1 if a denial is an error | |

use napi_derive::napi;
use quotalock::{Decision, driver};

use crate::channel::Channel;
use crate::given::unsigned;

#[napi]
impl Channel {
    /// Decides what was asked, and tells where the decision ends; 0 if it was not decided, or is an error: then it is to be
    /// asked with the next batch, which says so.
    #[napi(catch_unwind)]
    pub fn decide(&mut self) -> u32 {
        self.decided.numbers.clear();
        let Some(decision) = self.decision_at_once() else { return 0 };
        if self.decided.decision(&decision).is_err() {
            return 0;
        }
        // SAFETY: JavaScript reads the array only after this call, on this thread, and never transfers its memory.
        let written = unsafe { self.instant.as_mut() }.get_mut(1..=self.decided.numbers.len());
        written.map_or(0, |written| {
            written.copy_from_slice(&self.decided.numbers);
            written.len() as u32 + 1
        })
    }

    fn decision_at_once(&self) -> Option<Decision> {
        let &[_, handle, cost, length, requires, ..] = &*self.instant else { return None };
        let limiter = self.limiters.get(handle as usize)?.as_ref()?;
        let (key, cost) = (self.keys.get(..length as usize)?, unsigned("cost", cost).ok()?);
        let decided = match requires == 1.0 {
            true => limiter.require_at_once(key, cost),
            false => limiter.consume_at_once(key, cost),
        };
        decided?.ok()
    }

    /// Tells JavaScript whether it is worth asking.
    pub(crate) fn tell_whether_known(&mut self) {
        // SAFETY: as above.
        if let Some(known) = unsafe { self.instant.as_mut() }.first_mut() {
            *known = f64::from(u8::from(driver::may_know()));
        }
    }
}
