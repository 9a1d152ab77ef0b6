//! The options of all kinds of locks, read once for all methods that make one.

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use quotalock::{LockOptions, convert};

use crate::argument::{Label, kind, seconds, shown, whole};

/// Options that were given by name.
pub type Named<'a, 'py> = &'a Bound<'py, PyDict>;

/// A function that makes locks: its name, how many arguments it has before its options, and these in their order.
pub struct Maker(pub &'static str, pub usize, pub &'static [&'static str]);

/// What a semaphore has more than others comes first.
const SEMAPHORE: &[&str] =
    &["weight", "ttl", "wait", "fair", "renew", "max_hold", "token_above", "label", "replicas_ack", "ack_timeout"];

impl Maker {
    pub const LOCK: Maker = Maker("Client.lock", 1, SEMAPHORE.split_at(1).1);
    pub const LOCK_ALL: Maker = Maker("Client.lock_all", 1, Maker::LOCK.2);
    pub const READ_LOCK: Maker = Maker("Client.read_lock", 1, Maker::LOCK.2);
    pub const WRITE_LOCK: Maker = Maker("Client.write_lock", 1, Maker::LOCK.2);
    pub const SEMAPHORE: Maker = Maker("Client.semaphore", 2, SEMAPHORE);
    pub const QUORUM: Maker = Maker("quorum_lock", 2, &["ttl", "wait", "renew", "max_hold", "token_above", "label"]);

    /// Reads the options as they were given, by position and by name.
    pub fn read(self, given: &Bound<'_, PyTuple>, named: Option<Named>) -> PyResult<LockArguments> {
        let Maker(function, before, options) = self;
        let mut read = LockArguments { options: LockOptions::default(), wait: Duration::ZERO, weight: 1 };
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
    /// How long an acquisition waits.
    pub wait: Duration,
    /// How many of a semaphore's permits.
    pub weight: u64,
}

impl LockArguments {
    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let LockArguments { options, wait, weight } = self;
        // None is what was left out, where it is no value.
        let is_given = !value.is_none();
        let whole = || whole(name, value.as_borrowed());
        let seconds = || seconds(name, value.as_borrowed());
        let flag = || {
            let refused = |_| PyTypeError::new_err(format!("{name} {} is {}: give a bool", shown(value), kind(value)));
            value.extract::<bool>().map_err(refused)
        };
        match name {
            "fair" => options.fair = flag()?,
            "renew" => options.renew = flag()?,
            "label" => options.label = value.extract::<Label<'_>>()?.0.to_owned(),
            "ttl" if is_given => options.ttl = seconds()?,
            "wait" if is_given => *wait = convert::duration(seconds()?),
            "max_hold" if is_given => options.max_hold = seconds()?,
            "ack_timeout" if is_given => options.ack_timeout = seconds()?,
            "token_above" if is_given => options.token_above = whole()?,
            "weight" if is_given => *weight = whole()?,
            "replicas_ack" if is_given => options.replicas_ack = whole()?,
            _ => {}
        }
        Ok(())
    }
}
