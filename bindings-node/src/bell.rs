//! What has JavaScript called from outside of it. Its own timers will not do: tests replace them, before this package is
//! loaded or after, by some that never fire.

use napi::Status;
use napi::bindgen_prelude::{Function, Unknown};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};

use crate::error::{Result, failed};

/// Calls JavaScript. It holds the environment open only if it is told to.
pub type Bell = ThreadsafeFunction<(), Unknown<'static>, (), Status, false, true>;

/// Makes a bell that calls `rung`.
pub fn bell(rung: &Function<(), Unknown<'static>>) -> Result<Bell> {
    rung.build_threadsafe_function::<()>().weak::<true>().build().map_err(failed)
}

/// They remind JavaScript to flush, by turns: what a bell calls may ring that bell again, and is then called again before
/// anybody else has his turn. Calls that are answered at once would do so without end.
pub struct Reminders {
    bells: [Bell; 2],
    due: bool,
}

impl Reminders {
    /// Makes reminders that call `due`.
    pub fn new(due: &Function<(), Unknown<'static>>) -> Result<Reminders> {
        Ok(Reminders { bells: [bell(due)?, bell(due)?], due: false })
    }

    /// Reminds, once JavaScript has done what it does now; tells whether nothing was due yet.
    pub fn ring(&mut self) -> bool {
        self.bells.swap(0, 1);
        self.bells[0].call((), ThreadsafeFunctionCallMode::NonBlocking);
        !std::mem::replace(&mut self.due, true)
    }

    /// What was due is done; tells whether anything was.
    pub fn done(&mut self) -> bool {
        std::mem::take(&mut self.due)
    }
}
