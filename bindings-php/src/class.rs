//! Registers classes that hold a Rust value, with what the macros of ext-php-rs cannot say: readonly properties,
//! union types and private constructors.

use std::ffi::c_void;

use ext_php_rs::builders::ClassBuilder;
use ext_php_rs::class::RegisteredClass;
use ext_php_rs::error::Result;
use ext_php_rs::ffi::{
    _ZEND_TYPE_NULLABLE_BIT, HashTable, IS_ARRAY, IS_LONG, IS_STRING, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC,
    ext_php_rs_compiler_globals, ext_php_rs_executor_globals, zend_do_implement_interface, zend_function,
    zend_hash_str_find_ptr_lc, zend_string,
};
use ext_php_rs::flags::ClassFlags;
use ext_php_rs::types::{ZendObject, ZendStr, Zval};
use ext_php_rs::zend::ClassEntry;

use crate::argument_info::ArgumentInfo;
use crate::property::{self, Property};
use crate::{cache, interface, once};

/// `ZEND_ATTRIBUTE_PERSISTENT` of Zend/zend_attributes.h.
const PERSISTENT_ATTRIBUTE: u32 = 1;

unsafe extern "C" {
    fn zend_add_attribute(
        attributes: *mut *mut HashTable,
        name: *mut zend_string,
        arguments: u32,
        flags: u32,
        offset: u32,
        line: u32,
    ) -> *mut c_void;
}

/// Registers the class of `T`: final, with readonly `properties`; without a constructor in Rust it has a private one.
/// Handles have an interface too.
pub fn register<T: RegisteredClass>(properties: &[Property]) -> Result<()> {
    let interface = interface::register::<T>()?;
    // SAFETY: null, or just registered by this thread, and nobody else uses it before start-up is over.
    unsafe {
        if let Some(interface) = interface.as_ref() {
            describe_methods(interface, T::CLASS_NAME);
            functions(interface).for_each(|function| interface::widen(function));
        }
    }
    let mut builder = ClassBuilder::new(T::CLASS_NAME).flags(ClassFlags::Final | ClassFlags::NoDynamicProperties);
    for (method, flags) in T::method_builders() {
        builder = builder.method(method, flags);
    }
    builder
        .object_override::<T>()
        .registration(|class, arguments| {
            T::get_metadata().set_ce(class);
            T::get_metadata().set_arg_info(arguments);
        })
        .register()?;
    let class = std::ptr::from_ref(T::get_metadata().ce()).cast_mut();
    property::declare_public(class, properties);
    // SAFETY: the class was just registered by this thread, and nobody else uses it before start-up is over.
    unsafe {
        describe_methods(&*class, T::CLASS_NAME);
        if !interface.is_null() {
            zend_do_implement_interface(class, interface);
        }
        if T::constructor().is_none()
            && let Some(constructor) = (*class).constructor.as_mut()
        {
            constructor.common.fn_flags = constructor.common.fn_flags & !ZEND_ACC_PUBLIC | ZEND_ACC_PRIVATE;
        }
    }
    Ok(())
}

/// The methods of a class.
fn functions(class: &ClassEntry) -> impl Iterator<Item = &mut zend_function> {
    // SAFETY: the table holds pointers to functions.
    class.function_table.values().filter_map(|value| unsafe { value.ptr::<zend_function>()?.as_mut() })
}

/// Describes the methods of a class.
///
/// # Safety
/// As of [`describe`].
unsafe fn describe_methods(class: &ClassEntry, name: &str) {
    // SAFETY: as of the caller.
    functions(class).for_each(|function| unsafe { describe(function, name) });
}

/// Does for our functions what [`register`] does for methods.
pub fn describe_functions() {
    for name in ["quotalock\\limit", "quotalock\\client_address"] {
        // SAFETY: at start-up the table of functions is the engine's, and ours were put there before; the lookup copies
        // the name.
        unsafe {
            let table = (*ext_php_rs_compiler_globals()).function_table;
            let function = zend_hash_str_find_ptr_lc(table, name.as_ptr().cast(), name.len());
            if let Some(function) = function.cast::<zend_function>().as_mut() {
                describe(function, "");
            }
        }
    }
}

/// Gives the parameters that take several types their union type: reflection and IDEs read it; the values are checked by
/// [`crate::argument`] and [`crate::policy`].
///
/// # Safety
/// `function` must be a registered internal function of ours, not yet in use.
unsafe fn describe(function: &mut zend_function, class: &str) {
    // SAFETY: it is internal, so it has this variant, with one information per argument.
    let arguments = unsafe {
        let internal = &function.internal_function;
        if internal.num_args == 0 {
            return;
        }
        std::slice::from_raw_parts_mut(internal.arg_info, internal.num_args as usize)
    };
    for (offset, argument) in (1..).zip(arguments) {
        // SAFETY: it is a parameter, and as of the caller.
        let name = unsafe { argument.name() };
        let kind = argument.type_mut();
        match name {
            // Of a stock and a reservation it is a text of ours.
            b"id" if class != once::NAME => {}
            b"value" if class == once::NAME || class == cache::NAME => kind.type_mask |= _ZEND_TYPE_NULLABLE_BIT,
            b"key" | b"buyer" | b"id" => *kind = property::class_type("Stringable", 1 << IS_STRING | 1 << IS_LONG),
            b"peer" => kind.type_mask |= _ZEND_TYPE_NULLABLE_BIT,
            b"forwarded" => kind.type_mask = 1 << IS_STRING | 1 << IS_ARRAY | _ZEND_TYPE_NULLABLE_BIT,
            b"requestId" | b"scope" => {
                let simple = 1 << IS_STRING | 1 << IS_LONG | _ZEND_TYPE_NULLABLE_BIT;
                *kind = property::class_type("Stringable", simple);
            }
            // What holds a password, perhaps by mistake, must not show in a stack trace.
            b"url" | b"password" => {
                // SAFETY: as above; offset 0 is the function itself, and the name is interned for good.
                unsafe {
                    let name = ZendStr::new_interned("SensitiveParameter", true).into_raw();
                    zend_add_attribute(&raw mut function.common.attributes, name, 0, PERSISTENT_ATTRIBUTE, offset, 0);
                }
            }
            b"policy" => *kind = property::class_type("Quotalock\\Rule", 1 << IS_STRING | 1 << IS_ARRAY),
            _ => {}
        }
    }
}

/// Fills the properties of `$this`, for a constructor: the macros give it no other way to the object it makes.
pub fn fill_this<const N: usize>(values: [Zval; N]) {
    if let Some(this) = current() {
        property::fill(this, 0, values);
    }
}

/// `$this` of the method of ours that runs, as a value with a count of its own.
pub fn this() -> Zval {
    let mut value = Zval::new();
    if let Some(this) = current() {
        value.set_object(this);
    }
    value
}

fn current<'a>() -> Option<&'a mut ZendObject> {
    // SAFETY: while our method runs the engine's current frame is its own, and holds its object.
    unsafe {
        let globals = ext_php_rs_executor_globals().as_ref();
        globals.and_then(|globals| globals.current_execute_data.as_mut()).and_then(|frame| frame.This.object_mut())
    }
}
