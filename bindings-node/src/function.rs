//! Functions of Node's own interface, for what is called for every request: what napi-rs does before and after a method
//! (finding its object, noting who borrows what) takes longer than what such a function does.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use napi::bindgen_prelude::Unknown;
use napi::{Env, sys};
use quotalock::{Code, Error};

use crate::error::{Result, thrown};

/// Makes a function. `called` is what it does when JavaScript calls it with one argument or none, in the environment that calls; null
/// is `undefined`.
pub fn function<T>(env: Env, called: T) -> Result<Unknown<'static>>
where
    T: Fn(Env, sys::napi_value) -> Result<sys::napi_value> + 'static,
{
    let (env, data, mut made) = (env.raw(), Box::into_raw(Box::new(called)).cast(), null_mut());
    // SAFETY: the environment is alive, and this is its thread. What `data` is goes with the function.
    let status = unsafe {
        match sys::napi_create_function(env, null_mut(), 0, Some(call::<T>), data, &mut made) {
            sys::Status::napi_ok => {
                sys::napi_add_finalizer(env, made, data, Some(on_gone::<T>), null_mut(), null_mut())
            }
            status => status,
        }
    };
    if status != sys::Status::napi_ok {
        return Err(thrown(Error::new(Code::Internal, "no function could be made")));
    }
    // SAFETY: it was just made.
    Ok(unsafe { Unknown::from_raw_unchecked(env, made) })
}

unsafe extern "C" fn call<T>(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value
where
    T: Fn(Env, sys::napi_value) -> Result<sys::napi_value>,
{
    let (mut count, mut argument, mut data): (_, _, *mut c_void) = (1, null_mut(), null_mut());
    // SAFETY: this is the call that `info` is of, and there is room for one argument.
    let status = unsafe { sys::napi_get_cb_info(env, info, &mut count, &mut argument, null_mut(), &mut data) };
    if status != sys::Status::napi_ok {
        return null_mut();
    }
    // SAFETY: it is the function's, which is alive.
    let called = unsafe { &*data.cast::<T>() };
    let result = catch_unwind(AssertUnwindSafe(|| called(Env::from_raw(env), argument)));
    let panicked = |_| Err(thrown(Error::new(Code::Internal, "a function of the native half panicked")));
    result.unwrap_or_else(panicked).unwrap_or_else(|error| {
        // SAFETY: the environment is alive, and nothing else of this call is done.
        unsafe { napi::JsError::from(error).throw_into(env) };
        null_mut()
    })
}

unsafe extern "C" fn on_gone<T>(_: sys::napi_env, data: *mut c_void, _: *mut c_void) {
    // SAFETY: it was the function's, which nobody has any more.
    drop(unsafe { Box::from_raw(data.cast::<T>()) });
}
