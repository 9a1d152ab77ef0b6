//! A new connection: resolve, connect, TLS, and the first words on it. Blocking, within a deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustls::CertificateError;
use socket2::{Domain, SockAddr, Socket, Type};

use super::deadline::{CallDeadline, interruption};
use super::resolve::{Unresolved, resolve};
use super::stream::Stream;
use super::trust;
use crate::base::clock::ServerClock;
use crate::base::endpoint::{Address, Server, TlsFiles};
use crate::base::error::{Code, Error, Result};
use crate::call::resp::{Parser, Reply, ReplyLimit};

/// The most that a first answer may be: a primary's role tells of each of its replicas.
const FIRST_REPLY: ReplyLimit = ReplyLimit { bytes: 64 << 10, items: 2 << 10 };

/// A connection that answered, with what its answer told of the server's clock.
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) clock: ServerClock,
    /// That of [`SentinelPrimary::epoch`](crate::base::endpoint::server::SentinelPrimary::epoch): of no use once the server is found elsewhere.
    pub(crate) epoch: u64,
}

/// Why a server did not take a new connection.
pub(crate) enum DialError {
    /// The password, which may have been changed meanwhile.
    Password(Error),
    /// The certificate that we showed, which may have been renewed.
    Certificate(Error),
    Otherwise(Error),
}

impl From<Error> for DialError {
    fn from(error: Error) -> DialError {
        DialError::Otherwise(error)
    }
}

pub(super) fn unavailable(server: &Server, why: &str) -> Error {
    Error::new(
        Code::Unavailable,
        format!("{server} could not be reached ({why}): is Redis running there, and is the url right?"),
    )
}

/// The error for a peer that lets a new connection wait for too long.
pub(super) fn hanging(server: &Server) -> Error {
    // What speaks no TLS waits for the rest of what it takes for a command.
    let advice = match server.address {
        Address::Tls { .. } => "does this port speak TLS? If it does, is it hanging, or is the timeout too short?",
        _ => "is it hanging, or is the timeout too short?",
    };
    Error::new(Code::Timeout, format!("{server} gave no answer to a new connection in time: {advice}"))
}

pub(super) fn unreachable(server: &Server, error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => hanging(server),
        ErrorKind::Interrupted => interruption(),
        _ => unavailable(server, &error.to_string()),
    }
}

/// The error for a peer that ended the handshake, or with whom we did.
fn disagreed(server: &Server, files: &TlsFiles, error: &io::Error) -> DialError {
    let failed = |advice: &str| {
        Error::new(Code::Unavailable, format!("the TLS handshake with {server} failed ({error}): {advice}"))
    };
    if let Some(objection) = trust::objection(error, files) {
        return DialError::Certificate(failed(objection));
    }
    let advice = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => {
            trust::forget(files);
            "is this name among its certificate's (subjectAltName)?"
        }
        Some(error @ rustls::Error::InvalidCertificate(_)) => {
            trust::forget(files);
            match trust::is_ca(error) {
                true => "its certificate is its own CA: if it is yours, give it as ca= to the url",
                false => "is its certificate trusted (ca=)?",
            }
        }
        _ => "does this port speak TLS?",
    };
    DialError::Otherwise(failed(advice))
}

/// The error of a new connection that broke. A server of TLS 1.3 tells only now what it has against our certificate.
pub(super) fn broke(server: &Server, error: &io::Error) -> DialError {
    match &server.address {
        Address::Tls { files, .. } if trust::objection(error, files).is_some() => disagreed(server, files, error),
        _ => unreachable(server, error).into(),
    }
}

pub(super) fn open(server: &Server, patience: &mut CallDeadline<'_>) -> std::result::Result<Stream, DialError> {
    match &server.address {
        Address::Unix { path } => unix(path, patience).map(Stream::Unix).map_err(|e| unreachable(server, &e).into()),
        Address::Tcp { host, port } => Ok(Stream::Tcp(tcp(server, host, *port, patience)?)),
        Address::Tls { host, port, files } => {
            let config = trust::config(files)?;
            let socket = tcp(server, host, *port, patience)?;
            Stream::tls(socket, host, config, patience).map_err(|e| match e.kind() {
                ErrorKind::TimedOut | ErrorKind::Interrupted => unreachable(server, &e).into(),
                _ => disagreed(server, files, &e),
            })
        }
        Address::Watched(_) => Err(Error::new(Code::Internal, "a server without a place was dialed").into()),
    }
}

fn unix(path: &Path, patience: &mut CallDeadline<'_>) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    let address = SockAddr::unix(path)?;
    loop {
        // A peer that hangs lets its queue fill up, and then the connect blocks; the write timeout bounds it too.
        socket.set_write_timeout(Some(patience.slice()))?;
        match socket.connect(&address) {
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => patience.look()?,
            connected => return connected.map(|()| UnixStream::from(OwnedFd::from(socket))),
        }
    }
}

fn tcp(server: &Server, host: &str, port: u16, patience: &mut CallDeadline<'_>) -> Result<TcpStream> {
    let mut last = None;
    let addresses = resolve(host, port, patience).map_err(|unresolved| match unresolved {
        Unresolved::Failed(why) => unavailable(server, &why),
        Unresolved::GaveUp(e) => unreachable(server, &e),
        Unresolved::NoThread(error) => error,
    })?;
    for address in addresses {
        match connect(&address, patience) {
            Ok(socket) => return Ok(socket),
            Err(e) if e.kind() == ErrorKind::Interrupted => return Err(interruption()),
            Err(e) => last = Some(e),
        }
    }
    Err(last.map_or_else(|| unavailable(server, "the name has no address"), |e| unreachable(server, &e)))
}

fn connect(address: &SocketAddr, patience: &mut CallDeadline<'_>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(*address), Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::from(*address)) {
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => {
            patience.ready(socket.as_raw_fd(), true)?;
            socket.take_error()?.map_or(Ok(()), Err)?;
        }
        connected => connected?,
    }
    socket.set_nonblocking(false)?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

/// Writes all of it, and has TLS give it to the socket.
pub(crate) fn send(stream: &mut Stream, bytes: &[u8], patience: &mut CallDeadline<'_>) -> io::Result<()> {
    let mut written = 0;
    while written < bytes.len() || stream.wants_write() {
        stream.set_timeouts(patience.slice())?;
        let rest = &bytes[written..];
        let wrote = if rest.is_empty() { stream.flush().map(|()| 0) } else { stream.write(rest) };
        match wrote {
            Ok(n) => written += n,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
        patience.look_up()?;
    }
    Ok(())
}

pub(super) fn next_reply(
    stream: &mut Stream,
    parser: &mut Parser,
    server: &Server,
    patience: &mut CallDeadline<'_>,
) -> std::result::Result<Reply, DialError> {
    let mut buffer = [0; 512];
    loop {
        match parser.next_reply(FIRST_REPLY) {
            Ok(Some(reply)) => return Ok(reply),
            Ok(None) => patience.look_up().map_err(|e| unreachable(server, &e))?,
            Err(garbage) => return Err(not_redis(server, &garbage.found).into()),
        }
        match stream.set_timeouts(patience.slice()).and_then(|()| stream.read(&mut buffer)) {
            Ok(0) => return Err(unavailable(server, "it closed the connection at once").into()),
            Ok(n) => parser.feed(&buffer[..n]),
            Err(e) => match e.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                ErrorKind::Interrupted => patience.look().map_err(|e| unreachable(server, &e))?,
                _ => return Err(broke(server, &e)),
            },
        }
    }
}

/// The error for a peer that does not speak Redis.
pub(crate) fn not_redis(server: &Server, found: &str) -> Error {
    let said = server.quoted(found).map_or_else(String::new, |said| format!(" (\"{said}\")"));
    Error::new(
        Code::Unavailable,
        format!("{server} answers, but not as Redis does{said}: point the url at Redis' own port"),
    )
}
