//! The native half of the Node package: it turns batches of calls into operations of the core, and answers into numbers.
//!
//! JavaScript never waits here. [`channel`] says how calls and answers cross.

mod answers;
mod call;
mod channel;
mod client;
mod error;
mod testing;
