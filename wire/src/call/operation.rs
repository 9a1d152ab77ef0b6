//! The definition of an operation, written once and without I/O: which script, which arguments, its twin, how the
//! answer is read, and what is answered when Redis cannot.

use std::time::Duration;

use crate::base::error::{Code, Error, Result};
use crate::base::source::Source;
use crate::call::answer::Answer;
use crate::call::args::Args;
use crate::call::known::Lesson;
use crate::call::resp::{Reply, ReplyLimit};
use crate::call::script::Script;
use crate::call::space::Space;
use crate::metrics::Feature;

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

/// What a call may do to what is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Looks,
    /// It writes. Sent again, it leaves what once would have left.
    Repeatable,
    /// It writes. It must not be sent again when nobody knows whether it ran.
    Once,
}

/// What an operation is about.
pub struct Frame<'a> {
    /// The script.
    pub script: &'a Script,
    /// The Redis keys, in the script's order.
    pub keys: &'a [Vec<u8>],
    /// What it may do to what is stored.
    pub effect: Effect,
    /// How it calls itself in messages: `release of`, `lock "invoice:42"`.
    pub name: (&'a str, &'a str),
}

impl<'a> Frame<'a> {
    /// Of an operation that says by itself which keys it has, and how it is called.
    pub fn bare(script: &'a Script, effect: Effect) -> Frame<'a> {
        Frame { script, keys: &[], effect, name: ("", "") }
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

/// One call of one script. The first two arguments of every script, the time and the deadline, belong to whoever runs it.
pub trait Operation: Send + Sync {
    /// What it is made for.
    fn feature(&self) -> Feature;
    /// What it is about.
    fn frame(&self) -> Frame<'_>;
    /// Its script.
    fn script(&self) -> &Script {
        self.frame().script
    }
    /// The Redis keys, in the script's order; every operation has the first.
    fn key(&self, at: usize) -> Option<&[u8]> {
        self.frame().keys.get(at).map(Vec::as_slice)
    }
    /// Whether every second of its keys is for hints alone, and may be left out: that costs others who wait their time. A server whose
    /// slot is on its way refuses several keys of which it lacks one.
    fn has_spare_keys(&self) -> bool {
        false
    }
    /// Gives the arguments after the common two, if there are any.
    fn args(&self, _args: &mut Args<'_>) {}
    /// How many there are.
    fn arg_count(&self) -> usize {
        let mut args = Args::counting();
        self.args(&mut args);
        args.count()
    }
    /// Writes them as RESP parts.
    fn encode_args(&self, out: &mut Vec<u8>) {
        self.args(&mut Args::writing(out));
    }
    /// With which others it may travel; none if it always travels alone.
    fn bundle(&self) -> Option<Bundle<'_>> {
        None
    }
    /// Whether it may write: then it carries a deadline.
    fn mutates(&self) -> bool {
        self.frame().effect != Effect::Looks
    }
    /// The most that its script answers.
    fn reply_limit(&self) -> ReplyLimit {
        ReplyLimit::SMALL
    }
    /// Whether its script has written, as this answer shows: then Redis takes writes. Not sure is no.
    fn has_written(&self, answer: &Answer) -> bool {
        self.mutates() && answer.get() == Some(&true)
    }
    /// The answer, if it is known without asking.
    fn local_answer(&self) -> Option<Answer> {
        None
    }
    /// It is about to be sent, and can run for so long.
    fn about_to_send(&mut self, _timeout: Duration) {}
    /// Redis has answered this.
    fn answered(&self, _answer: &Answer) {}
    /// Whether it may be sent again when nobody knows whether it ran.
    fn repeatable(&self) -> bool {
        self.frame().effect != Effect::Once
    }
    /// Whether it gives back what is its caller's alone: it is tried again, while there is time, when the server cannot be
    /// reached, and done however late it arrives.
    fn gives_back(&self) -> bool {
        false
    }
    /// The script in Rust. Same reply.
    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>>;
    /// Reads the reply after its first two fields: a flag, unless an operation says otherwise.
    fn decode(&self, fields: &[Reply], _source: Source) -> Result<Answer> {
        Ok(Answer::new(flag(fields, 0)?))
    }
    /// As [`decode`](Operation::decode), of a call that was sent again because nobody knew whether it had run.
    fn decode_repeated(&self, fields: &[Reply], source: Source) -> Result<Answer> {
        self.decode(fields, source)
    }
    /// As [`decode`](Operation::decode), but it may take what is large out of the fields.
    fn decode_taking(&self, fields: &mut [Reply], source: Source) -> Result<Answer> {
        self.decode(fields, source)
    }
    /// Takes the answer of one call and returns that of the whole; none if there is more to ask: then the next call is made.
    ///
    /// # Errors
    /// `internal` for an answer of another kind.
    fn gather(&mut self, answer: Answer) -> Result<Option<Answer>> {
        Ok(Some(answer))
    }
    /// Has the next call ask only about the first of its keys, as many as lie in one slot, and calls after it about the
    /// others; false if all keys must be decided together.
    fn narrow(&mut self, _slot_of: fn(&[u8]) -> u16) -> bool {
        false
    }
    /// The answer in place of `unavailable` or `timeout`, whatever `on_error` says.
    fn without_redis(&self, _error: &Error) -> Option<Answer> {
        None
    }
    /// The answer that nobody computed, or none if this operation must not have one.
    fn fallback(&self, _source: Source, _retry_after: u64) -> Option<Answer> {
        None
    }
    /// After how many microseconds a caller who waits may ask again; none if this answer ends its wait.
    fn retry_after(&self, _answer: &Answer) -> Option<u64> {
        None
    }
    /// Whether this answer grants something that replicas are to have too.
    fn is_grant(&self, _answer: &Answer) -> bool {
        false
    }
    /// It is over: nothing but [`finish`](Operation::finish) comes after this, whoever gave it.
    fn on_end(&self, _result: &Result<Answer>) {}
    /// What the caller gets for the final answer, whoever gave it.
    fn finish(&self, answer: Answer) -> Result<Answer> {
        Ok(answer)
    }
    /// What this reply of Redis, after its first two fields, says of its keys to the process' own counting
    /// ([`OnError::Local`]); a reply that is not understood says nothing.
    fn tells(&self, _fields: &[Reply], _learn: &mut dyn FnMut(&[u8], Lesson<'_>)) {}
    /// Whether the twin may stand in while Redis is away.
    fn may_run_locally(&self) -> bool {
        false
    }
    /// How the operation calls itself in messages, with the key: `consume of "user:42" by limiter "checkout"`.
    fn describe(&self) -> String {
        let (what, whose) = self.frame().name;
        format!("{what} {whose}")
    }
}

/// An unsigned field of a reply.
pub fn unsigned(fields: &[Reply], at: usize) -> Result<u64> {
    match fields.get(at) {
        Some(Reply::Int(n)) if *n >= 0 => Ok(*n as u64),
        other => Err(odd_reply(format!("field {at} is {other:?}"))),
    }
}

/// A field of a reply that says yes or no.
pub fn flag(fields: &[Reply], at: usize) -> Result<bool> {
    match fields.get(at) {
        Some(Reply::Int(flag @ (0 | 1))) => Ok(*flag == 1),
        other => Err(odd_reply(format!("field {at} is {other:?}"))),
    }
}

/// Bytes in a field of a reply.
pub fn bytes(fields: &[Reply], at: usize) -> Result<Vec<u8>> {
    match fields.get(at) {
        Some(Reply::Bytes(bytes)) => Ok(bytes.clone()),
        other => Err(odd_reply(format!("field {at} is {other:?}"))),
    }
}

/// A number as a field of a twin's reply.
pub fn int(n: u64) -> Reply {
    Reply::Int(n as i64)
}

/// The error for a reply that our scripts do not make.
pub fn odd_reply(what: String) -> Error {
    Error::new(
        Code::Internal,
        format!(
            "the script gave an impossible answer ({what}): is there a proxy in between, or a script of another version?"
        ),
    )
}
