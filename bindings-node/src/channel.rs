//! The way between one JavaScript environment (the main thread or a worker) and the core, as JavaScript holds it.
//!
//! JavaScript writes the calls of a tick into two arrays that it shares with us and flushes them with one call. It has us
//! remind it to: its own timers may be replaced by those of a test, which never fire. Answers that come later lie in a
//! mailbox; a bell wakes JavaScript once for all of them, and it collects them into a third shared array. Nothing here waits,
//! and no promise is known here: a call is a whole number below 2^53 that JavaScript gives to no second one.
//!
//! What is needed for every call are functions; the rest are methods, which take longer to call (function.rs).

use std::cell::{RefCell, RefMut};
use std::ptr::null_mut;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use napi::bindgen_prelude::{Float64Array, FromNapiValue, Function, Null, ToNapiValue, Uint8Array, Unknown};
use napi::{Env, sys};
use napi_derive::napi;
use quotalock::{Answer, Op};

use crate::answers::Mailbox;
use crate::at_once::AtOnce;
use crate::bell::{Reminders, bell};
use crate::call_array::Asked;
use crate::client::{Client, Limiter};
use crate::error::{self, failed, thrown};
use crate::function::{Called, function};
use crate::own_loop::OwnLoop;
use crate::transport::{Reminds, Transport};

/// Carries the calls of one environment.
#[napi]
pub struct Channel {
    /// Keys of calls, the limiters, and what is decided at once.
    pub(crate) decider: Rc<AtOnce>,
    /// Handles that no limiter has.
    free: Vec<u32>,
    /// Nobody has it while JavaScript runs.
    pub(crate) transport: Rc<RefCell<Transport>>,
    pub(crate) mailbox: Arc<Mailbox>,
    /// Nobody else has it.
    _alive: Rc<()>,
}

thread_local! {
    /// Of the channel of this thread, if it is there still.
    static ALIVE: RefCell<Weak<()>> = const { RefCell::new(Weak::new()) };
}

/// Whether the channel of this thread is there still. Deno frees the objects of the native half when a worker ends, and then still
/// calls back for what was collected as garbage: no object may be called then.
#[napi]
pub fn has_channel() -> bool {
    ALIVE.try_with(|alive| alive.try_borrow().is_ok_and(|alive| alive.strong_count() > 0)).unwrap_or(false)
}

#[napi]
impl Channel {
    /// Makes a channel that calls `answered` when there is something to collect, and `due` when it is time to flush. `has_loop`
    /// says that JavaScript runs on a loop of libuv, and on no other's that pretends to be one.
    #[allow(clippy::too_many_arguments, reason = "one call of ours makes it")]
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: Env,
        calls: Float64Array,
        keys: Uint8Array,
        inbox: Float64Array,
        instant: Float64Array,
        answered: Function<(), Unknown<'static>>,
        due: Function<(), Unknown<'static>>,
        has_loop: bool,
    ) -> error::Result<Channel> {
        let own = if has_loop { OwnLoop::new(env, &answered, &due) } else { None };
        let mailbox = Arc::new(Mailbox::new(bell(&answered)?));
        let decider = Rc::new(AtOnce::new(keys, instant));
        let reminds = own.map_or_else(|| Reminders::new(&due).map(Reminds::Bells), |own| Ok(Reminds::Own(own)))?;
        let transport = Rc::new(RefCell::new(Transport::new(calls, inbox, decider.clone(), mailbox.clone(), reminds)));
        if !transport.borrow().has_loop() {
            let end =
                |transport: Rc<RefCell<Transport>>| _ = transport.try_borrow_mut().map(|mut transport| transport.end());
            env.add_env_cleanup_hook(transport.clone(), end).map_err(failed)?;
        }
        let alive = Rc::new(());
        ALIVE.with(|last| last.replace(Rc::downgrade(&alive)));
        Ok(Channel { decider, free: Vec::new(), transport, mailbox, _alive: alive })
    }

    /// The function that decides what was asked.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn decider(&self, env: Env) -> error::Result<Unknown<'static>> {
        function(env, self.decider.clone())
    }

    /// The function that makes the calls that were written, as so many numbers, and collects.
    #[napi(catch_unwind, ts_return_type = "(numbers: number) => void")]
    pub fn flusher(&self, env: Env) -> error::Result<Unknown<'static>> {
        function(env, Rc::new(Flush(self.transport.clone())))
    }

    /// The function that writes answers into the inbox: where they end, 1 if there are more, and the answers.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn collector(&self, env: Env) -> error::Result<Unknown<'static>> {
        function(env, Rc::new(Collect(self.transport.clone())))
    }

    /// The function that has JavaScript called to flush, once it has done what it does now.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn reminder(&self, env: Env) -> error::Result<Unknown<'static>> {
        function(env, Rc::new(Remind(self.transport.clone())))
    }

    /// Whether calls are written on JavaScript's own loop.
    #[napi(catch_unwind)]
    pub fn has_own_loop(&self) -> bool {
        self.transport().has_loop()
    }

    /// Has a client leave when the environment ends.
    #[napi(catch_unwind)]
    pub fn keep(&mut self, client: &Client) {
        self.transport().keep_client(&client.inner);
    }

    /// Gives a limiter a handle.
    #[napi(catch_unwind)]
    pub fn add(&mut self, limiter: &Limiter) -> u32 {
        let (limiter, mut limiters) = (Some(limiter.inner.clone()), self.decider.limiters.borrow_mut());
        match self.free.pop() {
            Some(handle) => {
                limiters[handle as usize] = limiter;
                handle
            }
            None => {
                limiters.push(limiter);
                (limiters.len() - 1) as u32
            }
        }
    }

    /// Frees a handle.
    #[napi(catch_unwind)]
    pub fn remove(&mut self, handle: u32) {
        let limiter = self.decider.limiters.borrow_mut().get_mut(handle as usize).and_then(Option::take);
        if limiter.is_some() {
            self.free.push(handle);
        }
    }

    /// Takes back a call whose caller is gone. It is still answered, and soon.
    #[napi(catch_unwind)]
    pub fn cancel(&mut self, id: f64) {
        self.transport().cancel(id as u64);
    }

    /// A value of the answers just collected, which can be taken once.
    #[napi(catch_unwind, ts_return_type = "any")]
    pub fn value<'e>(&mut self, env: &'e Env, place: u32) -> error::Result<Unknown<'e>> {
        let value = self.transport().take_value(place);
        value.map_or_else(|| Null.into_unknown(env), |value| value.taken(env)).map_err(failed)
    }

    /// Takes a call that was described for the batch of this tick (described.rs).
    pub(crate) fn describe(
        &mut self,
        make: impl FnOnce(&[Option<quotalock::Limiter>]) -> quotalock::Result<Op<Answer>>,
    ) -> error::Result<()> {
        let op = make(&self.decider.limiters.borrow()).map_err(thrown)?;
        self.transport().described.push(Some(Asked::Call(op)));
        Ok(())
    }

    /// Makes a call that waits for no batch.
    pub(crate) fn submit_now(&self, env: Env, id: f64, op: Op<Answer>) {
        self.transport().submit_now(env, id as u64, op);
    }

    pub(crate) fn transport(&self) -> RefMut<'_, Transport> {
        self.transport.borrow_mut()
    }
}

struct Flush(Rc<RefCell<Transport>>);

impl Called for Flush {
    fn called(&self, env: Env, numbers: sys::napi_value) -> error::Result<sys::napi_value> {
        // SAFETY: it is the argument of the call that is made of us.
        let numbers = unsafe { u32::from_napi_value(env.raw(), numbers) }.map_err(failed)?;
        self.0.borrow_mut().flush(env, numbers as usize);
        Ok(null_mut())
    }
}

struct Collect(Rc<RefCell<Transport>>);

impl Called for Collect {
    fn called(&self, env: Env, _: sys::napi_value) -> error::Result<sys::napi_value> {
        self.0.borrow_mut().collect(env);
        Ok(null_mut())
    }
}

struct Remind(Rc<RefCell<Transport>>);

impl Called for Remind {
    fn called(&self, env: Env, _: sys::napi_value) -> error::Result<sys::napi_value> {
        self.0.borrow_mut().remind(env);
        Ok(null_mut())
    }
}
