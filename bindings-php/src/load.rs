//! Getting what one of all callers makes, by a function of PHP code. However that function ends, the lease ends with it.

use std::ffi::c_char;
use std::time::{Duration, Instant};

use ext_php_rs::ffi::zend_class_entry;
use ext_php_rs::types::{ZendHashTable, ZendObject, ZendStr, Zval};
use ext_php_rs::zend::ExecutorGlobals;
use quotalock::driver::{LoadStep, Loading, Value};
use quotalock::{Cache, Got, Op, convert};

use crate::argument::{Int, Maybe};
use crate::call::{self, Asked, GRACE, Stop};
use crate::callback::{self, Ended, Ending, wrong};
use crate::exception::{Outcome, Problem};
use crate::property::{self, text};
use crate::record::list;
use crate::seen;

unsafe extern "C" {
    fn zend_is_unwind_exit(exception: *const ZendObject) -> bool;
    fn zend_is_graceful_exit(exception: *const ZendObject) -> bool;
    fn zend_read_property(
        scope: *mut zend_class_entry,
        object: *mut ZendObject,
        name: *const c_char,
        name_length: usize,
        silent: bool,
        buffer: *mut Zval,
    ) -> *mut Zval;
}

type LoadResult<T> = Result<T, Stop>;

/// How long a caller waits for what another one makes, the third argument; the core knows, if nobody says.
pub fn patience(wait: Maybe<Int>) -> Outcome<Option<Duration>> {
    Ok(wait.0.map(|wait| wait.micros(3, "wait")).transpose()?.map(convert::duration))
}

/// What stored bytes are to PHP code.
#[derive(Clone, Copy)]
pub enum Form {
    /// Strings.
    Bytes,
    /// Whatever JSON can say.
    Json,
}

impl Form {
    fn read(self, value: Zval) -> LoadResult<Zval> {
        /// `JSON_THROW_ON_ERROR`
        const FLAGS: i64 = 1 << 22;
        /// For PHP a scalar within is one more.
        const DEPTH: i64 = quotalock::MAX_JSON_DEPTH as i64 + 1;
        if value.is_null() {
            return Ok(value);
        }
        match self {
            Form::Bytes => Ok(value),
            Form::Json => called("json_decode", &[value, property::bool(true), number(DEPTH), number(FLAGS)]),
        }
    }

    /// The value to store of what a loader returned. PHP writes nothing deeper than other languages do, and no half of a surrogate
    /// pair.
    fn write(self, returned: &Zval) -> LoadResult<Option<Vec<u8>>> {
        /// `JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION | JSON_THROW_ON_ERROR`
        const FLAGS: i64 = 1 << 6 | 1 << 8 | 1 << 10 | 1 << 22;
        match self {
            _ if returned.is_null() => Ok(None),
            Form::Bytes => bytes(returned),
            Form::Json => bytes(&called("json_encode", &[returned.shallow_clone(), number(FLAGS)])?),
        }
    }
}

fn number(value: i64) -> Zval {
    let mut zval = Zval::new();
    zval.set_long(value);
    zval
}

/// The bytes of a string or null.
fn bytes(value: &Zval) -> LoadResult<Option<Vec<u8>>> {
    let value = value.dereference();
    if value.is_null() {
        return Ok(None);
    }
    let string = value.zend_str().ok_or_else(|| wrong(c"?string", value, c"; getJson() takes what JSON has"))?;
    Ok(Some(string.as_bytes().to_vec()))
}

/// Calls a function of PHP code.
fn call(function: &Zval, arguments: &[Zval]) -> LoadResult<Zval> {
    match callback::call(function, arguments) {
        Ended::Returned(value) => Ok(value),
        Ended::Threw => Err(Problem::Thrown.into()),
        Ended::Jumped => Err(Stop::Ending(Ending::Exited)),
    }
}

/// Calls a function of PHP's by its name.
fn called(name: &str, arguments: &[Zval]) -> LoadResult<Zval> {
    call(&text(name), arguments)
}

/// Gets what the function makes, or another caller made.
pub fn one(getting: Op<Got>, function: &Zval, form: Form) -> LoadResult<Zval> {
    // To all callers it is the same, whoever made it.
    let values = load(getting.into(), |_| Ok(vec![form.write(&call(function, &[])?)?]))?;
    form.read(seen::value(values.first().and_then(Option::as_ref)))
}

/// Gets several keys; the function makes those that nobody made or makes. The answer is an array by the keys.
pub fn many(cache: &Cache, keys: Vec<Vec<u8>>, function: &Zval, wait: Option<Duration>) -> LoadResult<Zval> {
    let getting = cache.get_many(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>(), wait)?;
    let values = load(getting.into(), |missing| {
        let returned = call(function, &[list(missing, |at| text(&keys[*at]))])?;
        let table = returned.array().ok_or_else(|| wrong(c"array", &returned, c""))?;
        let find = |key: &[u8]| match index(key) {
            Some(index) => table.get_index(index),
            None => table.get(&*ZendStr::new(key, false)),
        };
        missing.iter().map(|at| find(&keys[*at]).map_or(Ok(None), bytes)).collect()
    })?;
    let mut table = ZendHashTable::with_capacity(u32::try_from(keys.len()).unwrap_or_default());
    for (key, value) in keys.iter().zip(&values) {
        let value = seen::value(value.as_ref());
        // Cannot fail: no table of so few elements is full.
        let _ = match index(key) {
            Some(index) => table.insert_at_index(index, value),
            None => table.insert(&*ZendStr::new(key, false), value),
        };
    }
    let mut array = Zval::new();
    array.set_hashtable(table);
    Ok(array)
}

/// Goes through a load: `make` makes values for those of the keys that are this caller's to load.
fn load(mut loading: Loading, make: impl Fn(&[usize]) -> LoadResult<Vec<Option<Vec<u8>>>>) -> LoadResult<Vec<Value>> {
    loop {
        let (calls, grace) = match loading.next()? {
            LoadStep::Done(values) => return Ok(values),
            LoadStep::Ask(calls) => (calls, Duration::ZERO),
            LoadStep::Load(missing) => match make(&missing) {
                Ok(made) => (loading.loaded(made), GRACE),
                Err(stop) => {
                    let calls = loading.failed(reason(&stop).as_deref());
                    let end = Instant::now() + GRACE;
                    loading.run(calls, &mut || Instant::now() >= end);
                    return Err(stop);
                }
            },
        };
        let run = |asked: Asked<'_>| {
            loading.run(calls, asked);
            Ok(())
        };
        call::attempt(grace, run, drop)?;
    }
}

/// What others get to know of why there is no value.
fn reason(stop: &Stop) -> Option<String> {
    match stop {
        Stop::Problem(Problem::Thrown) | Stop::Ending(Ending::Threw) => thrown(),
        // The function did what it could.
        Stop::Problem(Problem::Error(_)) | Stop::Ending(_) => None,
    }
}

/// The integer that a string is as a key of a PHP array; none if it stays a string.
fn index(key: &[u8]) -> Option<i64> {
    let number = std::str::from_utf8(key).ok()?.parse::<i64>().ok()?;
    (number.to_string().as_bytes() == key).then_some(number)
}

/// What an exception that is on its way says; none if it is an `exit`, or the end of a fiber.
fn thrown() -> Option<String> {
    let exception = ExecutorGlobals::get().exception;
    // SAFETY: null, or a live exception of this thread, which stays on its way; reading a property runs no PHP code in
    // a class that extends `Exception` or `Error`. The name of its class is a string of the engine.
    unsafe {
        let class = exception.as_ref()?.ce;
        if zend_is_unwind_exit(exception) || zend_is_graceful_exit(exception) {
            return None;
        }
        let (name, mut buffer) = ("message", Zval::new());
        let message = zend_read_property(class, exception, name.as_ptr().cast(), name.len(), true, &raw mut buffer);
        let message = message.as_ref().and_then(|message| message.dereference().zend_str());
        let message = message.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned()).unwrap_or_default();
        let class = String::from_utf8_lossy((*(*class).name).as_bytes()).into_owned();
        Some(if message.is_empty() { class } else { format!("{class}: {message}") })
    }
}
