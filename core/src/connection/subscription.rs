//! A subscription to hints for those who wait: a connection that only listens, on a channel of its own.
//!
//! A hint is the id of a waiter and says that asking again may be worth it. Hints may be lost with the connection; whoever
//! rests does not rest long.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Mutex;
use std::time::Instant;

use super::deadline::{CallDeadline, interruption};
use super::dial::{Connection, dial, not_redis};
use super::stream::{Stream, poll};
use crate::base::endpoint::Server;
use crate::base::error::{Code, Error, Result, shown};
use crate::base::random;
use crate::call::resp::{self, Parser, ReplyLimit, Value};
use crate::state::lease::{Channel, Id};

/// One that never ends is read this often before others have their turn.
const READS_AT_ONCE: usize = 16;

/// A connection that was subscribed.
pub(crate) struct Subscription {
    stream: Stream,
    parser: Parser,
    channel: Channel,
}

/// What a listener heard.
pub(crate) enum Heard {
    /// The hint that it waited for.
    Hint,
    /// Nothing, and time is over.
    Nothing,
    /// Nothing any more: the connection has gone.
    Gone,
}

/// A new channel: 16 hexadecimal digits.
pub(crate) fn new_channel() -> Result<Channel> {
    let mut channel = Channel::default();
    for (digits, byte) in channel.chunks_exact_mut(2).zip(random::bytes::<8>()?) {
        digits.copy_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
    }
    Ok(channel)
}

fn hex(digit: u8) -> u8 {
    b"0123456789abcdef"[usize::from(digit)]
}

impl Subscription {
    /// Connects and subscribes, within the caller's patience.
    pub fn open(server: &Server, prefix: &[u8], channel: Channel, patience: CallDeadline<'_>) -> Result<Subscription> {
        let mut patience = patience;
        let Connection { stream, .. } = dial(server, &mut patience)?;
        let gone = |why: &str| {
            let message = format!("{server} went away while a waiter subscribed ({why}): look after the server");
            Error::new(Code::Unavailable, message)
        };
        stream.set_nonblocking(true).map_err(|e| gone(&e.to_string()))?;
        let mut subscription = Subscription { stream, parser: Parser::default(), channel };
        let mut out = Vec::new();
        resp::command(&mut out, &[b"SUBSCRIBE", &[prefix, &channel].concat()]);
        subscription.write(&out, &mut patience).map_err(|e| gone(&e.to_string()))?;
        loop {
            match subscription.next(&mut 0) {
                Ok(Some(Value::Array(parts))) if parts.first() == Some(&Value::Bytes(b"subscribe".to_vec())) => {
                    return Ok(subscription);
                }
                Ok(Some(Value::Error(text))) if text.starts_with("NOPERM") => {
                    let channels = shown(prefix);
                    return Err(Error::new(
                        Code::NotPermitted,
                        format!(
                            "the Redis user may not subscribe to wake-ups on {server}, which waiting needs: allow it with \
                             ACL SETUSER <user> +subscribe &{channels}*"
                        ),
                    ));
                }
                Ok(Some(other)) => return Err(not_redis(server, &format!("{other:?}"))),
                Ok(None) => patience.ready(subscription.stream.as_raw_fd(), false).map_err(|e| match e.kind() {
                    ErrorKind::Interrupted => interruption(),
                    _ => gone(&e.to_string()),
                })?,
                Err(e) => return Err(gone(&shown(e.to_string().as_bytes()))),
            }
        }
    }

    /// Where it listens.
    pub fn channel(&self) -> Channel {
        self.channel
    }

    pub fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Blocks until the hint for `id` comes or `until`, asking `interrupted` about 20 times a second.
    ///
    /// # Errors
    /// `internal` if the caller was interrupted.
    pub fn wait(&mut self, id: &Id, until: Instant, interrupted: &mut dyn FnMut() -> bool) -> Result<Heard> {
        let mut patience = CallDeadline::new(until, interrupted);
        loop {
            let mut hints = Vec::new();
            if self.listen(&mut hints).is_err() {
                return Ok(Heard::Gone);
            }
            if hints.contains(id) {
                return Ok(Heard::Hint);
            }
            let slice = Instant::now() + patience.slice().min(until.saturating_duration_since(Instant::now()));
            let looked = match poll(self.stream.as_raw_fd(), false, slice) {
                // Also of one that says something again and again, but not what is waited for.
                Ok(()) => patience.look_up(),
                Err(e) if e.kind() == ErrorKind::TimedOut => patience.look(),
                Err(_) => return Ok(Heard::Gone),
            };
            match looked {
                Ok(()) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => return Err(interruption()),
                Err(_) => return Ok(Heard::Nothing),
            }
        }
    }

    /// Reads the hints that have come, or some of them, without blocking.
    ///
    /// # Errors
    /// That of the connection, which is of no use any more.
    pub fn listen(&mut self, hints: &mut Vec<Id>) -> io::Result<()> {
        let mut reads = 0;
        while let Some(message) = self.next(&mut reads)? {
            let Value::Array(parts) = message else { continue };
            if let [Value::Bytes(kind), _, Value::Bytes(id)] = parts.as_slice()
                && kind == b"message"
                && let Ok(id) = Id::try_from(id.as_slice())
            {
                hints.push(id);
            }
        }
        Ok(())
    }

    /// The next message, if one is here whole. After so many reads only what no poll would show is read.
    fn next(&mut self, reads: &mut usize) -> io::Result<Option<Value>> {
        let mut buffer = [0; 1024];
        loop {
            let garbage = |_| io::Error::new(ErrorKind::InvalidData, "it does not speak as Redis does");
            if let Some(message) = self.parser.next_reply(ReplyLimit::TINY).map_err(garbage)? {
                return Ok(Some(message));
            }
            if *reads >= READS_AT_ONCE && !self.stream.has_decrypted() {
                return Ok(None);
            }
            *reads += 1;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.parser.feed(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn write(&mut self, bytes: &[u8], patience: &mut CallDeadline<'_>) -> io::Result<()> {
        let mut written = 0;
        while written < bytes.len() || self.stream.wants_write() {
            let rest = &bytes[written..];
            let wrote = if rest.is_empty() { self.stream.flush().map(|()| 0) } else { self.stream.write(rest) };
            match wrote {
                Ok(n) => written += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => patience.ready(self.stream.as_raw_fd(), true)?,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Idle subscriptions kept beyond this number are closed.
const KEPT: usize = 8;

/// The idle subscriptions of one client in one process.
#[derive(Default)]
pub(crate) struct IdleSubscriptions {
    idle: Mutex<Vec<Subscription>>,
}

impl IdleSubscriptions {
    /// One that still hears.
    pub fn take(&self) -> Option<Subscription> {
        let mut idle = self.idle.lock().ok()?;
        while let Some(mut subscription) = idle.pop() {
            // Hints for earlier waiters are of no use.
            if subscription.listen(&mut Vec::new()).is_ok() {
                return Some(subscription);
            }
        }
        None
    }

    /// Keeps one for the next who waits.
    pub fn keep(&self, subscription: Subscription) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < KEPT
        {
            idle.push(subscription);
        }
    }

    /// Closes those that are idle.
    pub fn close(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.clear();
        }
    }
}
