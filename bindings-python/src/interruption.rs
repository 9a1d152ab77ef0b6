//! Blocking calls, which a signal may end.

use pyo3::prelude::*;

use crate::call::outside;
use crate::greenlets;
use crate::password::{answer_first, answer_here};

/// Makes a call without the GIL. Signal handlers run meanwhile, and what one of them raises ends the call; and functions that
/// tell passwords. A call that `may_wait` for others lets other greenlets of this thread run, if there are some.
pub fn interruptibly<T: Send + 'static>(
    py: Python<'_>,
    may_wait: bool,
    call: impl FnOnce(&mut dyn FnMut() -> bool) -> T + Send + 'static,
) -> PyResult<T> {
    answer_first(py)?;
    if may_wait && let Some(waiter) = greenlets::waiter(py)? {
        return greenlets::run(py, &waiter, call);
    }
    let mut raised = None;
    let call = || {
        call(&mut || {
            if raised.is_none() {
                raised = Python::try_attach(|py| py.check_signals().err().or_else(|| answer_here(py))).flatten();
            }
            raised.is_some()
        })
    };
    let answer = outside(py, || py.detach(call));
    raised.map_or(Ok(answer), Err)
}
