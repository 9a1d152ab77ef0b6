//! The wire format of Redis, version 2 of RESP: a writer of commands and an incremental parser of replies.
//!
//! Own code because it is the hot path of every driver: one buffer out, no allocation but the reply itself, and a reply
//! may arrive in any number of pieces. The peer is not trusted: each byte is looked at once, and whoever asked says how
//! long the reply can be.

use std::fmt;
use std::io::{self, Read};

use crate::base::error::shown;

/// A reply of the server.
#[derive(Clone, PartialEq, Eq)]
pub enum Reply {
    /// No value.
    Nil,
    /// An integer.
    Int(i64),
    /// Bytes, or a status such as `OK`.
    Bytes(Vec<u8>),
    /// An error, such as `NOSCRIPT No matching script.`
    Error(String),
    /// Several values.
    Array(Vec<Reply>),
}

impl Reply {
    /// The fields of a script's reply: a list of them. Numbers that come first may be one text, each of 8 bytes, the least
    /// significant first: a server makes a text in less time than as many numbers.
    ///
    /// # Errors
    /// The reply itself if it is something else.
    pub fn into_fields(self) -> Result<Vec<Reply>, Reply> {
        match self {
            Reply::Array(mut fields) => {
                if let Some(numbers) = fields.first().and_then(Reply::numbers) {
                    fields.splice(..1, numbers);
                }
                Ok(fields)
            }
            other => other.numbers().ok_or(other),
        }
    }

    /// What a text of at least two numbers contains.
    fn numbers(&self) -> Option<Vec<Reply>> {
        let Reply::Bytes(text) = self else { return None };
        let (numbers, rest) = text.as_chunks();
        let number = |bytes: &[u8; 8]| Reply::Int(i64::from_le_bytes(*bytes));
        (numbers.len() >= 2 && rest.is_empty()).then(|| numbers.iter().map(number).collect())
    }
}

/// Shown of an array at most.
const SHOWN: usize = 8;

impl fmt::Debug for Reply {
    /// Short, whatever a stranger sent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Nil => f.write_str("Nil"),
            Reply::Int(number) => write!(f, "Int({number})"),
            Reply::Bytes(bytes) => write!(f, "Bytes(\"{}\")", shown(bytes)),
            Reply::Error(text) => write!(f, "Error(\"{}\")", shown(text.as_bytes())),
            Reply::Array(items) => {
                let rest = items.len().saturating_sub(SHOWN);
                let mut list = f.debug_list();
                list.entries(items.iter().take(SHOWN));
                if rest > 0 {
                    list.entry(&format_args!("and {rest} more"));
                }
                list.finish()
            }
        }
    }
}

/// The most that a reply may be. What is longer ends the connection when it says so, and is not waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplyLimit {
    /// As it travels.
    pub bytes: usize,
    /// The elements of all its arrays.
    pub items: usize,
}

impl ReplyLimit {
    /// For what logs in, asks for the time or subscribes, and for hints.
    pub(crate) const TINY: ReplyLimit = ReplyLimit { bytes: 4 << 10, items: 16 };
    /// For numbers and short texts: a decision about as many keys as one call takes, with all their rules.
    pub(crate) const SMALL: ReplyLimit = ReplyLimit { bytes: 160 << 10, items: 6 << 10 };

    /// Room for as many fields, with as many bytes in all of them, beside what is small.
    pub fn of(fields: usize, bytes: usize) -> ReplyLimit {
        /// What a field takes beside its bytes: the line of its length, or of a number.
        const LINE: usize = 32;
        ReplyLimit {
            bytes: fields.saturating_mul(LINE).saturating_add(bytes).saturating_add(ReplyLimit::SMALL.bytes),
            items: fields.saturating_add(ReplyLimit::SMALL.items),
        }
    }
}

/// Lines are shorter than this: Redis' own texts are.
const MAX_LINE: usize = 16 << 10;
/// Deeper replies than this are refused: ours are flat.
const MAX_DEPTH: usize = 8;

/// Begins a command of `parts` parts.
pub fn begin(out: &mut Vec<u8>, parts: usize) {
    out.push(b'*');
    push_decimal(out, parts as u64);
    out.extend_from_slice(b"\r\n");
}

/// Writes one part of a command.
pub fn part(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'$');
    push_decimal(out, bytes.len() as u64);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Writes one part of a command out of several pieces.
pub fn long_part(out: &mut Vec<u8>, pieces: &[&[u8]]) {
    out.push(b'$');
    push_decimal(out, pieces.iter().map(|piece| piece.len() as u64).sum());
    out.extend_from_slice(b"\r\n");
    pieces.iter().for_each(|piece| out.extend_from_slice(piece));
    out.extend_from_slice(b"\r\n");
}

/// Writes one part of a command: a number in decimal.
pub fn number_part(out: &mut Vec<u8>, number: u64) {
    part(out, itoa::Buffer::new().format(number).as_bytes());
}

/// Writes one part that is a number below zero, given without its sign.
pub fn negative_part(out: &mut Vec<u8>, number: u64) {
    part(out, itoa::Buffer::new().format(-i128::from(number)).as_bytes());
}

/// Writes a whole command.
pub fn command(out: &mut Vec<u8>, parts: &[&[u8]]) {
    begin(out, parts.len());
    parts.iter().for_each(|p| part(out, p));
}

fn push_decimal(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A buffer that grew beyond this is given back once it is empty.
const KEPT: usize = 1 << 20;
/// As much of a long reply is read at once.
const LONG_PIECE: usize = 256 << 10;

/// Empties a buffer of commands or replies; one that grew large is given back.
pub(crate) fn recycle(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT { *buffer = Vec::new() } else { buffer.clear() }
}

/// Bytes that no Redis server would send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotRedis {
    /// The first bytes of what came instead, fit to be shown.
    pub(crate) found: String,
}

/// Reads replies out of whatever pieces the socket delivers. What was understood of a reply is not looked at again.
#[derive(Default)]
pub(crate) struct Parser {
    buffer: Vec<u8>,
    start: usize,
    /// How long the buffer must be at least before another look at it makes sense.
    wanted: usize,
    /// Up to where no end of the line under way was found.
    scanned: usize,
    /// The arrays under way, outermost first.
    open: Vec<OpenArray>,
    /// How many bytes and elements of the reply under way were understood.
    taken: ReplyLimit,
}

/// An array under way.
struct OpenArray {
    items: Vec<Reply>,
    /// How many are missing, at least one.
    missing: usize,
}

impl Parser {
    /// Takes bytes that arrived.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.make_room();
        self.buffer.extend_from_slice(bytes);
    }

    /// How many bytes are missing for certain before a reply is whole.
    pub(crate) fn missing(&self) -> usize {
        self.wanted.saturating_sub(self.buffer.len())
    }

    /// Reads what is missing of a long reply, or a large piece of it, without a detour.
    pub(crate) fn read_from(&mut self, stream: &mut impl Read) -> io::Result<usize> {
        self.make_room();
        let (length, missing) = (self.buffer.len(), self.missing());
        self.buffer.reserve(missing);
        self.buffer.resize(length + missing.min(LONG_PIECE), 0);
        let read = stream.read(&mut self.buffer[length..]);
        self.buffer.truncate(length + *read.as_ref().unwrap_or(&0));
        read
    }

    fn make_room(&mut self) {
        if self.start == self.buffer.len() {
            recycle(&mut self.buffer);
        } else if self.start > 64 << 10 {
            self.buffer.drain(..self.start);
        } else {
            return;
        }
        self.wanted = self.wanted.saturating_sub(self.start);
        self.scanned = self.scanned.saturating_sub(self.start);
        self.start = 0;
    }

    /// Whether nothing was read that no reply has taken yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.buffer.len() && self.open.is_empty()
    }

    /// The next whole reply, or none if more bytes are needed. It may be as long as `limit` says; the same must be said
    /// until it is whole.
    ///
    /// # Errors
    /// [`NotRedis`] for bytes that are not RESP, or are more: the connection is of no use any more.
    pub(crate) fn next_reply(&mut self, limit: ReplyLimit) -> Result<Option<Reply>, NotRedis> {
        if self.missing() > 0 {
            return Ok(None);
        }
        loop {
            let mut cursor = ReplyCursor { bytes: &self.buffer, at: self.start, wanted: 0, scanned: self.scanned };
            let left = limit.bytes.saturating_sub(self.taken.bytes);
            let part = cursor.part(left, limit.items.saturating_sub(self.taken.items));
            let mut value = match part {
                Ok(ReplyPart::Array(length)) if self.open.len() < MAX_DEPTH => {
                    self.taken.items += length;
                    self.take_up_to(cursor.at);
                    if length > 0 {
                        // The count is the peer's word: no memory is reserved for it that others would miss.
                        self.open.push(OpenArray { items: Vec::with_capacity(length.min(64)), missing: length });
                        continue;
                    }
                    Reply::Array(Vec::new())
                }
                Ok(ReplyPart::Value(value)) => {
                    self.take_up_to(cursor.at);
                    value
                }
                Err(Stop::Incomplete) => {
                    (self.wanted, self.scanned) = (cursor.wanted, cursor.scanned);
                    return Ok(None);
                }
                Ok(ReplyPart::Array(_)) | Err(Stop::Garbage) => {
                    return Err(NotRedis { found: shown(&self.buffer[self.start..]) });
                }
            };
            loop {
                let Some(array) = self.open.last_mut() else {
                    self.taken = ReplyLimit::default();
                    return Ok(Some(value));
                };
                array.items.push(value);
                array.missing -= 1;
                if array.missing > 0 {
                    break;
                }
                value = Reply::Array(self.open.pop().map(|array| array.items).unwrap_or_default());
            }
        }
    }

    fn take_up_to(&mut self, end: usize) {
        self.taken.bytes += end - self.start;
        self.start = end;
    }
}

enum Stop {
    Incomplete,
    Garbage,
}

enum ReplyPart {
    Value(Reply),
    /// The beginning of an array of so many.
    Array(usize),
}

struct ReplyCursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Up to where the bytes must reach at least.
    wanted: usize,
    /// Up to where no end of a line was found before.
    scanned: usize,
}

impl<'a> ReplyCursor<'a> {
    /// The next part of a reply, which may have so many bytes and elements.
    fn part(&mut self, bytes: usize, items: usize) -> Result<ReplyPart, Stop> {
        let kind = *self.bytes.get(self.at).ok_or(Stop::Incomplete)?;
        if !matches!(kind, b':' | b'$' | b'*' | b'+' | b'-') {
            return Err(Stop::Garbage);
        }
        let begin = self.at;
        self.at += 1;
        let line = self.line(bytes.min(MAX_LINE))?;
        let value = match kind {
            b':' => Reply::Int(integer(line)?),
            b'+' => Reply::Bytes(line.to_vec()),
            b'-' => Reply::Error(String::from_utf8_lossy(line).into_owned()),
            b'$' => match length(line, bytes.saturating_sub(self.at - begin + 2))? {
                None => Reply::Nil,
                Some(length) => self.bulk(length)?,
            },
            _ => match length(line, items)? {
                None => Reply::Nil,
                Some(length) => return Ok(ReplyPart::Array(length)),
            },
        };
        Ok(ReplyPart::Value(value))
    }

    fn line(&mut self, most: usize) -> Result<&'a [u8], Stop> {
        let from = self.at.max(self.scanned);
        let end = self.bytes[from..].iter().position(|b| *b == b'\r').map(|at| from + at);
        // Redis' own lines are short; a longer one is a stranger's.
        if end.unwrap_or(self.bytes.len()) - self.at > most {
            return Err(Stop::Garbage);
        }
        self.scanned = end.unwrap_or(self.bytes.len());
        match end.map(|end| self.bytes.get(end + 1)) {
            Some(Some(b'\n')) => {
                let line = &self.bytes[self.at..self.scanned];
                self.at = self.scanned + 2;
                Ok(line)
            }
            Some(Some(_)) => Err(Stop::Garbage),
            Some(None) | None => Err(Stop::Incomplete),
        }
    }

    fn bulk(&mut self, length: usize) -> Result<Reply, Stop> {
        let end = self.at + length + 2;
        let Some(whole) = self.bytes.get(self.at..end) else {
            self.wanted = end;
            return Err(Stop::Incomplete);
        };
        let (body, end) = whole.split_at(length);
        if end != b"\r\n" {
            return Err(Stop::Garbage);
        }
        self.at += length + 2;
        Ok(Reply::Bytes(body.to_vec()))
    }
}

fn integer(line: &[u8]) -> Result<i64, Stop> {
    let (negative, digits) = line.strip_prefix(b"-").map_or((false, line), |digits| (true, digits));
    if digits.is_empty() {
        return Err(Stop::Garbage);
    }
    // Gathered below zero, where the range is wider by one.
    let below = digits.iter().try_fold(0_i64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { sum.checked_mul(10)?.checked_sub(i64::from(digit)) }
    });
    let value = if negative { below } else { below.and_then(i64::checked_neg) };
    value.ok_or(Stop::Garbage)
}

/// The length of a bulk string or array; none for -1.
fn length(line: &[u8], most: usize) -> Result<Option<usize>, Stop> {
    match integer(line)? {
        -1 => Ok(None),
        n => usize::try_from(n).ok().filter(|n| *n <= most).map(Some).ok_or(Stop::Garbage),
    }
}

#[cfg(test)]
mod tests;
