//! The definition of a command, written once and without I/O: which script, which keys and arguments, its twin, how the reply is
//! read; and what a process does [around](Around) it: what it knows by itself, what it remembers, and what it answers when Redis
//! cannot.

use std::time::Duration;

use crate::base::error::{Code, Error, Result, shown};
use crate::base::source::Source;
use crate::call::answer::Answer;
use crate::call::resp::{self, Reply, ReplyLimit};
use crate::call::script::Script;
use crate::call::space::{Lesson, Space};
use crate::metrics::Feature;

/// What a call may do to what is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Looks,
    /// It writes. Sent again, it leaves what once would have left.
    Repeatable,
    /// It writes. It must not be sent again if it is unknown whether it ran.
    Once,
    /// It gives back what is its caller's alone: it is tried again, while there is time, when the server cannot be reached, and done
    /// however late it arrives.
    GivesBack,
}

/// What a command is about.
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
    /// Of a command that says by itself which keys it has, and how it is called.
    pub fn bare(script: &'a Script, effect: Effect) -> Frame<'a> {
        Frame { script, keys: &[], effect, name: ("", "") }
    }
}

/// How a reply came.
#[derive(Clone, Copy)]
pub struct ReplyOrigin {
    /// Who replied.
    pub source: Source,
    /// Whether the command was sent again because nobody knew whether it had run.
    pub is_repeated: bool,
}

impl From<Source> for ReplyOrigin {
    fn from(source: Source) -> ReplyOrigin {
        ReplyOrigin { source, is_repeated: false }
    }
}

/// One call of one script. The first two arguments of every script, the time and the deadline, belong to whoever runs it.
pub trait Command: Send + Sync {
    /// What it is made for.
    fn feature(&self) -> Feature;
    /// What it is about.
    fn frame(&self) -> Frame<'_>;
    /// The Redis keys, in the script's order; every command has the first.
    fn key(&self, at: usize) -> Option<&[u8]> {
        self.frame().keys.get(at).map(Vec::as_slice)
    }
    /// Whether every second of its keys is for hints alone, and may be left out: that costs others who wait their time. A server
    /// whose slot is being moved refuses several keys of which it lacks one.
    fn has_spare_keys(&self) -> bool {
        false
    }
    /// Gives the arguments after the common two, if there are any.
    fn args(&self, _args: &mut Args<'_>) {}
    /// The most that its script answers.
    fn reply_limit(&self) -> ReplyLimit {
        ReplyLimit::SMALL
    }
    /// The script in Rust. Same reply.
    fn twin(&self, space: &mut dyn Space, now: u64) -> Result<Vec<Reply>>;
    /// Reads the reply after its first two fields: a flag, unless a command says otherwise. It may take what is large out of the
    /// fields.
    fn decode(&self, fields: &mut [Reply], _origin: ReplyOrigin) -> Result<Answer> {
        Ok(Answer::new(flag(fields, 0)?))
    }
    /// Whether its script has written, as this answer shows: then Redis takes writes. Not sure is no.
    fn has_written(&self, answer: &Answer) -> bool {
        self.mutates() && answer.get() == Some(&true)
    }
    /// How the command is called in messages, with the key: `consume of "user:42" by limiter "checkout"`.
    fn describe(&self) -> String {
        let (what, whose) = self.frame().name;
        format!("{what} {whose}")
    }
    /// What its process does around it, if anything.
    fn around(&self) -> Option<&dyn Around> {
        None
    }
    /// As [`around`](Command::around), to be changed.
    fn around_mut(&mut self) -> Option<&mut dyn Around> {
        None
    }
    /// Whether it may write: then it carries a deadline.
    fn mutates(&self) -> bool {
        self.frame().effect != Effect::Looks
    }
}

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
                shown(other.as_bytes())
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

/// Takes the arguments of a call: to count them first, since a command begins with the count, and then to write them.
pub struct Args<'a> {
    count: usize,
    out: Option<&'a mut Vec<u8>>,
}

impl<'a> Args<'a> {
    /// Only counts.
    pub(crate) fn counting() -> Args<'a> {
        Args { count: 0, out: None }
    }

    /// Writes RESP parts.
    pub(crate) fn writing(out: &'a mut Vec<u8>) -> Args<'a> {
        Args { count: 0, out: Some(out) }
    }

    /// How many came.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Gives bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.parts(1, |out| resp::part(out, bytes));
    }

    /// Gives a number, as decimal text.
    pub fn number(&mut self, number: u64) {
        self.parts(1, |out| resp::number_part(out, number));
    }

    /// Gives numbers, each an argument of its own.
    pub fn numbers<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.into_iter().for_each(|number| self.number(number));
    }

    /// So many parts, which `write` writes.
    pub fn parts(&mut self, count: usize, write: impl FnOnce(&mut Vec<u8>)) {
        self.count += count;
        if let Some(out) = &mut self.out {
            write(out);
        }
    }
}

impl dyn Command + '_ {
    /// Its script.
    pub(crate) fn script(&self) -> &Script {
        self.frame().script
    }

    /// How many arguments it has after the common two.
    pub(crate) fn arg_count(&self) -> usize {
        let mut args = Args::counting();
        self.args(&mut args);
        args.count()
    }

    /// Writes them as RESP parts.
    pub(crate) fn encode_args(&self, out: &mut Vec<u8>) {
        self.args(&mut Args::writing(out));
    }

    /// Whether it may be sent again when nobody knows whether it ran.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.frame().effect != Effect::Once
    }

    /// Whether it gives back what is its caller's alone.
    pub fn gives_back(&self) -> bool {
        self.frame().effect == Effect::GivesBack
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
