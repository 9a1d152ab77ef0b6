//! The interface of a class: its methods without what they do, so that a test can have a double of it.

use ext_php_rs::builders::ClassBuilder;
use ext_php_rs::class::RegisteredClass;
use ext_php_rs::error::{Error, Result};
use ext_php_rs::ffi::{
    _ZEND_TYPE_NAME_BIT, ext_php_rs_compiler_globals, zend_class_entry, zend_function, zend_hash_str_find_ptr_lc,
    zend_string,
};
use ext_php_rs::flags::{ClassFlags, MethodFlags};
use ext_php_rs::types::ZendStr;

use crate::argument_info::ArgumentInfo;
use crate::property;

/// The classes that have one. What they make for each other is of the interface there too.
const OF: [&str; 7] = ["Client", "Limiter", "Reservation", "Lock", "Stock", "Once", "Cache"];

/// Registers the interface of the class of `T`; null if it has none.
pub fn register<T: RegisteredClass>() -> Result<*mut zend_class_entry> {
    if !OF.iter().any(|of| T::CLASS_NAME.strip_prefix("Quotalock\\") == Some(of)) {
        return Ok(std::ptr::null_mut());
    }
    let name = format!("{}Interface", T::CLASS_NAME);
    let mut builder = ClassBuilder::new(&*name).flags(ClassFlags::Interface);
    for (method, flags) in T::method_builders() {
        builder = builder.method(method, flags | MethodFlags::Abstract);
    }
    // The engine reads the tables for as long as the process lives.
    builder.registration(|_, arguments| std::mem::forget(arguments)).register()?;
    // SAFETY: at start-up the table of classes is the engine's; the lookup copies the name.
    let interface = unsafe {
        let classes = (*ext_php_rs_compiler_globals()).class_table;
        zend_hash_str_find_ptr_lc(classes, name.as_ptr().cast(), name.len()).cast::<zend_class_entry>()
    };
    if interface.is_null() { Err(Error::InvalidPointer) } else { Ok(interface) }
}

/// Makes an interface's method return an interface, `LockInterface`, in place of the class that the class' own method returns,
/// `Lock`.
///
/// # Safety
/// `function` must be a registered internal function of ours, not yet in use.
pub unsafe fn widen(function: &zend_function) {
    // SAFETY: it is internal, so it has this variant; what it returns stands before its first argument.
    let returned = unsafe { (*function.internal_function.arg_info.sub(1)).type_mut() };
    if returned.type_mask & _ZEND_TYPE_NAME_BIT == 0 {
        return;
    }
    // SAFETY: of such a type the engine keeps the name.
    let class = unsafe { returned.ptr.cast::<zend_string>().cast::<ZendStr>().as_ref() };
    let Some(class) = class.and_then(|class| class.as_str().ok()) else { return };
    if OF.iter().any(|of| class.strip_prefix("Quotalock\\") == Some(of)) {
        let mask = returned.type_mask & !_ZEND_TYPE_NAME_BIT;
        *returned = property::class_type(&format!("{class}Interface"), mask);
    }
}
