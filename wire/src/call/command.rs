//! The definition of a command, written once and without I/O: which script, which keys and arguments, its twin, and how the reply
//! is read.

use crate::base::error::{Code, Error, Result};
use crate::base::source::Source;
use crate::call::answer::Answer;
use crate::call::around::Around;
use crate::call::resp::{self, Reply, ReplyLimit};
use crate::call::script::Script;
use crate::call::space::Space;
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
