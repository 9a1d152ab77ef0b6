//! The functions of libuv that Node exports, looked up when they are needed: where there are none, the package loads all the
//! same.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// A handle of libuv.
pub type Handle = *mut c_void;
/// A loop of libuv.
pub type Loop = *mut c_void;
/// What libuv calls for a handle.
pub type OnHandle = extern "C" fn(Handle);
/// What libuv calls for a descriptor.
pub type OnPoll = extern "C" fn(Handle, c_int, c_int);

/// The kinds of handles that are used here, as libuv numbers them: idle, poll, prepare, timer.
const KINDS: [c_int; 4] = [6, 8, 9, 13];

/// Wait until there is something to read.
pub const READABLE: c_int = 1;
/// Wait until there is room to write.
pub const WRITABLE: c_int = 2;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal: $type:ty;)+) => {
        /// The functions.
        pub struct Uv {
            $($(#[$doc])* pub $name: $type,)+
        }

        impl Uv {
            fn find() -> Option<Uv> {
                Some(Uv {
                    // SAFETY: libuv's functions of these names have had these types since version 1.19, and only their
                    // additions change.
                    $($name: unsafe { std::mem::transmute::<*mut c_void, $type>(symbol($symbol)?) },)+
                })
            }
        }
    };
}

functions! {
    /// The type of a handle says how large it is.
    handle_size = c"uv_handle_size": unsafe extern "C" fn(c_int) -> usize;
    /// What its owner keeps in a handle.
    get_data = c"uv_handle_get_data": unsafe extern "C" fn(Handle) -> *mut c_void;
    /// Keeps something in a handle.
    set_data = c"uv_handle_set_data": unsafe extern "C" fn(Handle, *mut c_void);
    /// Lets the loop end though the handle is active.
    unref = c"uv_unref": unsafe extern "C" fn(Handle);
    /// Ends a handle; its memory is the loop's until the callback.
    close = c"uv_close": unsafe extern "C" fn(Handle, Option<OnHandle>);
    /// Makes a handle that is called before the loop waits.
    prepare_init = c"uv_prepare_init": unsafe extern "C" fn(Loop, Handle) -> c_int;
    /// Starts calling it.
    prepare_start = c"uv_prepare_start": unsafe extern "C" fn(Handle, OnHandle) -> c_int;
    /// Stops calling it.
    prepare_stop = c"uv_prepare_stop": unsafe extern "C" fn(Handle) -> c_int;
    /// Makes a handle that keeps the loop from waiting.
    idle_init = c"uv_idle_init": unsafe extern "C" fn(Loop, Handle) -> c_int;
    /// Lets it do so.
    idle_start = c"uv_idle_start": unsafe extern "C" fn(Handle, OnHandle) -> c_int;
    /// Keeps it from doing so.
    idle_stop = c"uv_idle_stop": unsafe extern "C" fn(Handle) -> c_int;
    /// Makes a handle of a descriptor.
    poll_init = c"uv_poll_init": unsafe extern "C" fn(Loop, Handle, c_int) -> c_int;
    /// Calls it when the descriptor is ready.
    poll_start = c"uv_poll_start": unsafe extern "C" fn(Handle, c_int, OnPoll) -> c_int;
    /// Makes a timer.
    timer_init = c"uv_timer_init": unsafe extern "C" fn(Loop, Handle) -> c_int;
    /// Sets it.
    timer_start = c"uv_timer_start": unsafe extern "C" fn(Handle, OnHandle, u64, u64) -> c_int;
    /// The version of libuv.
    version = c"uv_version": unsafe extern "C" fn() -> c_uint;
}

impl Uv {
    /// Room for a handle of any of the kinds.
    pub fn room(&self) -> Handle {
        Box::into_raw(vec![0_u64; self.words()].into_boxed_slice()).cast()
    }

    /// Frees a handle.
    ///
    /// # Safety
    /// It was made by [`room`](Uv::room), and libuv does not know it, or has closed it.
    pub unsafe fn free(&self, handle: Handle) {
        let words = std::ptr::slice_from_raw_parts_mut(handle.cast::<u64>(), self.words());
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(words) });
    }

    fn words(&self) -> usize {
        // SAFETY: it only tells a number.
        let size = |kind: &c_int| unsafe { (self.handle_size)(*kind) };
        KINDS.iter().map(size).max().unwrap_or_default().div_ceil(size_of::<u64>())
    }
}

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const std::ffi::c_char) -> *mut c_void;
}

/// What is found wherever the process finds symbols.
#[cfg(target_os = "macos")]
const EVERYWHERE: *mut c_void = -2_isize as *mut c_void;
/// What is found wherever the process finds symbols.
#[cfg(not(target_os = "macos"))]
const EVERYWHERE: *mut c_void = std::ptr::null_mut();

fn symbol(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero; the address that is found stays valid, since the program itself exports it.
    let found = unsafe { dlsym(EVERYWHERE, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Those of this process; none if it has no libuv of version 1.
pub fn uv() -> Option<&'static Uv> {
    static FOUND: OnceLock<Option<Uv>> = OnceLock::new();
    let found = FOUND.get_or_init(Uv::find).as_ref();
    // SAFETY: it only tells a number.
    found.filter(|uv| unsafe { (uv.version)() } >> 16 == 1)
}
