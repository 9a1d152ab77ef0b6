//! Drivers for bindings: the same calls on a loop that the binding's language owns.
//!
//! * [`LoopLink`] for asyncio and Node: non-blocking sockets that the running loop watches; no thread at work. What only the
//!   process' thread can do (waiting for a lock, telling its loss) comes back to it by a bell that the loop watches too.
//! * [`Loading`] for all: what to do for a `get`, step by step, down to the call of its caller's function.
//! * [`submit`]: many calls go out in one batch to the process' thread, and come back to a [`Sink`] in one.

pub use wire::base::credentials::{PasswordQuestion, PasswordQuestions};
pub use wire::driver::{Change, Interest, LoopLink, Sink, cancel, cancel_all, submit};

pub use crate::cache::{LoadStep, Loading, Value};
pub use crate::limiter::may_know;
