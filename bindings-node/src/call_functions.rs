//! The functions by which JavaScript crosses to us for every call. The others are methods, which take longer to call (function.rs).

use std::cell::RefCell;
use std::ptr::null_mut;
use std::rc::Rc;

use napi::bindgen_prelude::{FromNapiValue, Unknown};
use napi::{Env, sys};
use napi_derive::napi;

use crate::channel::Channel;
use crate::error::{Result, failed};
use crate::function::{Called, function};
use crate::transport::Transport;

#[napi]
impl Channel {
    /// The function that decides what was asked.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn decider(&self, env: Env) -> Result<Unknown<'static>> {
        function(env, self.decider.clone())
    }

    /// The function that makes the calls that were written, as so many numbers, and collects.
    #[napi(catch_unwind, ts_return_type = "(numbers: number) => void")]
    pub fn flusher(&self, env: Env) -> Result<Unknown<'static>> {
        function(env, Rc::new(Flush(self.transport.clone())))
    }

    /// The function that writes answers into the inbox: where they end, 1 if there are more, and the answers.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn collector(&self, env: Env) -> Result<Unknown<'static>> {
        function(env, Rc::new(Collect(self.transport.clone())))
    }

    /// The function that has JavaScript called to flush, once it has done what it does now.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn reminder(&self, env: Env) -> Result<Unknown<'static>> {
        function(env, Rc::new(Remind(self.transport.clone())))
    }
}

struct Flush(Rc<RefCell<Transport>>);

impl Called for Flush {
    fn called(&self, env: Env, numbers: sys::napi_value) -> Result<sys::napi_value> {
        // SAFETY: it is the argument of the call that is made of us.
        let numbers = unsafe { u32::from_napi_value(env.raw(), numbers) }.map_err(failed)?;
        self.0.borrow_mut().flush(env, numbers as usize);
        Ok(null_mut())
    }
}

struct Collect(Rc<RefCell<Transport>>);

impl Called for Collect {
    fn called(&self, env: Env, _: sys::napi_value) -> Result<sys::napi_value> {
        self.0.borrow_mut().collect(env);
        Ok(null_mut())
    }
}

struct Remind(Rc<RefCell<Transport>>);

impl Called for Remind {
    fn called(&self, env: Env, _: sys::napi_value) -> Result<sys::napi_value> {
        self.0.borrow_mut().remind(env);
        Ok(null_mut())
    }
}
