//! The environment of the process, which scripts change with `putenv`: in a PHP with threads, under a lock of PHP's.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `tsrm_env_lock` and `tsrm_env_unlock` of TSRM.h.
static LOCK: OnceLock<Option<[extern "C" fn(); 2]>> = OnceLock::new();

/// Calls a function that reads the environment, while no other thread changes it. Rust's own lock is unknown to PHP, which
/// frees the text of a variable at the end of the request that set it. The function must not panic.
pub fn read<T>(read: impl FnOnce() -> T) -> T {
    let Some([lock, unlock]) = LOCK.get_or_init(find) else { return read() };
    lock();
    let answer = read();
    unlock();
    answer
}

/// The functions of PHP; none in one without threads.
fn find() -> Option<[extern "C" fn(); 2]> {
    let of = |name: &CStr| {
        // SAFETY: null stands for all libraries of the process, and the name is a C string.
        let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
        // SAFETY: PHP declares both as functions without parameters and answer, and stays loaded for longer than we do.
        (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, extern "C" fn()>(found) })
    };
    Some([of(c"tsrm_env_lock")?, of(c"tsrm_env_unlock")?])
}
