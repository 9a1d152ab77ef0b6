//! A blocking connection with its buffers: writes what was encoded, reads one reply after another.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use super::deadline::SLICE;
use super::open::{Connection, not_redis};
use super::stream::Stream;
use crate::base::clock::ServerClock;
use crate::base::endpoint::Server;
use crate::base::error::{Code, Error};
use crate::call::resp::{self, Parser, Reply, ReplyLimit};

/// A connection with its buffers.
pub(crate) struct Wire {
    stream: Stream,
    pub(crate) clock: ServerClock,
    parser: Parser,
    out: Vec<u8>,
    /// What was just read; kept, so that it is not zeroed for each call.
    buffer: Box<[u8; 4096]>,
    /// The read and write timeout that the socket has now.
    slice: Duration,
    /// When a reply came last.
    pub(crate) last_used: Instant,
    /// That of its connection.
    pub(crate) epoch: u64,
}

/// How a connection failed a call.
pub(crate) enum Failure {
    /// No byte of the call can have been acted upon.
    NotSent(Error),
    /// The call was sent; nobody knows whether it ran.
    Unknown(Error),
}

/// Why a connection is of no use any more.
pub(crate) enum Broken {
    /// The caller wants no more.
    Interrupted,
    /// The deadline is over.
    TimedOut,
    /// The connection failed, or was refused.
    Failed(Failure),
}

impl Wire {
    /// A new connection.
    pub(crate) fn new(Connection { stream, clock, epoch }: Connection) -> Wire {
        let (slice, last_used) = (Duration::ZERO, Instant::now());
        let buffer = Box::new([0; 4096]);
        Wire { stream, clock, parser: Parser::default(), out: Vec::new(), buffer, slice, last_used, epoch }
    }

    /// Whether all that came was taken.
    pub(crate) fn is_drained(&mut self) -> bool {
        self.parser.is_empty() && !self.stream.has_decrypted()
    }

    /// Whether the peer has hung up, or anything lies here that nobody asked for.
    pub(crate) fn hung_up(&mut self) -> bool {
        self.stream.hung_up(self.last_used)
    }

    /// Forgets what was encoded.
    pub(crate) fn clear(&mut self) {
        resp::recycle(&mut self.out);
    }

    /// What is to be sent, for a call to be encoded behind it, and what is known of the server's clock.
    pub(crate) fn outgoing(&mut self) -> (&mut Vec<u8>, &ServerClock) {
        (&mut self.out, &self.clock)
    }

    /// Asks how many replicas have what was written on this connection, once so many of them have it or `patience` is over.
    pub(crate) fn acks(
        &mut self,
        replicas: u32,
        patience: Duration,
        timeout: Duration,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<Reply, Broken> {
        self.out.clear();
        let (replicas, ms) = (replicas.to_string(), patience.as_millis().to_string());
        resp::command(&mut self.out, &[b"WAIT", replicas.as_bytes(), ms.as_bytes()]);
        self.trip(Instant::now() + patience + timeout, ReplyLimit::TINY, server, interrupted)
    }

    /// Writes what was encoded and reads one reply.
    pub(crate) fn trip(
        &mut self,
        deadline: Instant,
        limit: ReplyLimit,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<Reply, Broken> {
        self.send(deadline, server, interrupted)?;
        self.receive(deadline, limit, server, interrupted)
    }

    /// Writes what was encoded.
    pub(crate) fn send(
        &mut self,
        deadline: Instant,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<(), Broken> {
        self.bound(deadline).map_err(|e| gone(server, &e.to_string()))?;
        let mut written = 0;
        while written < self.out.len() || self.stream.wants_write() {
            let rest = &self.out[written..];
            let wrote = if rest.is_empty() { self.stream.flush().map(|()| 0) } else { self.stream.write(rest) };
            match wrote {
                Ok(n) => written += n,
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                        self.pause(deadline, interrupted)?;
                    }
                    _ if written == 0 => {
                        let error = Error::new(Code::Unavailable, format!("{server} closed the connection ({e})"));
                        return Err(Broken::Failed(Failure::NotSent(error)));
                    }
                    _ => return Err(gone(server, &e.to_string())),
                },
            }
            // One that takes it in crumbs is not waited for any longer than one that takes nothing.
            if written < self.out.len() {
                if Instant::now() >= deadline {
                    return Err(Broken::TimedOut);
                }
                self.bound(deadline).map_err(|e| gone(server, &e.to_string()))?;
            }
        }
        Ok(())
    }

    /// Reads one reply.
    pub(crate) fn receive(
        &mut self,
        deadline: Instant,
        limit: ReplyLimit,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<Reply, Broken> {
        // Of several replies one read may have brought more than the first.
        if let Some(reply) = self.next(limit, server)? {
            return Ok(reply);
        }
        let mut asked = None;
        loop {
            let long = self.parser.missing() > self.buffer.len();
            let read = match long {
                true => self.parser.read_from(&mut self.stream),
                false => self.stream.read(&mut self.buffer[..]),
            };
            match read {
                Ok(0) => return Err(gone(server, "it closed the connection")),
                Ok(_) if long => {}
                Ok(n) => self.parser.feed(&self.buffer[..n]),
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                        self.pause(deadline, interrupted)?;
                        continue;
                    }
                    _ => return Err(gone(server, &e.to_string())),
                },
            }
            if let Some(reply) = self.next(limit, server)? {
                self.last_used = Instant::now();
                return Ok(reply);
            }
            // One that drips is not waited for any longer than one that says nothing.
            let now = Instant::now();
            if now >= deadline || now.duration_since(*asked.get_or_insert(now)) >= SLICE {
                self.pause(deadline, interrupted)?;
                asked = Some(now);
            }
            self.bound(deadline).map_err(|e| gone(server, &e.to_string()))?;
        }
    }

    /// The next reply, if it is here whole.
    fn next(&mut self, limit: ReplyLimit, server: &Server) -> std::result::Result<Option<Reply>, Broken> {
        let garbage = |found: &str| Broken::Failed(Failure::Unknown(not_redis(server, found)));
        self.parser.next_reply(limit).map_err(|error| garbage(&error.found))
    }

    /// After a nap on the socket: is it over, and how long may the next nap be?
    fn pause(&mut self, deadline: Instant, interrupted: &mut dyn FnMut() -> bool) -> std::result::Result<(), Broken> {
        if interrupted() {
            return Err(Broken::Interrupted);
        }
        if Instant::now() >= deadline {
            return Err(Broken::TimedOut);
        }
        // A socket that takes no option will fail the next read, which says more.
        let _ = self.bound(deadline);
        Ok(())
    }

    fn bound(&mut self, deadline: Instant) -> std::io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        // Whole slices, so that on the fast path the option is set once per connection.
        let slice = if left >= SLICE { SLICE } else { left.max(Duration::from_millis(1)) };
        if slice != self.slice {
            self.stream.set_timeouts(slice)?;
            self.slice = slice;
        }
        Ok(())
    }
}

fn gone(server: &Server, why: &str) -> Broken {
    let message = format!("{server} went away during the call ({why}): it may or may not have been counted");
    Broken::Failed(Failure::Unknown(Error::new(Code::Unavailable, message)))
}
