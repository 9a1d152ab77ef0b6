//! The options that every kind of lock has.

use std::time::Duration;

use pyo3::prelude::*;
use quotalock::{LockOptions, convert};

use crate::argument::{seconds, shown, whole};
use crate::error::invalid;

/// An argument as it was given; none if it was left out.
pub type Maybe<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The options as they were given.
pub struct Given<'a, 'py> {
    pub ttl: Maybe<'a, 'py>,
    pub wait: Maybe<'a, 'py>,
    pub fair: bool,
    pub renew: bool,
    pub max_hold: Maybe<'a, 'py>,
    pub floor: Maybe<'a, 'py>,
    pub label: &'a str,
    pub replicas_ack: Maybe<'a, 'py>,
    pub ack_timeout: Maybe<'a, 'py>,
}

impl Given<'_, '_> {
    /// The same for the core, and how long an acquisition waits.
    pub fn read(self) -> PyResult<(LockOptions, Duration)> {
        let Given { fair, renew, label, .. } = self;
        let mut options = LockOptions { fair, renew, label: label.to_owned(), ..LockOptions::default() };
        let durations = [
            ("ttl", self.ttl, &mut options.ttl),
            ("max_hold", self.max_hold, &mut options.max_hold),
            ("ack_timeout", self.ack_timeout, &mut options.ack_timeout),
        ];
        for (name, given, option) in durations {
            *option = given.map_or(Ok(*option), |given| seconds(name, given.as_borrowed()))?;
        }
        if let Some(given) = self.floor {
            options.floor = whole("floor", given.as_borrowed())?;
        }
        if let Some(given) = self.replicas_ack {
            let too_many = |_| invalid(given.py(), format!("replicas_ack {} is more than there can be", shown(given)));
            options.replicas_ack = whole("replicas_ack", given.as_borrowed())?.try_into().map_err(too_many)?;
        }
        Ok((options, wait(self.wait)?.unwrap_or_default()))
    }
}

/// How long to wait, if that was given.
pub fn wait(given: Maybe<'_, '_>) -> PyResult<Option<Duration>> {
    given.map(|given| seconds("wait", given.as_borrowed()).map(convert::duration)).transpose()
}
