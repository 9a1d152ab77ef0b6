//! What can go wrong, as a stable code and a sentence that says what to do.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use crate::base::format::FORMAT;
use crate::base::url::{cut, redacted};

/// The kind of an error. Its text form is the same in every language and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A value that can never be right: an empty key, a negative cost, an invalid URL.
    InvalidArgument,
    /// A policy that does not parse or has an impossible amount, period or unit.
    InvalidPolicy,
    /// Redis could not be reached, went away, or refused to work for now.
    Unavailable,
    /// No answer came in time.
    Timeout,
    /// The key in Redis holds another Redis type.
    WrongType,
    /// A newer version of Quotalock wrote the value of the key, in a form that this one does not know.
    NewerVersion,
    /// The keys of one call lie in different slots of a cluster.
    CrossSlot,
    /// Redis refused the password, the user or a command.
    NotPermitted,
    /// `require` was denied.
    Limited,
    /// A lock was not acquired in time.
    NotAcquired,
    /// A lock was lost.
    Lost,
    /// A loader of this value failed a short time ago.
    LoadFailed,
    /// The client was closed.
    Closed,
    /// A fault of Quotalock's own.
    Internal,
}

impl Code {
    /// Every code, in the order of the documentation.
    pub const ALL: [Code; 14] = [
        Code::InvalidArgument,
        Code::InvalidPolicy,
        Code::Unavailable,
        Code::Timeout,
        Code::WrongType,
        Code::NewerVersion,
        Code::CrossSlot,
        Code::NotPermitted,
        Code::Limited,
        Code::NotAcquired,
        Code::Lost,
        Code::LoadFailed,
        Code::Closed,
        Code::Internal,
    ];

    /// The code's stable text, such as `invalid_policy`.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::InvalidArgument => "invalid_argument",
            Code::InvalidPolicy => "invalid_policy",
            Code::Unavailable => "unavailable",
            Code::Timeout => "timeout",
            Code::WrongType => "wrong_type",
            Code::NewerVersion => "newer_version",
            Code::CrossSlot => "cross_slot",
            Code::NotPermitted => "not_permitted",
            Code::Limited => "limited",
            Code::NotAcquired => "not_acquired",
            Code::Lost => "lost",
            Code::LoadFailed => "load_failed",
            Code::Closed => "closed",
            Code::Internal => "internal",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An error: its [`Code`], a message that names the value, key or host and the cure, and for
/// [`Code::Limited`] the decision behind it ([`Error::cause`]).
#[derive(Clone, Debug)]
pub struct Error {
    code: Code,
    message: Box<str>,
    cause: Option<Box<Cause>>,
    /// Whether it is of no use to wait until it passes.
    lasting: bool,
}

/// What is behind an error: what a function of the caller's threw, as its language has it, or the answer that was one.
#[derive(Clone)]
pub struct Cause(Arc<dyn Any + Send + Sync>);

// It is only handed on.
impl UnwindSafe for Cause {}
impl RefUnwindSafe for Cause {}

impl Cause {
    /// Wraps it.
    pub fn new(thrown: impl Any + Send + Sync) -> Cause {
        Cause(Arc::new(thrown))
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cause")
    }
}

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes an error of `code` that says `message`.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Error { code, message: message.into().into_boxed_str(), cause: None, lasting: false }
    }

    /// Makes an `invalid_argument` that says `message`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::new(Code::InvalidArgument, message)
    }

    /// The same in other words.
    pub(crate) fn reworded<'a>(&'a self, how: impl FnOnce(&'a str) -> Cow<'a, str>) -> Self {
        Error { message: how(&self.message).into(), ..self.clone() }
    }

    /// The same, of which it is known that it does not pass by itself.
    pub(crate) fn lasting(self) -> Self {
        Error { lasting: true, ..self }
    }

    /// The same, with what is behind it.
    pub fn caused_by(self, cause: Option<Cause>) -> Self {
        Error { cause: cause.map(Box::new), ..self }
    }

    /// What is behind it, if that is a `T`: the decision that denied, for [`Code::Limited`], or what a function of the caller's threw.
    pub fn cause<T: Any>(&self) -> Option<&T> {
        self.cause.as_ref()?.0.downcast_ref()
    }

    /// Whether Redis was away, which may pass by itself.
    pub fn may_pass(&self) -> bool {
        matches!(self.code, Code::Unavailable | Code::Timeout) && !self.lasting
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The sentence for a person.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The error for keys of which one has a type that is not ours.
pub fn wrong_type(keys: &[&[u8]]) -> Error {
    let keys = one_of(keys);
    let message =
        format!("key {keys} holds another Redis type: rename it, delete it, or give this client another prefix");
    Error::new(Code::WrongType, message)
}

/// The error for keys of which one has a value in a format of a newer version.
pub fn newer_version(keys: &[&[u8]], format: u8) -> Error {
    let message = format!(
        "key {} has a value in format {format}, which a newer version of Quotalock wrote, and this version knows format \
         {FORMAT}: nothing was changed; update this process",
        one_of(keys)
    );
    Error::new(Code::NewerVersion, message)
}

/// Keys of which one is meant, for a message.
fn one_of(keys: &[&[u8]]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("\"{}\"", shown(key))).collect();
    keys.join(" or ")
}

/// A duration in microseconds for a message.
pub fn span(micros: u64) -> String {
    // Nothing has no unit, and callers give theirs in seconds or milliseconds.
    if micros == 0 { "0".to_owned() } else { format!("{:?}", Duration::from_micros(micros)) }
}

/// How long a caller waited, for a message.
pub fn within(wait: Duration) -> String {
    if wait.is_zero() { "at once".to_owned() } else { format!("within {} ms", wait.as_millis()) }
}

/// Shows bytes of a key or an argument in a message: as text where it is text, cut at 60 characters. A URL may stand
/// where it should not, and its password is left out there too.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.split_once("://") {
        Some((scheme, rest)) if rest.contains('@') || is_ours(scheme) => redacted(&text),
        _ => cut(&text),
    }
}

/// Whether a URL with this scheme is one of ours.
fn is_ours(scheme: &str) -> bool {
    let scheme = scheme.to_ascii_lowercase();
    ["redis", "rediss", "unix", "+cluster", "+sentinel"].iter().any(|ours| scheme.ends_with(ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_pass_is_trouble_that_is_not_lasting() {
        let may_pass = |code| Error::new(code, "no").may_pass();
        let codes = [Code::Unavailable, Code::Timeout, Code::NotPermitted, Code::Internal];
        assert_eq!(codes.map(may_pass), [true, true, false, false]);
        assert!(!Error::new(Code::Unavailable, "no").lasting().may_pass());
    }

    #[test]
    fn a_url_in_a_message_is_shown_without_its_password() {
        for (text, expected) in [
            ("redis://host:s3cret", "redis://***"),
            ("rediss+cluster://:s3cret@a", "rediss+cluster://***@a"),
            ("https://user:s3cret@host", "https://***@host"),
            ("https://host/a", "https://host/a"),
            ("user:42", "user:42"),
        ] {
            assert_eq!(shown(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_wait_is_written_in_milliseconds() {
        assert_eq!([0, 1_500].map(|ms| within(Duration::from_millis(ms))), ["at once", "within 1500 ms"]);
        assert_eq!([0, 1_500_000].map(span), ["0", "1.5s"]);
    }
}
