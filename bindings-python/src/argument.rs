//! What callers give: each type takes one kind of argument out of a Python object, or says what is wrong with it.

use std::borrow::Cow;
use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};
use quotalock::convert;

use crate::error::raised;
use crate::exception::invalid;

/// An argument as it was given; none if it was left out.
pub type Maybe<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// A key: `str`, taken as UTF-8, `bytes`, taken as they are, or an `int`, taken as its digits.
pub struct Key<'a>(pub Cow<'a, [u8]>);

impl<'a, 'py> FromPyObject<'a, 'py> for Key<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        key_octets(given).map(Key)
    }
}

/// A key, with what it was given as.
pub struct Whom<'a, 'py> {
    pub octets: Cow<'a, [u8]>,
    pub given: Borrowed<'a, 'py, PyAny>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Whom<'a, 'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        key_octets(given).map(|octets| Whom { octets, given })
    }
}

#[inline]
fn key_octets<'a>(given: Borrowed<'a, '_, PyAny>) -> PyResult<Cow<'a, [u8]>> {
    // Nearly all of them are a `str`.
    let digits = if given.is_instance_of::<PyString>() { None } else { digits(&given) };
    digits.map_or_else(|| octets("key", given).map(Cow::Borrowed), |digits| Ok(digits.into_bytes().into()))
}

/// The id of a request: `str` or `bytes`, as a key.
pub struct RequestId<'a>(pub &'a [u8]);

impl<'a, 'py> FromPyObject<'a, 'py> for RequestId<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        octets("request_id", given).map(RequestId)
    }
}

/// Types that each take the text of one kind of argument: a `str` that has a UTF-8 form.
macro_rules! texts {
    ($($(#[$about:meta])* $Type:ident: $what:literal, $show:expr;)*) => {$(
        $(#[$about])*
        pub struct $Type<'a>(pub &'a str);

        impl<'a, 'py> FromPyObject<'a, 'py> for $Type<'a> {
            type Error = PyErr;

            fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                text($what, given, $show).map($Type)
            }
        }
    )*};
}

texts! {
    /// A URL, which no message shows: it may hold a password.
    Url: "url", |_| String::new();
    /// A prefix. If a caller gives a URL here by mistake, no message shows its password.
    Prefix: "prefix", |_| String::new();
    /// The name of a limiter, a cache or a `once`.
    Name: "name", shown;
    /// The name of an algorithm.
    Algorithm: "algorithm", shown;
    /// The id of a reservation.
    Id: "id", shown;
    /// Where a list goes on.
    Cursor: "cursor", shown;
    /// The id of an entry of a ledger.
    After: "after", shown;
}

/// One of a few words, or the text of an error. What has no UTF-8 form in it is replaced: what is no word then is the
/// core's to refuse.
pub struct Word<'a>(pub Cow<'a, str>);

impl<'a, 'py> FromPyObject<'a, 'py> for Word<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<&str>() {
            Ok(text) => Ok(Word(text.into())),
            Err(_) => Ok(Word(given.cast::<PyString>()?.to_string_lossy().into_owned().into())),
        }
    }
}

/// The text of a `str`; `show` says how a message shows it.
pub fn text<'a>(
    what: &str,
    given: Borrowed<'a, '_, PyAny>,
    show: fn(&Bound<'_, PyAny>) -> String,
) -> PyResult<&'a str> {
    let named = [what.to_owned(), show(&given)].join(" ");
    if !given.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("{} is {}: give a str", named.trim_end(), kind(&given))));
    }
    let refused = |_| invalid(given.py(), format!("{} has no UTF-8 form: change it", named.trim_end()));
    given.extract::<&str>().map_err(refused)
}

/// A key as it is read by [`octets`]: an `int` as its digits.
pub fn key(given: Bound<'_, PyAny>) -> Bound<'_, PyAny> {
    match digits(&given) {
        Some(digits) => PyString::new(given.py(), &digits).into_any(),
        None => given,
    }
}

/// The digits of an `int`; a bool is none.
fn digits(given: &Bound<'_, PyAny>) -> Option<String> {
    let is_whole = given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>();
    is_whole.then(|| given.str().ok()?.extract().ok()).flatten()
}

/// The bytes of a `str`, as UTF-8, or of `bytes`.
pub fn octets<'a>(what: &str, given: Borrowed<'a, '_, PyAny>) -> PyResult<&'a [u8]> {
    if given.is_instance_of::<PyString>() {
        let refused = |_| invalid(given.py(), format!("{what} {} has no UTF-8 form: give bytes", shown(&given)));
        return given.extract::<&str>().map(str::as_bytes).map_err(refused);
    }
    if given.is_instance_of::<PyBytes>() {
        return Ok(given.extract()?);
    }
    let wanted = if what == "key" { "a str, bytes or an int" } else { "a str or bytes" };
    Err(PyTypeError::new_err(format!("{what} {} is {}: give {wanted}", shown(&given), kind(&given))))
}

/// The items of a list of `str` or `bytes`.
pub fn list<'py>(what: &str, given: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let refused = || {
        let advice = "give a list of str or bytes";
        PyTypeError::new_err(format!("{what} {} is {}: {advice}", shown(given), kind(given)))
    };
    // A text is a list of letters, but hardly meant as one.
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
        return Err(refused());
    }
    given.try_iter().map_err(|_| refused())?.collect()
}

/// A cost: a whole number, 0 or more.
pub struct Cost(pub u64);

impl<'a, 'py> FromPyObject<'a, 'py> for Cost {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        whole("cost", given).map(Cost)
    }
}

/// An amount: a whole number, 0 or more.
pub struct Amount(pub u64);

impl<'a, 'py> FromPyObject<'a, 'py> for Amount {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        whole("amount", given).map(Amount)
    }
}

/// A whole number, 0 or more. A bool is no number.
pub fn whole(what: &str, given: Borrowed<'_, '_, PyAny>) -> PyResult<u64> {
    let py = given.py();
    if given.is_exact_instance_of::<PyInt>() || (given.hasattr("__index__")? && !given.is_instance_of::<PyBool>()) {
        if let Ok(number) = given.extract::<i64>() {
            return convert::unsigned(what, number).map_err(|error| raised(py, &error));
        }
        return Err(invalid(py, format!("{what} {} is not between 0 and 2^52: change it", shown(&given))));
    }
    Err(invalid(py, format!("{what} {} is {}: give an int", shown(&given), kind(&given))))
}

/// A duration given in seconds, as microseconds. A bool is no number.
pub fn seconds(what: &str, given: Borrowed<'_, '_, PyAny>) -> PyResult<u64> {
    let py = given.py();
    if given.is_instance_of::<PyFloat>() || (given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>()) {
        // An int too large for a float is too large for a duration.
        let number = given.extract::<f64>().unwrap_or(f64::INFINITY);
        return convert::micros_from_seconds(what, number).map_err(|error| raised(py, &error));
    }
    Err(invalid(py, format!("{what} {} is {}: give seconds as a float or int", shown(&given), kind(&given))))
}

/// How long to wait, if that was given.
pub fn wait(given: Maybe<'_, '_>) -> PyResult<Option<Duration>> {
    given.map(|given| seconds("wait", given.as_borrowed()).map(convert::duration)).transpose()
}

/// Durations among options: each its name, what was given for it, and the option, which has its default.
pub fn durations<const N: usize>(given: [(&str, Maybe<'_, '_>, &mut u64); N]) -> PyResult<()> {
    for (name, given, option) in given {
        if let Some(given) = given {
            *option = seconds(name, given.as_borrowed())?;
        }
    }
    Ok(())
}

/// Refuses what cannot be called, before anybody waits for it; `quotalock.aio` asks here too.
#[pyfunction]
#[pyo3(name = "check_function")]
pub fn function(what: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
    if given.is_callable() {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!("{what} {} is {}: give a function", shown(given), kind(given))))
}

/// Refuses JSON that another language cannot read back; who stores JSON asks here.
#[pyfunction]
pub fn check_json(text: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = text.py();
    match text.cast::<PyString>()?.to_str() {
        Ok(text) => quotalock::check_json(text.as_bytes()).map_err(|error| raised(py, &error)),
        Err(_) => {
            Err(invalid(py, "the JSON has half of a surrogate pair, which is no character: leave it out".to_owned()))
        }
    }
}

/// A value as a message shows it.
pub fn shown(given: &Bound<'_, PyAny>) -> String {
    let text = given.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string_lossy().into_owned());
    if text.chars().count() > 60 { text.chars().take(60).chain(['…']).collect() } else { text }
}

/// The type of a value with its article.
pub fn kind(given: &Bound<'_, PyAny>) -> String {
    let name = given.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
    format!("{} {name}", if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" })
}
