//! Arguments as PHP programmers expect them: weak or strict as their file declares, named in PHP's own words when wrong.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use ext_php_rs::convert::{FromZval, StubLiteral};
use ext_php_rs::ffi::{
    ZEND_ACC_STRICT_TYPES, ext_php_rs_executor_globals, ext_php_rs_zend_string_release, zend_ce_stringable, zend_string,
};
use ext_php_rs::flags::DataType;
use ext_php_rs::types::Zval;
use quotalock::{Code, Error, convert};

use crate::exception::Problem;

unsafe extern "C" {
    fn zend_argument_type_error(position: u32, format: *const c_char, ...);
    fn zend_zval_type_name(value: *const Zval) -> *const c_char;
    fn zval_try_get_string_func(value: *mut Zval) -> *mut zend_string;
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

/// An object's `__toString`, if it has one.
fn stringified(value: &Zval) -> Option<Result<Vec<u8>, Problem>> {
    let object = value.object()?;
    // SAFETY: the engine has made its own classes before ours.
    let stringable = unsafe { zend_ce_stringable.as_ref() }?;
    if !object.instance_of(stringable) {
        return None;
    }
    // SAFETY: the value is live and, being an object, is not changed by this; what comes back is ours or null, after an
    // exception. An `exit` in `__toString` jumps over our callers, who hold nothing then but other arguments' texts.
    unsafe {
        let text = zval_try_get_string_func(std::ptr::from_ref(value).cast_mut());
        let Some(found) = text.as_ref() else { return Some(Err(Problem::Thrown)) };
        let bytes = found.as_bytes().to_vec();
        ext_php_rs_zend_string_release(text);
        Some(Ok(bytes))
    }
}

/// The key of a call: a string of any bytes, an integer, or an object with `__toString`.
pub struct Key<'a>(&'a Zval);

impl<'a> FromZval<'a> for Key<'a> {
    const TYPE: DataType = DataType::Mixed;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Key(value))
    }
}

impl<'a> Key<'a> {
    /// The key's bytes.
    pub fn bytes(&self, position: u32) -> Result<Cow<'a, [u8]>, Problem> {
        if let Some(text) = self.0.zend_str() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        if let Some(number) = self.0.long() {
            return Ok(Cow::Owned(number.to_string().into_bytes()));
        }
        match stringified(self.0) {
            Some(text) => text.map(Cow::Owned),
            None => Err(wrong_type(position, c"Stringable|string|int", self.0)),
        }
    }
}

/// A parameter of type `string`.
pub enum Text<'a> {
    /// What the caller gave.
    Given(&'a Zval),
    /// The default.
    Default(&'static str),
}

impl From<&'static str> for Text<'_> {
    fn from(value: &'static str) -> Self {
        Text::Default(value)
    }
}

impl StubLiteral for Text<'_> {
    fn stub_literal(&self) -> String {
        match self {
            Text::Default(value) => format!("'{value}'"),
            Text::Given(_) => "''".into(),
        }
    }
}

impl<'a> FromZval<'a> for Text<'a> {
    const TYPE: DataType = DataType::String;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Text::Given(value))
    }
}

impl<'a> Text<'a> {
    /// The bytes.
    pub fn bytes(&self, position: u32) -> Result<Cow<'a, [u8]>, Problem> {
        let value = match self {
            Text::Default(text) => return Ok(Cow::Borrowed(text.as_bytes())),
            Text::Given(value) => *value,
        };
        if let Some(text) = value.zend_str() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        if !caller_is_strict() {
            if let Some(number) = value.long() {
                return Ok(Cow::Owned(number.to_string().into_bytes()));
            }
            if let Some(text) = stringified(value) {
                return text.map(Cow::Owned);
            }
        }
        Err(wrong_type(position, c"string", value))
    }

    /// The text, which `what` names if it is not UTF-8.
    pub fn utf8(&self, position: u32, what: &str) -> Result<Cow<'a, str>, Problem> {
        let text = match self.bytes(position)? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        };
        text.ok_or_else(|| Error::new(Code::InvalidArgument, format!("{what} is not UTF-8: encode it")).into())
    }
}

/// A parameter of type `int`.
pub enum Int<'a> {
    /// What the caller gave.
    Given(&'a Zval),
    /// The default.
    Default(i64),
}

impl From<i64> for Int<'_> {
    fn from(value: i64) -> Self {
        Int::Default(value)
    }
}

impl StubLiteral for Int<'_> {
    fn stub_literal(&self) -> String {
        match self {
            Int::Default(value) => value.to_string(),
            Int::Given(value) => value.long().unwrap_or_default().to_string(),
        }
    }
}

impl<'a> FromZval<'a> for Int<'a> {
    const TYPE: DataType = DataType::Long;

    fn from_zval(value: &'a Zval) -> Option<Self> {
        Some(Int::Given(value))
    }
}

impl Int<'_> {
    /// The number. Whole floats and decimal strings are taken from files without strict types, as PHP does; nothing is
    /// cut off, and booleans are no numbers.
    pub fn get(&self, position: u32) -> Result<i64, Problem> {
        let value = match self {
            Int::Default(value) => return Ok(*value),
            Int::Given(value) => *value,
        };
        if let Some(number) = value.long() {
            return Ok(number);
        }
        let whole = |float: f64| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64);
        let weak = if caller_is_strict() {
            None
        } else {
            value.double().and_then(whole).or_else(|| value.str().and_then(|text| text.trim().parse().ok()))
        };
        weak.ok_or_else(|| wrong_type(position, c"int", value))
    }

    /// The number if it is not negative, else an error that calls it `what`.
    pub fn unsigned(&self, position: u32, what: &str) -> Result<u64, Problem> {
        Ok(convert::unsigned(what, self.get(position)?)?)
    }

    /// Milliseconds as microseconds; an error calls them `what`.
    pub fn micros(&self, position: u32, what: &str) -> Result<u64, Problem> {
        Ok(convert::micros_from_ms(what, self.get(position)?)?)
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
