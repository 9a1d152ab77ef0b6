//! What a process does around a command: what it knows by itself, what it remembers, and what it answers when Redis cannot.

use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::base::source::Source;
use crate::call::answer::Answer;
use crate::call::resp::Reply;
use crate::call::script::Script;
use crate::call::space::Lesson;

/// What a caller wants done when Redis cannot answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// Raise `unavailable` or `timeout`.
    #[default]
    Raise,
    /// Admit.
    Open,
    /// Deny.
    Closed,
    /// Decide by the same policy in this process' memory until Redis works again, beginning with what Redis answered last about the
    /// key. All clients of the process count together, and what was counted stays counted until its window ends: so each
    /// process admits at most one allowance by itself. Up to 65,536 keys and 32 MiB; those that used the smallest share of
    /// their limit are forgotten first.
    Local,
}

impl OnError {
    /// Parses `raise`, `open`, `closed` or `local`.
    ///
    /// # Errors
    /// `invalid_argument` for another word.
    pub fn parse(text: &str) -> Result<OnError> {
        match text {
            "raise" => Ok(OnError::Raise),
            "open" => Ok(OnError::Open),
            "closed" => Ok(OnError::Closed),
            "local" => Ok(OnError::Local),
            other => Err(Error::invalid(format!(
                "on_error \"{}\" is unknown: use raise, open, closed or local",
                crate::base::error::shown(other.as_bytes())
            ))),
        }
    }
}

/// Calls that differ in nothing but their keys may travel as one.
pub struct Bundle<'a> {
    /// Takes a key of each and the arguments of one. Answers what each would be answered, or nothing for a key that failed:
    /// then nothing was done there.
    pub script: &'a Script,
    /// The same for all that may travel together: the address of what they have in common, and an amount.
    pub kind: (usize, u64),
    /// What their keys begin with; calls with another beginning are about other keys.
    pub stem: &'a [u8],
}

/// What a process does around a command, in the order of its methods.
pub trait Around {
    /// The answer, if it is known without asking.
    fn known(&self) -> Option<Answer> {
        None
    }
    /// Has the next call ask only about the first of its keys, as many as lie in one slot, and calls after it about the
    /// others; false if all keys must be decided together.
    fn narrow(&mut self, _slot_of: fn(&[u8]) -> u16) -> bool {
        false
    }
    /// With which others it may travel; none if it always travels alone.
    fn bundle(&self) -> Option<Bundle<'_>> {
        None
    }
    /// It is about to be sent, and can run for so long.
    fn on_send(&mut self, _timeout: Duration) {}
    /// What this reply of Redis, after its first two fields, says of its keys to the process' own counting
    /// ([`OnError::Local`]); a reply that is not understood says nothing.
    fn teach(&self, _fields: &[Reply], _learn: &mut dyn FnMut(&[u8], Lesson<'_>)) {}
    /// Redis has answered this.
    fn on_answer(&self, _answer: &Answer) {}
    /// The answer in place of `unavailable` or `timeout`, whatever `on_error` says.
    fn without_redis(&self, _error: &Error) -> Option<Answer> {
        None
    }
    /// Whether the twin may stand in while Redis is away.
    fn may_run_locally(&self) -> bool {
        false
    }
    /// The answer that nobody computed, or none if this command must not have one.
    fn fallback(&self, _source: Source, _retry_after: u64) -> Option<Answer> {
        None
    }
    /// Takes the answer of one call and returns that of the whole; none if there is more to ask: then the next call is made.
    ///
    /// # Errors
    /// `internal` for an answer of another kind.
    fn gather(&mut self, answer: Answer) -> Result<Option<Answer>> {
        Ok(Some(answer))
    }
    /// After how many microseconds a caller who waits may ask again; none if this answer ends its wait.
    fn retry_after(&self, _answer: &Answer) -> Option<u64> {
        None
    }
    /// It is over with this result, whoever gave it. Returns what the caller gets.
    ///
    /// # Errors
    /// That of the result, and what the command makes an error of.
    fn finish(&self, result: Result<Answer>) -> Result<Answer> {
        result
    }
}
