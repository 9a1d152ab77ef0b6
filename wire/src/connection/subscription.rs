//! A subscription to hints for those who wait: a connection that only listens, on channels of its own.
//!
//! A hint is the id of a waiter and says that asking again may be worth it. Hints may be lost with the connection; whoever
//! rests does not rest long.
//!
//! One channel is for `PUBLISH`, wherever that is said. In a cluster each slot has one more, which lies in that slot: hints for
//! it come by `SPUBLISH` if this server has the slot, else by `PUBLISH` as well.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Instant;

use super::deadline::poll;
use super::deadline::{CallDeadline, interruption};
use super::dial::dial;
use super::open::{Connection, not_redis};
use super::stream::Stream;
use crate::base::endpoint::Server;
use crate::base::error::{Code, Error, Result, shown};
use crate::base::random;
use crate::call::hint::{AttemptId, Channel};
use crate::call::refusal::is_unknown_command;
use crate::call::resp::{self, Parser, Reply, ReplyLimit};

/// One that never ends is read this often before others have their turn.
const READS_AT_ONCE: usize = 16;

/// A connection that was subscribed.
pub(crate) struct Subscription {
    stream: Stream,
    parser: Parser,
    /// What channels' names begin with.
    prefix: Arc<[u8]>,
    /// For `PUBLISH`.
    channel: Channel,
    /// The number of its server.
    node: u64,
    /// Whether its server has sharded messages, as far as is known, and the user may hear them.
    shards: bool,
    slots: HashMap<u16, Listening>,
    /// What was asked and not answered yet.
    asked: VecDeque<SubscribeRequest>,
}

/// How a slot is listened in.
struct Listening {
    channel: Channel,
    /// Whether its server tells it by itself.
    at_home: bool,
    /// Whether its server was asked, and has not answered.
    pending: bool,
}

enum SubscribeRequest {
    /// Sharded messages of a slot.
    Shard(u16),
    /// Messages that are for the channel of a slot and come from other servers.
    Others(u16),
}

/// Where a waiter hears hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintChannel {
    /// Where the hints come.
    pub channel: Channel,
    /// The number of the server that tells it, if it is one and not all of them; 0 if that one does not.
    pub node: Option<u64>,
}

/// What a subscription has heard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Somebody who waits is to ask again.
    Hint(AttemptId),
    /// This slot has gone to another server.
    Moved(u16),
    /// The server does not tell of this slot, and says so.
    Refused(u16, String),
}

/// What a listener heard.
pub(crate) enum Heard {
    /// The hint that it waited for.
    Hint,
    /// Nothing, and time is over.
    Nothing,
    /// Nothing any more: the connection has gone.
    Gone,
    /// Its slot has gone to another server.
    Moved,
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
    /// Connects to a server with this number and subscribes, within the caller's patience; of a cluster, to the channel of a slot
    /// as well.
    pub(crate) fn open(
        server: &Server,
        node: u64,
        prefix: &Arc<[u8]>,
        slot: Option<(u16, Channel)>,
        patience: &mut CallDeadline<'_>,
    ) -> Result<(Subscription, Vec<News>)> {
        let channel = new_channel()?;
        let Connection { stream, .. } = dial(server, patience)?;
        let gone = |why: &str| {
            let message = format!("{server} went away while a waiter subscribed ({why}): check the server");
            Error::new(Code::Unavailable, message)
        };
        stream.set_nonblocking(true).map_err(|e| gone(&e.to_string()))?;
        let (asked, prefix) = (VecDeque::new(), prefix.clone());
        // Of one server all is in one slot.
        let all = Listening { channel, at_home: false, pending: false };
        let slots = if slot.is_none() { HashMap::from([(0, all)]) } else { HashMap::new() };
        let mut subscription = Subscription {
            stream,
            parser: Parser::default(),
            prefix,
            channel,
            node,
            shards: slot.is_some(),
            slots,
            asked,
        };
        let mut out = Vec::new();
        resp::command(&mut out, &[b"SUBSCRIBE", &subscription.name(&channel)]);
        slot.iter().for_each(|(slot, channel)| subscription.encode(*slot, *channel, &mut out));
        subscription.write(&out, patience).map_err(|e| gone(&e.to_string()))?;
        loop {
            match subscription.next(&mut 0) {
                Ok(Some(Reply::Array(parts))) if parts.first() == Some(&Reply::Bytes(b"subscribe".to_vec())) => break,
                Ok(Some(Reply::Error(text))) if text.starts_with("NOPERM") => {
                    let channels = shown(&subscription.prefix);
                    return Err(Error::new(
                        Code::NotPermitted,
                        format!(
                            "the Redis user may not subscribe to wake-ups on {server}, which waiting needs: allow it with \
                             ACL SETUSER <user> +subscribe &{channels}*"
                        ),
                    ));
                }
                Ok(Some(other)) => return Err(not_redis(server, &format!("{other:?}"))),
                Ok(None) => subscription.patiently(patience, &gone)?,
                Err(e) => return Err(gone(&shown(e.to_string().as_bytes()))),
            }
        }
        let mut news = Vec::new();
        while let Some((slot, _)) = slot {
            subscription.listen(&mut news).map_err(|e| gone(&shown(e.to_string().as_bytes())))?;
            if !subscription.is_pending(slot) {
                break;
            }
            subscription.patiently(patience, &gone)?;
        }
        Ok((subscription, news))
    }

    /// Waits until there may be something to read.
    fn patiently(&self, patience: &mut CallDeadline<'_>, gone: &impl Fn(&str) -> Error) -> Result<()> {
        patience.ready(self.stream.as_raw_fd(), false).map_err(|e| match e.kind() {
            ErrorKind::Interrupted => interruption(),
            _ => gone(&e.to_string()),
        })
    }

    /// Listens in one more slot, on this channel if it did not before; what came of it, [`ear`](Subscription::ear) says.
    ///
    /// # Errors
    /// That of the connection, which is of no use any more.
    pub(crate) fn request(&mut self, slot: u16, channel: Channel, patience: &mut CallDeadline<'_>) -> io::Result<()> {
        let mut out = Vec::new();
        self.encode(slot, channel, &mut out);
        self.write(&out, patience)
    }

    /// Writes what has it listen in a slot.
    fn encode(&mut self, slot: u16, channel: Channel, out: &mut Vec<u8>) {
        let shards = self.shards;
        let listening = self.slots.entry(slot).or_insert(Listening { channel, at_home: false, pending: false });
        listening.pending = shards;
        let channel = listening.channel;
        if shards {
            let name = self.name(&channel);
            resp::command(out, &[b"SSUBSCRIBE", &name]);
            resp::command(out, &[b"SUBSCRIBE", &name]);
            self.asked.extend([SubscribeRequest::Shard(slot), SubscribeRequest::Others(slot)]);
        }
    }

    fn name(&self, channel: &Channel) -> Vec<u8> {
        [&self.prefix, channel.as_slice()].concat()
    }

    /// Whether the server has not said yet whether it tells of a slot.
    pub(crate) fn is_pending(&self, slot: u16) -> bool {
        self.slots.get(&slot).is_some_and(|listening| listening.pending)
    }

    /// Where hints for a slot are heard; none if it is not listened in, or not yet.
    pub(crate) fn ear(&self, slot: u16) -> Option<HintChannel> {
        if !self.shards {
            return Some(HintChannel { channel: self.channel, node: None });
        }
        let listening = self.slots.get(&slot).filter(|listening| !listening.pending)?;
        Some(HintChannel { channel: listening.channel, node: Some(if listening.at_home { self.node } else { 0 }) })
    }

    /// Somebody wants to hear of this slot, whose messages come to all servers.
    pub(crate) fn note(&mut self, slot: u16) {
        if !self.shards {
            self.slots.entry(slot).or_insert(Listening { channel: self.channel, at_home: false, pending: false });
        }
    }

    /// The number of its server.
    pub(crate) fn node(&self) -> u64 {
        self.node
    }

    /// The slots that it listens in.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u16> {
        self.slots.keys().copied()
    }

    /// How many slots it listens in.
    pub(crate) fn width(&self) -> usize {
        self.slots.len()
    }

    /// Nobody wants to hear of this slot here.
    pub(crate) fn forget(&mut self, slot: u16) {
        self.slots.remove(&slot);
    }

    /// What to watch until it can be read.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Blocks until the hint for `id`, whose key is in this slot, comes or `until`, asking `interrupted` about 20 times a second.
    ///
    /// # Errors
    /// `internal` if the caller was interrupted.
    pub(crate) fn wait(
        &mut self,
        id: &AttemptId,
        slot: u16,
        until: Instant,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Heard> {
        let mut patience = CallDeadline::new(until, interrupted);
        loop {
            let mut news = Vec::new();
            if self.listen(&mut news).is_err() {
                return Ok(Heard::Gone);
            }
            if news.contains(&News::Hint(*id)) {
                return Ok(Heard::Hint);
            }
            if news.contains(&News::Moved(slot)) {
                return Ok(Heard::Moved);
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

    /// Blocks until the server has said whether it tells of a slot.
    ///
    /// # Errors
    /// That of the connection; `Interrupted` if the caller was.
    pub(crate) fn settle(
        &mut self,
        slot: u16,
        news: &mut Vec<News>,
        patience: &mut CallDeadline<'_>,
    ) -> io::Result<()> {
        loop {
            self.listen(news)?;
            if !self.is_pending(slot) {
                return Ok(());
            }
            patience.ready(self.stream.as_raw_fd(), false)?;
        }
    }

    /// Reads what has come, or some of it, without blocking.
    ///
    /// # Errors
    /// That of the connection, which is of no use any more.
    pub(crate) fn listen(&mut self, news: &mut Vec<News>) -> io::Result<()> {
        let mut reads = 0;
        while let Some(message) = self.next(&mut reads)? {
            match message {
                Reply::Array(parts) => self.on_message(&parts, news),
                Reply::Error(text) => self.on_refusal(text, news)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn on_message(&mut self, parts: &[Reply], news: &mut Vec<News>) {
        let [Reply::Bytes(kind), Reply::Bytes(name), value] = parts else { return };
        match (kind.as_slice(), value) {
            (b"message" | b"smessage", Reply::Bytes(id)) => {
                news.extend(AttemptId::try_from(id.as_slice()).map(News::Hint));
            }
            (b"ssubscribe" | b"subscribe", _) => self.on_answer(true),
            (b"sunsubscribe", _) => {
                let channel = name.strip_prefix(&*self.prefix).unwrap_or_default();
                let mut slots = self.slots.iter_mut();
                if let Some((slot, listening)) = slots.find(|(_, listening)| listening.channel == channel) {
                    listening.at_home = false;
                    news.push(News::Moved(*slot));
                }
            }
            _ => {}
        }
    }

    /// The answer to what was asked first.
    fn on_answer(&mut self, is_done: bool) {
        match self.asked.pop_front() {
            Some(SubscribeRequest::Shard(slot)) => {
                self.slots.entry(slot).and_modify(|listening| listening.at_home = is_done);
            }
            Some(SubscribeRequest::Others(slot)) => {
                self.slots.entry(slot).and_modify(|listening| listening.pending = false);
            }
            None => {}
        }
    }

    fn on_refusal(&mut self, text: String, news: &mut Vec<News>) -> io::Result<()> {
        let Some(SubscribeRequest::Shard(slot)) = self.asked.front() else {
            return Err(io::Error::new(ErrorKind::InvalidData, text));
        };
        let slot = *slot;
        if text.starts_with("NOPERM") || is_unknown_command(&text) {
            self.shards = false;
        } else {
            news.push(News::Refused(slot, text));
        }
        self.on_answer(false);
        Ok(())
    }

    /// The next message, if one is here whole. After so many reads only what no poll would show is read.
    fn next(&mut self, reads: &mut usize) -> io::Result<Option<Reply>> {
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

#[cfg(test)]
mod tests;
