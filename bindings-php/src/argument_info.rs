//! What the engine stores about the parameters and the return type of our functions, in each version of PHP.

use ext_php_rs::ffi::{zend_arg_info, zend_internal_arg_info, zend_type};
use ext_php_rs::types::ZendStr;

/// A parameter or a return type of an internal function. Until PHP 8.5 it is a `zend_internal_arg_info` with C strings; since
/// 8.6 it is a `zend_arg_info` with strings of the engine, like that of a function in PHP.
pub trait ArgumentInfo {
    /// The name of a parameter.
    ///
    /// # Safety
    /// It must be a parameter, not a return type, of a registered internal function of ours: the engine keeps its name.
    unsafe fn name(&self) -> &'static [u8];

    /// Its type.
    fn type_mut(&mut self) -> &mut zend_type;
}

impl ArgumentInfo for zend_internal_arg_info {
    unsafe fn name(&self) -> &'static [u8] {
        // SAFETY: the engine wants a C string here, and as of the caller.
        unsafe { std::ffi::CStr::from_ptr(self.name) }.to_bytes()
    }

    fn type_mut(&mut self) -> &mut zend_type {
        &mut self.type_
    }
}

impl ArgumentInfo for zend_arg_info {
    unsafe fn name(&self) -> &'static [u8] {
        // SAFETY: a parameter has a name, and as of the caller.
        unsafe { (*self.name.cast::<ZendStr>()).as_bytes() }
    }

    fn type_mut(&mut self) -> &mut zend_type {
        &mut self.type_
    }
}
