//! What an answer of a cache or a `once` may be beside a value.

use napi_derive::napi;
use quotalock::Getting;

/// The duty to load an entry. Forgotten, it frees the way for the next caller.
#[napi]
pub struct Ticket {
    pub(crate) inner: quotalock::Ticket,
}

/// What another loads.
#[napi]
pub struct Wait {
    pub(crate) inner: Option<Getting>,
}
