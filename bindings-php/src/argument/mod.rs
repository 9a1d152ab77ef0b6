//! Arguments as PHP programmers expect them: weak or strict as their file declares, named in PHP's own words when wrong.

/// Declares a parameter that is looked at when its position is known: until then it is any value.
macro_rules! parameter {
    ($(#[$doc:meta])* $name:ident, $type:ident) => {
        $(#[$doc])*
        pub struct $name<'a>(pub &'a ext_php_rs::types::Zval);

        impl<'a> ext_php_rs::convert::FromZval<'a> for $name<'a> {
            const TYPE: ext_php_rs::flags::DataType = ext_php_rs::flags::DataType::$type;

            fn from_zval(value: &'a ext_php_rs::types::Zval) -> Option<Self> {
                Some($name(value))
            }
        }
    };
}

mod clients;
mod function;
mod keys;
mod scalar;

use std::ffi::{CStr, c_char};

use ext_php_rs::convert::{FromZval, StubLiteral};
use ext_php_rs::ffi::{ZEND_ACC_STRICT_TYPES, ext_php_rs_executor_globals};
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;

use crate::exception::Problem;
pub use clients::Clients;
pub use function::Function;
pub use keys::{Keys, Lines, Names};
pub(crate) use parameter;
pub use scalar::{Flag, Float, Int, Key, Text, whole};

unsafe extern "C" {
    fn zend_argument_type_error(position: u32, format: *const c_char, ...);
    fn zend_zval_type_name(value: *const Zval) -> *const c_char;
}

/// Throws PHP's own TypeError for the argument at `position`, counted from 1.
pub fn wrong_type(position: u32, wanted: &CStr, given: &Zval) -> Problem {
    // SAFETY: called while one of our functions runs, which the message names; the format takes these two strings.
    unsafe {
        let given = zend_zval_type_name(given);
        zend_argument_type_error(position, c"must be of type %s, %s given".as_ptr(), wanted.as_ptr(), given);
    }
    Problem::Thrown
}

/// PHP's word for the type of a value.
pub fn type_name(value: &Zval) -> &'static str {
    // SAFETY: the engine answers with a text of its own that is never freed.
    unsafe { CStr::from_ptr(zend_zval_type_name(value)) }.to_str().unwrap_or("something else")
}

/// Whether the caller's file says `declare(strict_types=1)`.
fn caller_is_strict() -> bool {
    // SAFETY: while our function runs the engine's frames are live; any of the pointers may be null.
    unsafe {
        let globals = ext_php_rs_executor_globals().as_ref();
        let ours = globals.and_then(|globals| globals.current_execute_data.as_ref());
        let caller = ours.and_then(|frame| frame.prev_execute_data.as_ref());
        let function = caller.and_then(|frame| frame.func.as_ref());
        function.is_some_and(|function| function.common.fn_flags & ZEND_ACC_STRICT_TYPES != 0)
    }
}

/// A parameter that may be null or left out.
pub struct Maybe<T>(pub Option<T>);

impl<'a, T: FromZval<'a>> FromZval<'a> for Maybe<T> {
    const TYPE: DataType = T::TYPE;
    const NULLABLE: bool = true;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        if value.is_null() { Some(Maybe(None)) } else { T::from_zval(value).map(|value| Maybe(Some(value))) }
    }

    fn from_missing() -> Option<Self> {
        Some(Maybe(None))
    }
}

/// A parameter that may be null, but must be given.
pub struct OrNull<T>(pub Option<T>);

impl<'a, T: FromZval<'a>> FromZval<'a> for OrNull<T> {
    // To the macros a nullable parameter can be left out; `crate::class` says what the type is.
    const TYPE: DataType = T::TYPE;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        if value.is_null() { Some(OrNull(None)) } else { T::from_zval(value).map(|value| OrNull(Some(value))) }
    }
}

/// A parameter whose default is a `D`.
pub enum Optional<'a, D> {
    /// What the caller gave.
    Given(&'a Zval),
    /// The default.
    Default(D),
}

/// What a default can be.
pub trait Literal {
    /// Its type in PHP.
    const TYPE: DataType;

    /// How PHP code writes it.
    fn literal(&self) -> String;
}

impl Literal for i64 {
    const TYPE: DataType = DataType::Long;

    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Literal for bool {
    const TYPE: DataType = DataType::Bool;

    fn literal(&self) -> String {
        self.to_string()
    }
}

impl Literal for f64 {
    const TYPE: DataType = DataType::Double;

    fn literal(&self) -> String {
        format!("{self:?}")
    }
}

impl Literal for &'static str {
    const TYPE: DataType = DataType::String;

    fn literal(&self) -> String {
        format!("'{self}'")
    }
}

impl<D> From<D> for Optional<'_, D> {
    fn from(value: D) -> Self {
        Optional::Default(value)
    }
}

impl<D: Literal> StubLiteral for Optional<'_, D> {
    fn stub_literal(&self) -> String {
        match self {
            Optional::Default(value) => value.literal(),
            // Stubs are asked of defaults alone.
            Optional::Given(_) => String::new(),
        }
    }
}

impl<'a, D: Literal> FromZval<'a> for Optional<'a, D> {
    const TYPE: DataType = D::TYPE;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Optional::Given(value))
    }
}
