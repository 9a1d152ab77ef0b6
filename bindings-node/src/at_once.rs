//! Decisions that this process makes without a call: JavaScript writes what it asks into a small array, calls a function that
//! takes nothing, and reads the answer there.
//!
//! | number | JavaScript writes | we write |
//! |---|---|---|
//! | 0 | | 1 if this process may know an answer in place of Redis: then it is worth asking |
//! | 1 | the handle of the limiter | where the decision ends |
//! | 2 | the cost | from here on: the decision (answers/mod.rs) |
//! | 3 | the length of its key, which begins the keys | |
//! | 4 | 1 if a denial is an error | |
//!
//! The function is one of Node's own interface: what a method of a class does before and after (finding its object, noting who
//! borrows it) takes longer than the decision.

use std::cell::{RefCell, UnsafeCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::rc::Rc;

use napi::bindgen_prelude::{Float64Array, Uint8Array, Unknown};
use napi::{Env, sys};
use napi_derive::napi;
use quotalock::{Code, Decision, Error, driver};

use crate::answers::Answers;
use crate::channel::Channel;
use crate::error::{Result, thrown};
use crate::given::unsigned;

/// Where the decision begins.
const DECISION: usize = 2;

/// What the channel and its function have in common.
pub struct Desk {
    /// Written by JavaScript: the keys of calls.
    pub keys: Uint8Array,
    /// Written by both.
    instant: UnsafeCell<Float64Array>,
    /// By handle; free places are none.
    pub limiters: RefCell<Vec<Option<quotalock::Limiter>>>,
    decided: RefCell<Answers>,
}

impl Desk {
    pub fn new(keys: Uint8Array, instant: Float64Array) -> Desk {
        Desk { keys, instant: UnsafeCell::new(instant), limiters: RefCell::default(), decided: RefCell::default() }
    }

    /// Does something with the numbers.
    fn with<T>(&self, how: impl FnOnce(&mut [f64]) -> T) -> T {
        // SAFETY: JavaScript waits for us meanwhile, on this thread, and never transfers the memory. What is done with them
        // calls neither JavaScript nor this function again.
        how(unsafe { (*self.instant.get()).as_mut() })
    }

    /// Decides what was asked, and writes where the decision ends; 0 if it was not decided, or is an error: then it is to be
    /// asked with the next batch, which says so.
    fn decide(&self) {
        let asked = self.with(|numbers| {
            let &mut [_, handle, cost, length, requires, ..] = numbers else { return None };
            numbers[1] = 0.0;
            Some((handle as usize, cost, length as usize, requires == 1.0))
        });
        let Some(decision) = asked.and_then(|asked| self.decision(asked)) else { return };
        let Ok(mut decided) = self.decided.try_borrow_mut() else { return };
        decided.numbers.clear();
        if decided.decision(&decision).is_err() {
            return;
        }
        let end = DECISION + decided.numbers.len();
        self.with(|numbers| {
            if let Some(place) = numbers.get_mut(DECISION..end) {
                place.copy_from_slice(&decided.numbers);
                numbers[1] = end as f64;
            }
        });
    }

    fn decision(&self, (handle, cost, length, requires): (usize, f64, usize, bool)) -> Option<Decision> {
        let limiters = self.limiters.try_borrow().ok()?;
        let limiter = limiters.get(handle)?.as_ref()?;
        let (key, cost) = (self.keys.get(..length)?, unsigned("cost", cost).ok()?);
        let decided = if requires { limiter.require_at_once(key, cost) } else { limiter.consume_at_once(key, cost) };
        decided?.ok()
    }

    /// Tells JavaScript whether it is worth asking.
    pub fn tell_whether_known(&self) {
        let known = f64::from(u8::from(driver::may_know()));
        self.with(|numbers| numbers.iter_mut().take(1).for_each(|number| *number = known));
    }
}

#[napi]
impl Channel {
    /// The function that decides what was asked.
    #[napi(catch_unwind, ts_return_type = "() => void")]
    pub fn decider(&self, env: Env) -> Result<Unknown<'static>> {
        let (env, desk, mut function) = (env.raw(), Rc::into_raw(self.desk.clone()).cast_mut().cast(), null_mut());
        // SAFETY: the environment is alive, and this is its thread. The desk has a count that goes with the function.
        let status = unsafe {
            match sys::napi_create_function(env, null_mut(), 0, Some(decide), desk, &mut function) {
                sys::Status::napi_ok => {
                    sys::napi_add_finalizer(env, function, desk, Some(on_gone), null_mut(), null_mut())
                }
                status => status,
            }
        };
        if status != sys::Status::napi_ok {
            return Err(thrown(Error::new(Code::Internal, "no function could be made")));
        }
        // SAFETY: it was just made.
        Ok(unsafe { Unknown::from_raw_unchecked(env, function) })
    }
}

unsafe extern "C" fn decide(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut desk: *mut c_void = null_mut();
    // SAFETY: this is the call that `info` is of; its arguments are not asked for.
    let status = unsafe { sys::napi_get_cb_info(env, info, null_mut(), null_mut(), null_mut(), &mut desk) };
    if status == sys::Status::napi_ok {
        // SAFETY: the function has a count of the desk's, and is alive.
        let desk = unsafe { &*desk.cast::<Desk>() };
        // What panicked was not decided: the next batch says why.
        let _ = catch_unwind(AssertUnwindSafe(|| desk.decide()));
    }
    null_mut()
}

unsafe extern "C" fn on_gone(_: sys::napi_env, desk: *mut c_void, _: *mut c_void) {
    // SAFETY: this count was the function's, which nobody has any more.
    drop(unsafe { Rc::from_raw(desk.cast::<Desk>()) });
}
