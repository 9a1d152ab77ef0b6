//! Arguments that are one value: bytes or text, a number, yes or no.

use std::borrow::Cow;

use ext_php_rs::ffi::{ext_php_rs_zend_string_release, zend_ce_stringable, zend_string};
use ext_php_rs::types::Zval;
use quotalock::{Code, Error, convert};

use super::{Maybe, Optional, caller_is_strict, wrong_type};
use crate::exception::Problem;

unsafe extern "C" {
    fn zval_try_get_string_func(value: *mut Zval) -> *mut zend_string;
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

parameter! {
    /// What names something: a string of any bytes, an integer, or an object with `__toString`.
    Key, Mixed
}

impl<'a> Key<'a> {
    /// The bytes.
    pub fn taken(&self) -> Taken<'a> {
        if let Some(text) = self.0.zend_str() {
            return Some(Ok(Cow::Borrowed(text.as_bytes())));
        }
        if let Some(number) = self.0.long() {
            return Some(Ok(Cow::Owned(number.to_string().into_bytes())));
        }
        Some(stringified(self.0)?.map(Cow::Owned))
    }

    /// The bytes.
    pub fn bytes(&self, position: u32) -> Result<Cow<'a, [u8]>, Problem> {
        self.taken().unwrap_or_else(|| Err(wrong_type(position, c"Stringable|string|int", self.0)))
    }
}

impl<'a> Maybe<Key<'a>> {
    /// The bytes, if any were given.
    pub fn bytes(&self, position: u32) -> Result<Option<Cow<'a, [u8]>>, Problem> {
        let Some(key) = &self.0 else { return Ok(None) };
        let wrong = || Err(wrong_type(position, c"Stringable|string|int|null", key.0));
        key.taken().unwrap_or_else(wrong).map(Some)
    }
}

/// The bytes of a value; none of one of another type.
pub type Taken<'a> = Option<Result<Cow<'a, [u8]>, Problem>>;

/// The bytes of what a parameter of type `string` takes.
pub fn text(value: &Zval) -> Taken<'_> {
    if let Some(text) = value.zend_str() {
        return Some(Ok(Cow::Borrowed(text.as_bytes())));
    }
    if caller_is_strict() {
        return None;
    }
    if let Some(number) = value.long() {
        return Some(Ok(Cow::Owned(number.to_string().into_bytes())));
    }
    Some(stringified(value)?.map(Cow::Owned))
}

/// A parameter of type `string`.
pub type Text<'a> = Optional<'a, &'static str>;

impl<'a> Text<'a> {
    /// The bytes.
    pub fn bytes(&self, position: u32) -> Result<Cow<'a, [u8]>, Problem> {
        match self {
            Optional::Default(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Optional::Given(value) => text(value).unwrap_or_else(|| Err(wrong_type(position, c"string", value))),
        }
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

/// The whole number that a value is, as [`Int::get`] takes it; none for anything else.
pub fn whole(value: &Zval) -> Option<i64> {
    if value.is_long() || caller_is_strict() {
        return value.long();
    }
    let cut_nothing = |float: f64| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64);
    value.double().and_then(cut_nothing).or_else(|| value.str().and_then(|text| text.trim().parse().ok()))
}

/// A parameter of type `int`.
pub type Int<'a> = Optional<'a, i64>;

impl Int<'_> {
    /// The number. Whole floats and decimal strings are taken from files without strict types, as PHP does; nothing is
    /// cut off, and booleans are no numbers.
    pub fn get(&self, position: u32) -> Result<i64, Problem> {
        match self {
            Optional::Default(value) => Ok(*value),
            Optional::Given(value) => whole(value).ok_or_else(|| wrong_type(position, c"int", value)),
        }
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

/// A parameter of type `bool`.
pub type Flag<'a> = Optional<'a, bool>;

impl Flag<'_> {
    /// Yes or no. Files without strict types may say 1 and 0, also as text, where the empty one is no. Nothing else is
    /// taken: a setting that reads "false" or "off" is no yes.
    pub fn get(&self, position: u32) -> Result<bool, Problem> {
        let value = match self {
            Optional::Default(value) => return Ok(*value),
            Optional::Given(value) => *value,
        };
        if let Some(flag) = value.bool() {
            return Ok(flag);
        }
        let number = match value.str() {
            _ if caller_is_strict() => None,
            Some("") => Some(0),
            _ => whole(value),
        };
        match number {
            Some(0) => Ok(false),
            Some(1) => Ok(true),
            _ => Err(wrong_type(position, c"bool", value)),
        }
    }
}

/// A parameter of type `float`.
pub type Float<'a> = Optional<'a, f64>;

impl Float<'_> {
    /// The number. Integers are taken as PHP does everywhere, decimal strings from files without strict types.
    pub fn get(&self, position: u32) -> Result<f64, Problem> {
        let value = match self {
            Optional::Default(value) => return Ok(*value),
            Optional::Given(value) => *value,
        };
        let number = value.double().or_else(|| value.long().map(|whole| whole as f64));
        let text = || value.str().filter(|_| !caller_is_strict()).and_then(|text| text.trim().parse().ok());
        number.or_else(text).ok_or_else(|| wrong_type(position, c"float", value))
    }
}
