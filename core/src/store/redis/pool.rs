//! The blocking driver: a connection per thread at work, kept for the next call; one write and one read per call.

use std::io::{ErrorKind, Read, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::dial::{Connection, dial, not_redis};
use super::patience::{Patience, SLICE, interruption, sleep_until};
use super::refusal;
use super::stream::Stream;
use crate::client::Shared;
use crate::clock::ServerClock;
use crate::endpoint::Server;
use crate::error::{Code, Error, Result};
use crate::exchange::{Exchange, Failure, Step};
use crate::operation::Answer;
use crate::resp::{self, Most, Reader, Value};

/// Idle connections kept beyond this number are closed.
const KEPT: usize = 128;

/// The idle connections of one client in one process.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    connections: Vec<Wire>,
    closed: bool,
}

/// A connection with its buffers.
pub(super) struct Wire {
    stream: Stream,
    pub clock: ServerClock,
    reader: Reader,
    out: Vec<u8>,
    /// What was just read; kept, so that it is not zeroed for each call.
    buffer: Box<[u8; 4096]>,
    /// The read and write timeout that the socket has now.
    slice: Duration,
    last_used: Instant,
}

impl Pool {
    fn take(&self) -> Option<Wire> {
        self.idle.lock().ok()?.connections.pop()
    }

    /// Whether a connection lies ready.
    pub fn has_idle(&self) -> bool {
        self.idle.lock().is_ok_and(|idle| !idle.connections.is_empty())
    }

    pub(super) fn keep(&self, mut wire: Wire) {
        // Bytes behind the reply would be taken for the answer to the next call.
        if wire.reader.is_empty()
            && !wire.stream.has_decrypted()
            && let Ok(mut idle) = self.idle.lock()
            && !idle.closed
            && idle.connections.len() < KEPT
        {
            idle.connections.push(wire);
        }
    }

    /// Closes the idle connections that nothing was heard on since `then`: where one call waited in vain, they would
    /// cost their next callers a timeout each, while a new connection tells at once what is the matter.
    pub(super) fn distrust(&self, then: Instant) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.connections.retain(|wire| wire.last_used >= then);
        }
    }

    /// Closes the idle connections; those at work close when they come back.
    pub fn close(&self) {
        if let Ok(mut idle) = self.idle.lock() {
            idle.closed = true;
            idle.connections.clear();
        }
    }
}

/// Drives an exchange to its end on this thread.
pub(crate) fn run(mut exchange: Exchange, interrupted: &mut dyn FnMut() -> bool) -> Result<Answer> {
    let shared = exchange.shared().clone();
    loop {
        let step = match exchange.start() {
            Step::Send => send(&mut exchange, &shared, interrupted),
            step => step,
        };
        match step {
            Step::Done(answer) => return answer,
            Step::Send => {}
            Step::Sleep(pause) => sleep_until(Instant::now() + pause, interrupted)?,
        }
    }
}

/// One attempt: takes or makes a connection and repeats on it for as long as the exchange asks at once.
fn send(exchange: &mut Exchange, shared: &Shared, interrupted: &mut dyn FnMut() -> bool) -> Step {
    let server = match shared.endpoint.server() {
        Ok(server) => server,
        Err(error) => return Step::Done(Err(error)),
    };
    let pool = &shared.engine().pool;
    let mut wire = match connected(pool, shared, server, exchange.deadline(), interrupted) {
        Ok(wire) => wire,
        Err(error) => return exchange.on_failure(Failure::NotSent(error)),
    };
    loop {
        let reply = match wire.ask(exchange, server, interrupted) {
            Ok(reply) => reply,
            Err(Broken::Interrupted) => return Step::Done(Err(interruption())),
            Err(Broken::TimedOut) => {
                let asked = exchange.deadline().checked_sub(shared.timeout);
                asked.into_iter().for_each(|then| pool.distrust(then));
                return exchange.on_timeout();
            }
            // The peer was gone before we wrote: another connection may do.
            Err(Broken::Failed(Failure::NotSent(_))) => {
                match connected(pool, shared, server, exchange.deadline(), interrupted) {
                    Ok(fresh) => {
                        wire = fresh;
                        continue;
                    }
                    Err(error) => return exchange.on_failure(Failure::NotSent(error)),
                }
            }
            Err(Broken::Failed(failure)) => return exchange.on_failure(failure),
        };
        let mut step = exchange.on_reply(reply, &mut wire.clock);
        if let Some((replicas, patience)) = exchange.wanted_acks(&step) {
            step = match wire.acks(replicas, patience, shared.timeout, server, interrupted) {
                Ok(Value::Int(acks)) => exchange.on_acks(acks.max(0) as u64, step),
                Ok(Value::Error(text)) => {
                    return Step::Done(Err(refusal::not_permitted(&text, None, &server.to_string())));
                }
                Ok(other) => return exchange.on_failure(Failure::Unknown(not_redis(server, &format!("{other:?}")))),
                Err(Broken::Interrupted) => return Step::Done(Err(interruption())),
                Err(Broken::TimedOut) => return exchange.on_timeout(),
                Err(Broken::Failed(Failure::NotSent(error) | Failure::Unknown(error))) => {
                    return Step::Done(Err(error));
                }
            };
        }
        if exchange.wants_another_server() {
            pool.distrust(Instant::now());
            return step;
        }
        if !matches!(step, Step::Send) {
            pool.keep(wire);
            return step;
        }
    }
}

/// An idle connection that still has its peer, or a new one.
pub(super) fn connected(
    pool: &Pool,
    shared: &Shared,
    server: &Server,
    deadline: Instant,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Wire> {
    while let Some(mut wire) = pool.take() {
        if !wire.stream.hung_up(wire.last_used) {
            return Ok(wire);
        }
    }
    let began = Instant::now();
    let breaker = &shared.engine().breaker;
    match dial(server, &mut Patience::new(deadline, interrupted)) {
        Ok(Connection { stream, clock }) => {
            breaker.success();
            let slice = Duration::ZERO;
            Ok(Wire {
                stream,
                clock,
                reader: Reader::default(),
                out: Vec::new(),
                buffer: Box::new([0; 4096]),
                slice,
                last_used: began,
            })
        }
        Err(error) => {
            // An interruption says nothing about the server, nor does a dial that had little time left.
            let hurried = error.code() == Code::Timeout && deadline < began + shared.timeout / 2;
            if error.code() != Code::Internal && !hurried {
                breaker.failure(began.elapsed(), &error);
            }
            Err(error)
        }
    }
}

/// Why a connection is of no use any more.
pub(super) enum Broken {
    Interrupted,
    TimedOut,
    Failed(Failure),
}

impl Wire {
    /// Sends the call and reads its reply. After an error the connection is of no use.
    fn ask(
        &mut self,
        exchange: &Exchange,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<Value, Broken> {
        self.clear();
        self.encode(exchange);
        self.trip(exchange.deadline(), exchange.most(), server, interrupted)
    }

    /// Forgets what was encoded.
    pub fn clear(&mut self) {
        resp::recycle(&mut self.out);
    }

    /// Encodes a call behind those that are to be sent with it; returns the size of all in bytes.
    pub fn encode(&mut self, exchange: &Exchange) -> usize {
        exchange.encode(&mut self.out, &self.clock);
        self.out.len()
    }

    /// Asks how many replicas have what was written on this connection, once so many of them have it or `patience` is over.
    fn acks(
        &mut self,
        replicas: u32,
        patience: Duration,
        timeout: Duration,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<Value, Broken> {
        self.out.clear();
        let (replicas, ms) = (replicas.to_string(), patience.as_millis().to_string());
        resp::command(&mut self.out, &[b"WAIT", replicas.as_bytes(), ms.as_bytes()]);
        self.trip(Instant::now() + patience + timeout, Most::TINY, server, interrupted)
    }

    /// Writes what was encoded and reads one reply.
    fn trip(
        &mut self,
        deadline: Instant,
        most: Most,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<Value, Broken> {
        self.send(deadline, server, interrupted)?;
        self.receive(deadline, most, server, interrupted)
    }

    /// Writes what was encoded.
    pub fn send(
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
                        let error = Error::new(Code::Unavailable, format!("{server} had gone ({e})"));
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
    pub fn receive(
        &mut self,
        deadline: Instant,
        most: Most,
        server: &Server,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<Value, Broken> {
        // Of several replies one read may have brought more than the first.
        if let Some(reply) = self.next(most, server)? {
            return Ok(reply);
        }
        let mut asked = None;
        loop {
            let long = self.reader.missing() > self.buffer.len();
            let read = match long {
                true => self.reader.read_from(&mut self.stream),
                false => self.stream.read(&mut self.buffer[..]),
            };
            match read {
                Ok(0) => return Err(gone(server, "it closed the connection")),
                Ok(_) if long => {}
                Ok(n) => self.reader.feed(&self.buffer[..n]),
                Err(e) => match e.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                        self.pause(deadline, interrupted)?;
                        continue;
                    }
                    _ => return Err(gone(server, &e.to_string())),
                },
            }
            if let Some(reply) = self.next(most, server)? {
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
    fn next(&mut self, most: Most, server: &Server) -> std::result::Result<Option<Value>, Broken> {
        let garbage = |found: &str| Broken::Failed(Failure::Unknown(not_redis(server, found)));
        self.reader.next_reply(most).map_err(|error| garbage(&error.found))
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
