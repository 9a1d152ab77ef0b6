//! The function by which JavaScript has something decided without a call (src/desk.rs).

use napi::Env;
use napi::bindgen_prelude::Unknown;
use napi_derive::napi;

use crate::channel::Channel;
use crate::error::Result;
use crate::function::function;

#[napi]
impl Channel {
    /// The function that decides what was asked.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn decider(&self, env: Env) -> Result<Unknown<'static>> {
        function(env, self.desk.clone())
    }
}
