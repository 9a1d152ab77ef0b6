//! Asking one Sentinel where the primary is, and listening to its news.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::deadline::CallDeadline;
use super::greeting::log_in;
use super::login;
use super::open::{DialError, next_reply, not_redis, open, send, unreachable};
use super::stream::Stream;
use crate::base::credentials::{Password, Secret};
use crate::base::endpoint::Server;
use crate::base::endpoint::server::{HostPort, SentinelListener, SentinelPrimary};
use crate::base::error::{Code, Error, Result};
use crate::base::thread::on_thread;
use crate::call::refusal;
use crate::call::resp::{self, Parser, Reply, ReplyLimit};

/// How long a question on behalf of nobody may take.
const PATIENCE: Duration = Duration::from_millis(500);
/// The most of one message, and of one look.
const READS_AT_ONCE: usize = 16;

/// Where this Sentinel has the primary of this name, and what hears where it goes, if the Sentinel lets us listen.
///
/// # Errors
/// `invalid_argument` if it knows no such primary, `not_permitted` if it does not let us in; else as a connection fails.
pub(super) fn ask(
    sentinel: &Server,
    name: &str,
    patience: &mut CallDeadline<'_>,
) -> Result<(HostPort, Option<SentinelSubscription>)> {
    let secret = login::password(sentinel, None, patience)?;
    match attempt(sentinel, name, secret.as_ref(), patience) {
        Err(DialError::Password(error)) => match login::password(sentinel, secret.as_ref(), patience)? {
            Some(other) => attempt(sentinel, name, Some(&other), patience),
            None => Err(DialError::Password(error)),
        },
        told => told,
    }
    .map_err(|refused| match refused {
        DialError::Password(error) | DialError::Certificate(error) | DialError::Otherwise(error) => error,
    })
}

fn attempt(
    sentinel: &Server,
    name: &str,
    secret: Option<&Secret>,
    patience: &mut CallDeadline<'_>,
) -> std::result::Result<(HostPort, Option<SentinelSubscription>), DialError> {
    let mut stream = open(sentinel, patience)?;
    let mut out = Vec::new();
    if let Some(password) = secret {
        log_in(&mut out, sentinel, password);
    }
    resp::command(&mut out, &[b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", name.as_bytes()]);
    send(&mut stream, &out, patience).map_err(|e| unreachable(sentinel, &e))?;
    let mut parser = Parser::default();
    if secret.is_some() {
        check(sentinel, name, &next_reply(&mut stream, &mut parser, sentinel, patience)?)?;
    }
    let found = named(sentinel, name, &next_reply(&mut stream, &mut parser, sentinel, patience)?)?;
    // Its answer is read with the first news.
    let mut out = Vec::new();
    resp::command(&mut out, &[b"SUBSCRIBE", REPLACED, PROMOTED]);
    let is_listening = send(&mut stream, &out, patience).is_ok() && stream.set_nonblocking(true).is_ok();
    Ok((found, is_listening.then(|| SentinelSubscription { stream, parser, name: name.to_owned() })))
}

/// Where this answer has the primary.
pub(crate) fn named(sentinel: &Server, name: &str, reply: &Reply) -> std::result::Result<HostPort, DialError> {
    check(sentinel, name, reply)?;
    let found = match reply {
        Reply::Nil => return Err(unknown(sentinel, name).into()),
        Reply::Array(parts) => match parts.as_slice() {
            [Reply::Bytes(host), Reply::Bytes(port)] => host_port(host, port),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| not_redis(sentinel, &format!("{reply:?}")).into())
}

/// Where every Sentinel says that a primary was replaced.
const REPLACED: &[u8] = b"+switch-master";
/// Where the one that replaces it says so earlier: the old one is demoted only when its replicas have left it.
const PROMOTED: &[u8] = b"+promoted-slave";

/// A connection on which a Sentinel tells its news.
pub(super) struct SentinelSubscription {
    stream: Stream,
    parser: Parser,
    name: String,
}

impl SentinelListener for SentinelSubscription {
    fn listen(&mut self) -> io::Result<Option<HostPort>> {
        let (mut buffer, mut news) = ([0; 1024], None);
        for _ in 0..READS_AT_ONCE {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.parser.feed(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            let garbage = |_| io::Error::new(ErrorKind::InvalidData, "it does not speak as a Sentinel does");
            while let Some(message) = self.parser.next_reply(ReplyLimit::TINY).map_err(garbage)? {
                match message {
                    Reply::Array(parts) => news = moved(&parts, &self.name).or(news),
                    // It does not let us listen: what is lost is time.
                    _ => return Err(ErrorKind::PermissionDenied.into()),
                }
            }
        }
        Ok(news)
    }
}

/// Where the primary of this name went, if that is the news.
pub(crate) fn moved(parts: &[Reply], name: &str) -> Option<HostPort> {
    let [Reply::Bytes(_), Reply::Bytes(channel), Reply::Bytes(text)] = parts else { return None };
    let words: Vec<&str> = std::str::from_utf8(text).ok()?.split(' ').collect();
    match (channel.as_slice(), words.as_slice()) {
        (REPLACED, [of, _, _, host, port]) | (PROMOTED, ["slave", _, host, port, "@", of, ..]) if *of == name => {
            host_port(host.as_bytes(), port.as_bytes())
        }
        _ => None,
    }
}

/// Takes in the news of the primary, and sees to it that there is a Sentinel to listen to. Never blocks.
pub(crate) fn listen(watched: &Arc<SentinelPrimary>) {
    if !watched.listen() {
        return;
    }
    let watched = watched.clone();
    // Without a thread the next call tries.
    let _ = on_thread("quotalock-sentinel", move || {
        for number in watched.order() {
            let mut interrupted = || false;
            let mut patience = CallDeadline::new(Instant::now() + PATIENCE, &mut interrupted);
            if let Ok((place, ear)) = ask(&watched.sentinels[number], &watched.name, &mut patience) {
                watched.answered(number);
                watched.is_said_to_be_at(place);
                return ear.into_iter().for_each(|ear| watched.hears(Box::new(ear)));
            }
        }
    });
}

fn host_port(host: &[u8], port: &[u8]) -> Option<HostPort> {
    let (host, port) = (std::str::from_utf8(host).ok()?, std::str::from_utf8(port).ok()?);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%');
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!host.is_empty() && host.len() <= 255 && host.chars().all(fits)).then(|| (host.to_owned(), port))
}

fn unknown(sentinel: &Server, name: &str) -> Error {
    Error::invalid(format!("the Sentinel {sentinel} knows no primary called {name}: correct the name in the url"))
}

/// What its answer has against us.
fn check(sentinel: &Server, name: &str, reply: &Reply) -> std::result::Result<(), DialError> {
    let Reply::Error(text) = reply else { return Ok(()) };
    let denied = |message: String| Error::new(Code::NotPermitted, message);
    let code = text.split(' ').next().unwrap_or_default();
    let origin = match &sentinel.password {
        None | Some(Password::Fixed(_)) => "sentinel_user= and sentinel_password= in the url".to_owned(),
        Some(asked) => asked.origin(),
    };
    let error = match code {
        "NOAUTH" => {
            denied(format!("the Sentinel {sentinel} wants a password: give it as sentinel_password= in the url"))
        }
        _ if refusal::login(text, "", "").is_some() && text.contains("without any password") => denied(format!(
            "the Sentinel {sentinel} has no password set, but {origin} gives one: take it out, or set it on the Sentinel"
        )),
        _ if refusal::login(text, "", "").is_some() => {
            return Err(DialError::Password(denied(format!(
                "the Sentinel {sentinel} refused the user or password of {origin}: correct it"
            ))));
        }
        "NOPERM" => denied(format!(
            "the user of the Sentinel {sentinel} lacks a right: allow it with ACL SETUSER <user> \
             +sentinel|get-master-addr-by-name"
        )),
        "IDONTKNOW" => unknown(sentinel, name),
        _ if refusal::is_unknown_command(text) => Error::invalid(format!(
            "{sentinel} is no Sentinel: give the hosts and ports of Sentinels, or use redis:// for one server"
        )),
        _ => {
            let said = sentinel.quoted(text).map_or_else(String::new, |said| format!(" (\"{said}\")"));
            Error::new(Code::Unavailable, format!("the Sentinel {sentinel} refused the question for {name}{said}"))
        }
    };
    Err(error.into())
}
