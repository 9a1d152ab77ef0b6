//! The wire format of Redis, version 2 of RESP: a writer of commands and an incremental reader of replies.
//!
//! Own code because it is the hot path of every driver: one buffer out, no allocation but the reply itself, and a reply
//! may arrive in any number of pieces.

use std::io::{self, Read};

use crate::error::shown;

/// A reply of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    Nil,
    /// An integer.
    Int(i64),
    /// Bytes, or a status such as `OK`.
    Bytes(Vec<u8>),
    /// An error, such as `NOSCRIPT No matching script.`
    Error(String),
    /// Several values.
    Array(Vec<Value>),
}

/// Longer replies than this are refused: nothing we ask for is that long.
const MAX_BULK: usize = 512 << 20;
/// More elements than this are refused.
const MAX_ARRAY: usize = 1 << 20;
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
    let mut digits = [0; 20];
    part(out, decimal(number, &mut digits));
}

/// Writes one part that is a number below zero, given without its sign.
pub fn negative_part(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    part(out, &[b"-", decimal(number, &mut digits)].concat());
}

/// Writes a whole command.
pub fn command(out: &mut Vec<u8>, parts: &[&[u8]]) {
    begin(out, parts.len());
    parts.iter().for_each(|p| part(out, p));
}

fn push_decimal(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    out.extend_from_slice(decimal(number, &mut digits));
}

fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[at..];
        }
    }
}

/// A buffer that grew beyond this is given back once it is empty.
const KEPT: usize = 1 << 20;
/// As much of a long reply is read at once.
const LONG_PIECE: usize = 256 << 10;

/// Empties a buffer of commands or replies; one that grew large is given back.
pub fn recycle(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT { *buffer = Vec::new() } else { buffer.clear() }
}

/// Bytes that no Redis server would send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRedis {
    /// The first bytes of what came instead, fit to be shown.
    pub found: String,
}

/// Reads replies out of whatever pieces the socket delivers.
#[derive(Default)]
pub struct Reader {
    buffer: Vec<u8>,
    start: usize,
    /// How long the buffer must be at least before another look at it makes sense.
    wanted: usize,
}

impl Reader {
    /// Takes bytes that arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.make_room();
        self.buffer.extend_from_slice(bytes);
    }

    /// How many bytes are missing for certain before a reply is whole.
    pub fn missing(&self) -> usize {
        self.wanted.saturating_sub(self.buffer.len())
    }

    /// Reads what is missing of a long reply, or a large piece of it, without a detour.
    pub fn read_from(&mut self, stream: &mut impl Read) -> io::Result<usize> {
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
        self.start = 0;
    }

    /// Whether nothing was read that no reply has taken yet.
    pub fn is_empty(&self) -> bool {
        self.start == self.buffer.len()
    }

    /// The next whole reply, or none if more bytes are needed.
    ///
    /// # Errors
    /// [`NotRedis`] for bytes that are not RESP: the connection is of no use any more.
    pub fn next_reply(&mut self) -> Result<Option<Value>, NotRedis> {
        if self.missing() > 0 {
            return Ok(None);
        }
        let mut cursor = Cursor { bytes: &self.buffer, at: self.start, wanted: 0 };
        match cursor.value(0) {
            Ok(value) => {
                self.start = cursor.at;
                Ok(Some(value))
            }
            Err(Stop::Incomplete) => {
                self.wanted = cursor.wanted;
                Ok(None)
            }
            Err(Stop::Garbage) => Err(NotRedis { found: shown(&self.buffer[self.start..]) }),
        }
    }
}

enum Stop {
    Incomplete,
    Garbage,
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Up to where the bytes must reach at least.
    wanted: usize,
}

impl<'a> Cursor<'a> {
    fn value(&mut self, depth: usize) -> Result<Value, Stop> {
        let kind = *self.bytes.get(self.at).ok_or(Stop::Incomplete)?;
        if !matches!(kind, b':' | b'$' | b'*' | b'+' | b'-') || depth > MAX_DEPTH {
            return Err(Stop::Garbage);
        }
        self.at += 1;
        let line = self.line()?;
        match kind {
            b':' => Ok(Value::Int(integer(line)?)),
            b'+' => Ok(Value::Bytes(line.to_vec())),
            b'-' => Ok(Value::Error(String::from_utf8_lossy(line).into_owned())),
            b'$' => match length(line, MAX_BULK)? {
                None => Ok(Value::Nil),
                Some(length) => self.bulk(length),
            },
            _ => match length(line, MAX_ARRAY)? {
                None => Ok(Value::Nil),
                Some(length) => self.array(length, depth),
            },
        }
    }

    fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|b| *b == b'\r') else {
            // Redis' own lines are short; a longer one is a stranger's.
            return Err(if rest.len() > 64 << 10 { Stop::Garbage } else { Stop::Incomplete });
        };
        match rest.get(end + 1) {
            Some(b'\n') => {
                self.at += end + 2;
                Ok(&rest[..end])
            }
            Some(_) => Err(Stop::Garbage),
            None => Err(Stop::Incomplete),
        }
    }

    fn bulk(&mut self, length: usize) -> Result<Value, Stop> {
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
        Ok(Value::Bytes(body.to_vec()))
    }

    fn array(&mut self, length: usize, depth: usize) -> Result<Value, Stop> {
        // The count is the peer's word: an unfinished array must not make us reserve memory for it.
        let mut items = Vec::with_capacity(length.min(64));
        for _ in 0..length {
            items.push(self.value(depth + 1)?);
        }
        Ok(Value::Array(items))
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
