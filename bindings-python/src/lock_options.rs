//! The options of all kinds of locks, read once for all methods that make one: [`crate::lock_makers`] has the options.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use quotalock::LockOptions;

use crate::argument::{self, kind, shown};

/// Options that were given by name.
pub type Named<'a, 'py> = &'a Bound<'py, PyDict>;

/// A function that makes locks: its name, how many arguments it has before its options, and these in their order.
pub struct Maker(pub &'static str, pub usize, pub &'static [&'static str]);

impl Maker {
    /// Reads the options as they were given, by position and by name.
    pub fn read(self, given: &Bound<'_, PyTuple>, named: Option<Named>) -> PyResult<LockArguments> {
        let Maker(function, before, options) = self;
        let mut read = LockArguments { options: LockOptions::default(), wait: 0, weight: 1 };
        if given.len() > options.len() {
            // Python counts the object of a method too.
            let own = before + usize::from(function.contains('.'));
            let (most, count) = (own + options.len(), own + given.len());
            let takes = format!("takes from {own} to {most} positional arguments but {count} were given");
            return Err(PyTypeError::new_err(format!("{function}() {takes}")));
        }
        let mut all: Vec<_> = options.iter().copied().zip(given.iter()).collect();
        for (name, value) in named.into_iter().flatten() {
            let name = name.cast::<PyString>()?.to_string_lossy().into_owned();
            let wrong = |how: &str| PyTypeError::new_err(format!("{function}() got {how} argument '{name}'"));
            match options.iter().position(|option| *option == name) {
                None => return Err(wrong("an unexpected keyword")),
                Some(at) if at < given.len() => return Err(wrong("multiple values for")),
                Some(at) => all.push((options[at], value)),
            }
        }
        for (name, value) in all {
            read.set(name, &value)?;
        }
        Ok(read)
    }
}

/// The options as they were given.
pub struct LockArguments {
    pub options: LockOptions,
    /// How many microseconds an acquisition waits.
    pub wait: u64,
    /// How many of a semaphore's permits.
    pub weight: u64,
}

/// Reads a duration into an option, which keeps its default if None is given.
pub fn seconds(name: &str, value: &Bound<'_, PyAny>, option: &mut u64) -> PyResult<()> {
    if !value.is_none() {
        *option = argument::seconds(name, value.as_borrowed())?;
    }
    Ok(())
}

/// Reads a whole number, as [`seconds`] does.
pub fn whole(name: &str, value: &Bound<'_, PyAny>, option: &mut u64) -> PyResult<()> {
    if !value.is_none() {
        *option = argument::whole(name, value.as_borrowed())?;
    }
    Ok(())
}

/// Reads a bool; None is none.
pub fn flag(name: &str, value: &Bound<'_, PyAny>, option: &mut bool) -> PyResult<()> {
    let refused = |_| PyTypeError::new_err(format!("{name} {} is {}: give a bool", shown(value), kind(value)));
    *option = value.extract().map_err(refused)?;
    Ok(())
}

/// Reads a text; None is none.
pub fn text(name: &str, value: &Bound<'_, PyAny>, option: &mut String) -> PyResult<()> {
    *option = argument::text(name, value.as_borrowed(), shown)?.to_owned();
    Ok(())
}
