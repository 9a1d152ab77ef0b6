//! Which server a client talks to and how: the argument, else the ini setting, else the environment, else the default.

use std::borrow::Cow;
use std::ffi::CStr;
use std::time::Duration;

use quotalock::{Code, DEFAULT_PREFIX, DEFAULT_REQUEST_MEMORY, Error, OnError, Options, Result, convert, default_url};

use crate::argument::{Int, Maybe};
use crate::exception::Outcome;
use crate::{environment, ini};

/// Where a setting comes from.
#[derive(Clone, Copy)]
pub enum Origin {
    /// A constructor's argument.
    Argument,
    /// The ini setting of this name.
    Ini(&'static CStr),
    /// The environment variable for the URL.
    Environment,
    /// Nobody said anything.
    Default,
}

/// A setting's text with its origin.
type Setting<'a> = (Cow<'a, str>, Origin);

/// What the caller of a constructor gave.
#[derive(Default)]
pub struct Arguments<'a> {
    pub url: Option<Cow<'a, str>>,
    pub prefix: Option<Cow<'a, str>>,
    pub timeout_ms: Option<Cow<'a, str>>,
    pub on_error: Option<Cow<'a, str>>,
    pub request_memory_ms: Option<i64>,
    pub deny_cache_max_ms: Option<Cow<'a, str>>,
    pub report: Option<Cow<'a, str>>,
}

/// The settings of a client, not yet checked.
pub struct Settings<'a> {
    pub url: Setting<'a>,
    pub prefix: Setting<'a>,
    pub timeout_ms: Setting<'a>,
    pub on_error: Setting<'a>,
    pub deny_cache_max_ms: Setting<'a>,
    pub report: Setting<'a>,
    /// Only a constructor sets this: no ini setting has it.
    pub request_memory_ms: i64,
}

/// How long a request is remembered by default.
pub const REQUEST_MEMORY_MS: i64 = DEFAULT_REQUEST_MEMORY.as_millis() as i64;

fn setting<'a>(
    given: Option<Cow<'a, str>>,
    name: &'static CStr,
    otherwise: impl FnOnce() -> Setting<'a>,
) -> Setting<'a> {
    if let Some(given) = given {
        return (given, Origin::Argument);
    }
    ini::get(name).map_or_else(otherwise, |value| (Cow::Owned(value), Origin::Ini(name)))
}

impl<'a> Settings<'a> {
    /// Completes what was given.
    pub fn of(given: Arguments<'a>) -> Settings<'a> {
        let default = |text: &'static str| move || (Cow::Borrowed(text), Origin::Default);
        let environment = || match environment::read(default_url) {
            url @ Cow::Owned(_) => (url, Origin::Environment),
            url @ Cow::Borrowed(_) => (url, Origin::Default),
        };
        Settings {
            url: setting(given.url, c"ratelimit.url", environment),
            prefix: setting(given.prefix, c"ratelimit.prefix", default(DEFAULT_PREFIX)),
            timeout_ms: setting(given.timeout_ms, c"ratelimit.timeout_ms", default("500")),
            on_error: setting(given.on_error, c"ratelimit.on_error", default("raise")),
            deny_cache_max_ms: setting(given.deny_cache_max_ms, c"ratelimit.deny_cache_max_ms", default("1000")),
            report: setting(given.report, c"ratelimit.report", default("0")),
            request_memory_ms: given.request_memory_ms.unwrap_or(REQUEST_MEMORY_MS),
        }
    }

    /// The options of the client.
    pub fn options(&self) -> Result<Options> {
        Ok(Options {
            url: Some(self.url.0.clone().into_owned()),
            prefix: self.prefix.0.clone().into_owned(),
            timeout: milliseconds("timeout", "500", &self.timeout_ms)?,
            on_error: OnError::parse(&self.on_error.0)?,
            request_memory: convert::duration(convert::micros_from_ms("request_memory", self.request_memory_ms)?),
            deny_cache_max: milliseconds("deny_cache_max", "1000", &self.deny_cache_max_ms)?,
            report: switch("report", &self.report)?,
            ..Options::default()
        })
    }
}

/// As the ini writes it: `On` is 1 there, and `Off` nothing.
fn switch(what: &str, (text, _): &Setting) -> Result<bool> {
    match text.trim() {
        "1" => Ok(true),
        "0" => Ok(false),
        other => {
            let message = format!("{what} of \"{other}\" is neither On nor Off: write it as 1 or 0");
            Err(Error::new(Code::InvalidArgument, message))
        }
    }
}

/// A parameter of so many milliseconds, as the text of a setting.
pub fn given_ms(given: &Maybe<Int>, place: u32) -> Outcome<Option<Cow<'static, str>>> {
    Ok(given.0.as_ref().map(|number| number.get(place)).transpose()?.map(|ms| ms.to_string().into()))
}

fn milliseconds(what: &str, example: &str, (text, _): &Setting) -> Result<Duration> {
    let number = text.trim().parse().map_err(|_| {
        let message = format!("{what} of \"{text}\" is not a whole number of milliseconds: write it as {example}");
        Error::new(Code::InvalidArgument, message)
    })?;
    Ok(convert::duration(convert::micros_from_ms(what, number)?))
}
