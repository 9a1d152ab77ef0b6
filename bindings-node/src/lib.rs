//! The native half of the Node package: it turns batches of calls into operations of the core, and answers into numbers.
//!
//! JavaScript never waits here. `channel` says how calls and answers cross.

#![cfg_attr(test, allow(dead_code, reason = "what JavaScript calls is registered outside of tests only"))]

mod address;
mod answers;
mod at_once;
mod bell;
mod cache;
mod call_array;
mod channel;
mod client;
mod described;
mod entries;
mod error;
mod function;
mod handles;
mod loading;
mod lock;
#[rustfmt::skip]
mod lock_makers;
mod locks;
mod look;
mod metrics;
mod own_loop;
mod password;
mod stock;
mod testing;
mod uv;
