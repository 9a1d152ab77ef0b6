//! A link's connection while it is up: which calls travel as one, what is on the wire, and who waits for which reply.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

use crate::base::clock::ServerClock;
use crate::base::endpoint::Server;
use crate::base::error::{Code, Error, Result};
use crate::call::answer::Answer;
use crate::call::resp::{Parser, Reply, ReplyLimit, recycle};
use crate::connection::open::Connection;
use crate::connection::stream::Stream;
use crate::session::exchange::redirected::of_both;
use crate::session::exchange::{Exchange, Step, encoding};
use crate::session::node::Node;

/// A turn reads this much of a socket, some thirty answers. Then the calls that they let loose go out, and the server
/// works on these while the next turn reads on; reading all at once makes the two wait for each other.
const PIECE: usize = 2 << 10;
/// As much is encoded before the socket took it: some thousand calls. More would only be memory, and would be lost with
/// the connection as calls of which nobody knows whether they were done.
const MOST_UNSENT: usize = 1 << 20;
/// TLS is read this often in one turn, so that one connection does not starve the others of a loop.
const READS_A_TURN: usize = 16;

/// Fewer calls than this are cheaper apart.
const FEWEST_TOGETHER: usize = 4;
/// More calls than this go in several bundles: the first are answered while the server works on the next.
const MOST_TOGETHER: usize = 32;
/// So many kinds are gathered at a time.
const MOST_KINDS: usize = 8;

/// A call with its owner's mark.
pub(crate) type PipelinedCall<T> = (Exchange, T);

/// A call on the wire.
struct Slot<T> {
    /// None if the caller's time was over before the reply came.
    job: Option<PipelinedCall<T>>,
    /// The most that its reply may be, whoever still waits for it.
    limit: ReplyLimit,
    /// Of the first of calls that travel as one, for which one reply comes.
    bundle: Option<Sent>,
}

/// A bundle on the wire.
#[derive(Clone, Copy)]
struct Sent {
    /// How many calls, this one and those behind it.
    count: usize,
    with_text: bool,
}

/// Where calls go for which a reply came.
pub(crate) struct Ends<'a, T> {
    /// To be sent at once.
    pub(crate) again: &'a mut Vec<(Step, PipelinedCall<T>)>,
    pub(crate) done: &'a mut Vec<(T, Result<Answer>)>,
    pub(crate) napping: &'a mut Vec<(Instant, PipelinedCall<T>)>,
}

impl<T> Ends<'_, T> {
    fn put(&mut self, step: Step, (exchange, tag): PipelinedCall<T>) {
        match step {
            Step::Done(answer) => self.done.push((tag, answer)),
            Step::Send | Step::Discover => self.again.push((step, (exchange, tag))),
            Step::Sleep(pause) => self.napping.push((Instant::now() + pause, (exchange, tag))),
        }
    }
}

/// A pipelined connection.
pub(crate) struct Pipelined<T> {
    stream: Stream,
    clock: ServerClock,
    parser: Parser,
    out: Vec<u8>,
    written: usize,
    /// What was just read; kept, so that it is not zeroed for each turn.
    buffer: Box<[u8]>,
    /// In the order of the wire.
    pending: VecDeque<Slot<T>>,
    /// So many of the first in `pending` are waited for by nobody.
    idle: usize,
    /// The last reply for which nobody waits: that to `ASKING` comes before its call's.
    asked: Option<Reply>,
    /// When the server last gave an answer, or was asked something after a silence. A part of one is none.
    heard: Instant,
    /// Whether calls were sent again: then those in `pending` are not in the order of their deadlines.
    unordered: bool,
    /// Whether the server said that it was demoted.
    leaving: bool,
    /// Whether a turn ended before all was read.
    more: bool,
    node: Arc<Node>,
    /// That of its connection.
    epoch: u64,
    /// The bundles' scripts that the server did not know when it was last asked.
    unknown: Vec<String>,
    /// Whether calls travel one by one here: a proxy may refuse the script of a bundle.
    apart: bool,
    /// Tells the client that it is connected.
    _connected: Arc<()>,
}

impl<T> Pipelined<T> {
    pub(crate) fn new(Connection { stream, clock, epoch }: Connection, node: Arc<Node>) -> Pipelined<T> {
        Pipelined {
            stream,
            clock,
            epoch,
            parser: Parser::default(),
            out: Vec::new(),
            written: 0,
            buffer: vec![0; PIECE].into(),
            pending: VecDeque::new(),
            idle: 0,
            asked: None,
            heard: Instant::now(),
            unordered: false,
            leaving: false,
            more: false,
            unknown: Vec::new(),
            apart: false,
            _connected: node.connected(),
            node,
        }
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    pub(crate) fn heard(&self) -> Instant {
        self.heard
    }

    pub(crate) fn wants_write(&self) -> bool {
        self.written < self.out.len() || self.stream.wants_write()
    }

    /// Whether the socket must take something before more calls are encoded.
    pub(crate) fn is_full(&self) -> bool {
        self.out.len() - self.written >= MOST_UNSENT
    }

    /// Whether bytes may lie where no poll sees them: TLS holds what it decrypted.
    pub(crate) fn has_more(&self) -> bool {
        self.more
    }

    /// Whether nobody waits for a reply.
    pub(crate) fn is_free(&self) -> bool {
        self.idle == self.pending.len()
    }

    /// Whether the server was demoted: nothing new goes to it.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Whether another connection is needed, and this one owes nobody an answer.
    pub(crate) fn is_of_no_use(&mut self) -> bool {
        // The server was found elsewhere meanwhile.
        self.leaving |= self.node.is_elsewhere(self.epoch);
        if self.leaving {
            return self.is_free();
        }
        self.pending.is_empty() && self.stream.hung_up(self.heard)
    }

    pub(crate) fn into_jobs(self) -> Vec<PipelinedCall<T>> {
        self.pending.into_iter().filter_map(|slot| slot.job).collect()
    }

    fn jobs(&self) -> impl Iterator<Item = &PipelinedCall<T>> {
        self.pending.range(self.idle..).filter_map(|slot| slot.job.as_ref())
    }

    /// Takes the first call that fits out of those that wait for replies; its reply will be dropped.
    pub(crate) fn take_first(&mut self, fits: impl Fn(&PipelinedCall<T>) -> bool) -> Option<PipelinedCall<T>> {
        let mut slots = self.pending.range_mut(self.idle..);
        let taken = slots.find(|slot| slot.job.as_ref().is_some_and(&fits))?.job.take();
        self.pass_idle();
        taken
    }

    fn pass_idle(&mut self) {
        while self.pending.get(self.idle).is_some_and(|slot| slot.job.is_none()) {
            self.idle += 1;
        }
    }

    /// When the first caller's time is over.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let mut deadlines = self.jobs().map(|(exchange, _)| exchange.deadline());
        if self.unordered { deadlines.min() } else { deadlines.next() }
    }

    /// Takes a call whose time is over.
    pub(crate) fn take_late(&mut self, now: Instant) -> Option<PipelinedCall<T>> {
        // The first one tells for all of them, unless some were sent again.
        self.next_deadline().filter(|first| *first <= now)?;
        self.take_first(|(exchange, _)| exchange.deadline() <= now)
    }

    pub(crate) fn encode(&mut self, job: PipelinedCall<T>) {
        job.0.encode(&mut self.out, &self.clock);
        if job.0.is_asking() {
            self.await_reply(None, ReplyLimit::TINY, None);
        }
        let limit = job.0.reply_limit();
        self.await_reply(Some(job), limit, None);
    }

    /// Whether calls may travel as one.
    pub(crate) fn takes_bundles(&self) -> bool {
        !self.apart
    }

    /// Writes calls of one kind as one.
    pub(crate) fn encode_together(&mut self, jobs: Vec<PipelinedCall<T>>) {
        let Some((first, _)) = jobs.first() else { return };
        let sha = first.bundle().map_or("", |bundle| bundle.script.sha());
        let unknown = self.unknown.iter().position(|unknown| unknown == sha);
        let (limit, with_text) = (first.reply_limit(), unknown.map(|at| self.unknown.swap_remove(at)).is_some());
        let exchanges = jobs.iter().map(|(exchange, _)| exchange);
        Exchange::encode_together(exchanges, &mut self.out, &self.clock, with_text);
        let mut bundle = Some(Sent { count: jobs.len(), with_text });
        jobs.into_iter().for_each(|job| self.await_reply(Some(job), limit, bundle.take()));
    }

    fn await_reply(&mut self, job: Option<PipelinedCall<T>>, limit: ReplyLimit, bundle: Option<Sent>) {
        if self.pending.is_empty() {
            self.heard = Instant::now();
            self.unordered = false;
        }
        let deadline = |slot: &Slot<T>| slot.job.as_ref().map(|(exchange, _)| exchange.deadline());
        let slot = Slot { job, limit, bundle };
        let before = self.pending.back().and_then(deadline);
        self.unordered |= before.zip(deadline(&slot)).is_some_and(|(before, deadline)| before > deadline);
        self.pending.push_back(slot);
        self.pass_idle();
    }

    /// Reads what has come, or a piece of it. Calls to be sent at once go to `again`; the error ends the connection.
    pub(crate) fn read(&mut self, now: Instant, ends: &mut Ends<'_, T>) -> Option<Error> {
        self.more = false;
        let (mut reads, mut size) = (0, 0);
        // What is here when a caller's time is over: an answer must not be called late for want of reading.
        let mut here = None;
        loop {
            let long = self.parser.missing() > PIECE;
            let read = match long {
                true => self.parser.read_from(&mut self.stream),
                false => self.stream.read(&mut self.buffer),
            };
            let read = match read {
                Ok(0) => return Some(self.gone("it closed the connection")),
                Ok(n) => n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return None,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Some(self.gone(&e.to_string())),
            };
            if !long {
                self.parser.feed(&self.buffer[..read]);
            }
            if let Some(broken) = self.take_replies(ends) {
                return Some(broken);
            }
            (reads, size) = (reads + 1, size + read);
            if self.next_deadline().is_some_and(|first| first <= now) {
                // No more than that: a peer that never ends would have the others of the loop wait.
                if size < *here.get_or_insert_with(|| size + self.stream.arrived()) {
                    continue;
                }
            }
            // A poll shows what a socket still has, but not what TLS does.
            let hidden = matches!(self.stream, Stream::Tls(_));
            if !hidden || reads >= READS_A_TURN {
                self.more = hidden && self.stream.has_decrypted();
                return None;
            }
        }
    }

    /// Hands out the replies that are whole.
    fn take_replies(&mut self, ends: &mut Ends<'_, T>) -> Option<Error> {
        loop {
            let Some((limit, bundle)) = self.pending.front().map(|slot| (slot.limit, slot.bundle)) else {
                return if self.parser.is_empty() { None } else { Some(self.stray()) };
            };
            let reply = match self.parser.next_reply(limit) {
                Ok(Some(reply)) => reply,
                Ok(None) => return None,
                Err(garbage) => return Some(self.gone(&format!("it sent \"{}\"", garbage.found))),
            };
            self.heard = Instant::now();
            if let Some(sent) = bundle {
                self.take_parts(reply, sent, ends);
                continue;
            }
            self.idle = self.idle.saturating_sub(1);
            let Some((mut exchange, tag)) = self.pending.pop_front().and_then(|slot| slot.job) else {
                self.asked = Some(reply);
                self.pass_idle();
                continue;
            };
            // Also what a call that was cancelled was answered is not kept any longer.
            let asked = self.asked.take();
            let reply = if exchange.is_asking() { of_both(asked, reply) } else { reply };
            let step = exchange.on_reply(reply, &mut self.clock);
            self.leaving |= exchange.wants_another_server();
            ends.put(step, (exchange, tag));
            self.pass_idle();
        }
    }

    /// Hands out the reply to calls that travelled as one.
    fn take_parts(&mut self, reply: Reply, sent: Sent, ends: &mut Ends<'_, T>) {
        let is_unknown = encoding::is_unknown(&reply);
        self.apart |= encoding::is_strange(&reply);
        self.idle = self.idle.saturating_sub(sent.count);
        for part in encoding::parts(reply, sent.count) {
            let Some((mut exchange, tag)) = self.pending.pop_front().and_then(|slot| slot.job) else { continue };
            let sha = exchange.bundle().map(|bundle| bundle.script.sha());
            let step = match sha.filter(|_| is_unknown && !sent.with_text) {
                // They travel as one again, this time with the text.
                Some(sha) => {
                    if !self.unknown.iter().any(|unknown| unknown == sha) {
                        self.unknown.push(sha.to_owned());
                    }
                    Step::Send
                }
                None => exchange.on_part(part, &mut self.clock),
            };
            self.leaving |= exchange.wants_another_server();
            ends.put(step, (exchange, tag));
        }
        self.pass_idle();
    }

    pub(crate) fn write(&mut self) -> Result<()> {
        while self.wants_write() {
            let rest = &self.out[self.written..];
            let wrote = if rest.is_empty() { self.stream.flush().map(|()| 0) } else { self.stream.write(rest) };
            match wrote {
                Ok(n) => self.written += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    // Not each time: what stays is moved.
                    if self.written >= MOST_UNSENT && self.written >= self.out.len() / 2 {
                        self.out.drain(..self.written);
                        self.written = 0;
                    }
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(self.gone(&e.to_string())),
            }
        }
        recycle(&mut self.out);
        self.written = 0;
        Ok(())
    }

    fn gone(&self, why: &str) -> Error {
        let server: &Server = &self.node.server;
        let why = server.scrubbed(why);
        let message = format!("{server} went away during the call ({why}): it may or may not have been counted");
        Error::new(Code::Unavailable, message)
    }

    fn stray(&self) -> Error {
        self.gone("it sent an answer that nobody asked for")
    }
}

/// Calls of one kind.
type Gathered<T> = ((usize, u64), Vec<PipelinedCall<T>>);

/// Calls that wait for others of their kind. No call overtakes another about the same key.
pub(crate) struct Bundles<T> {
    /// Each kind of other keys.
    gathered: Vec<Gathered<T>>,
}

impl<T> Default for Bundles<T> {
    fn default() -> Self {
        Bundles { gathered: Vec::new() }
    }
}

impl<T> Bundles<T> {
    /// Takes a call, which is written now or with others; so many are still to come.
    pub(crate) fn put(&mut self, job: PipelinedCall<T>, to_come: usize, up: &mut Pipelined<T>) {
        let is_few = self.gathered.is_empty() && to_come + 1 < FEWEST_TOGETHER;
        let Some(bundle) = job.0.bundle().filter(|_| !is_few && up.takes_bundles()) else {
            // It may be about any key.
            self.flush(up);
            return up.encode(job);
        };
        let (kind, stem) = (bundle.kind, bundle.stem);
        let at = self.gathered.iter().position(|(other, _)| *other == kind);
        let same_keys = |(_, jobs): &Gathered<T>| {
            jobs.first().and_then(|(first, _)| first.bundle()).is_some_and(|bundle| bundle.stem == stem)
        };
        if at.is_none()
            && let Some(at) = self.gathered.iter().position(same_keys)
        {
            encode_gathered(self.gathered.remove(at).1, up);
        }
        let Some(at) = at else {
            if self.gathered.len() == MOST_KINDS {
                encode_gathered(self.gathered.remove(0).1, up);
            }
            return self.gathered.push((kind, vec![job]));
        };
        self.gathered[at].1.push(job);
        if self.gathered[at].1.len() == MOST_TOGETHER {
            encode_gathered(self.gathered.swap_remove(at).1, up);
        }
    }

    /// Writes what was gathered.
    pub(crate) fn flush(&mut self, up: &mut Pipelined<T>) {
        self.gathered.drain(..).for_each(|(_, jobs)| encode_gathered(jobs, up));
    }
}

fn encode_gathered<T>(jobs: Vec<PipelinedCall<T>>, up: &mut Pipelined<T>) {
    if jobs.len() < FEWEST_TOGETHER {
        jobs.into_iter().for_each(|job| up.encode(job));
    } else {
        up.encode_together(jobs);
    }
}
