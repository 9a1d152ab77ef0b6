//! A connected byte stream: TCP, TLS or a Unix socket.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConnection;

use super::deadline::CallDeadline;

/// A connection that was idle for less cannot have lost a server that is already back.
const SURELY_ALIVE: Duration = Duration::from_millis(1);

/// What a peer said before it hung up is read this often at most.
const LAST_READS: usize = 8;

/// A stream to a server. Blocking until [`set_nonblocking`](Stream::set_nonblocking) says otherwise.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Tls(Box<Tls>),
    Unix(UnixStream),
}

/// A connection over TLS. Each read and write is one step of the socket's at most, as without TLS: rustls' own stream reads on
/// until a record is whole, however long the peer takes to send it.
pub(crate) struct Tls {
    conn: ClientConnection,
    sock: TcpStream,
}

impl Tls {
    /// Gives the socket what it takes at once.
    fn send_some(&mut self) -> io::Result<()> {
        self.conn.write_tls(&mut self.sock).map(drop)
    }

    /// Reads once, and takes in the records that are whole.
    fn receive_some(&mut self) -> io::Result<()> {
        if self.conn.read_tls(&mut self.sock)? == 0 && self.conn.is_handshaking() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.conn.process_new_packets().map(drop).map_err(|error| {
            // Tells the peer why, if it listens.
            let _ = self.send_some();
            io::Error::new(ErrorKind::InvalidData, error)
        })
    }

    /// What was decrypted; else reads once. `WouldBlock` also when what came is no whole record yet.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.conn.reader().read(buffer) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            read => return read,
        }
        self.send_pending()?;
        self.receive_some()?;
        self.conn.reader().read(buffer)
    }

    /// Encrypts as much as there is room for, and gives the socket what it takes at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_pending()?;
        if self.conn.wants_write() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let taken = self.conn.writer().write(bytes)?;
        self.send_pending()?;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send_pending()?;
        if self.conn.wants_write() { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
    }

    fn send_pending(&mut self) -> io::Result<()> {
        if !self.conn.wants_write() {
            return Ok(());
        }
        match self.send_some() {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                Ok(())
            }
            sent => sent,
        }
    }
}

impl Stream {
    /// Begins TLS on a connected socket and completes its handshake.
    pub(crate) fn tls(
        socket: TcpStream,
        host: &str,
        config: Arc<rustls::ClientConfig>,
        patience: &mut CallDeadline<'_>,
    ) -> io::Result<Stream> {
        let invalid = |e: String| io::Error::new(ErrorKind::InvalidInput, e);
        let name = rustls::pki_types::ServerName::try_from(host.to_owned()).map_err(|e| invalid(e.to_string()))?;
        let connection = ClientConnection::new(config, name).map_err(|e| invalid(e.to_string()))?;
        let mut tls = Tls { conn: connection, sock: socket };
        tls.sock.set_nonblocking(true)?;
        while tls.conn.is_handshaking() || tls.conn.wants_write() {
            // One step at a time: a peer that drips is not waited for any longer than a silent one.
            let writing = tls.conn.wants_write();
            let step = if writing { tls.send_some() } else { tls.receive_some() };
            match step {
                Ok(()) => patience.look_up()?,
                Err(e) if e.kind() == ErrorKind::WouldBlock => patience.ready(tls.sock.as_raw_fd(), writing)?,
                Err(e) if e.kind() == ErrorKind::Interrupted => patience.look_up()?,
                Err(e) => return Err(e),
            }
        }
        tls.sock.set_nonblocking(false)?;
        Ok(Stream::Tls(Box::new(tls)))
    }

    /// Why a peer that takes no more bytes has hung up, if it said so before: only TLS does.
    pub(crate) fn last_words(&mut self) -> Option<io::Error> {
        let Stream::Tls(tls) = self else { return None };
        tls.sock.set_nonblocking(true).ok()?;
        // Its socket has what came before the end.
        std::iter::repeat_with(|| tls.receive_some()).take(LAST_READS).find_map(std::result::Result::err)
    }

    pub(crate) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => socket.set_nonblocking(on),
            Stream::Tls(tls) => tls.sock.set_nonblocking(on),
            Stream::Unix(socket) => socket.set_nonblocking(on),
        }
    }

    /// Bounds each blocking read and write.
    pub(crate) fn set_timeouts(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Some(timeout.max(Duration::from_millis(1)));
        match self {
            Stream::Tcp(socket) => socket.set_read_timeout(timeout).and_then(|()| socket.set_write_timeout(timeout)),
            Stream::Tls(tls) => tls.sock.set_read_timeout(timeout).and_then(|()| tls.sock.set_write_timeout(timeout)),
            Stream::Unix(socket) => socket.set_read_timeout(timeout).and_then(|()| socket.set_write_timeout(timeout)),
        }
    }

    /// Whether bytes handed over still wait to be written, as TLS may hold some.
    pub(crate) fn wants_write(&self) -> bool {
        matches!(self, Stream::Tls(tls) if tls.conn.wants_write())
    }

    /// Whether bytes wait that no poll shows: TLS has decrypted them.
    pub(crate) fn has_decrypted(&mut self) -> bool {
        let Stream::Tls(tls) = self else { return false };
        tls.conn.process_new_packets().is_ok_and(|state| state.plaintext_bytes_to_read() > 0)
    }

    /// How much has come that was not read yet; over TLS at most so much.
    pub(crate) fn arrived(&mut self) -> usize {
        let mut arrived: libc::c_int = 0;
        // SAFETY: the call writes one int, which outlives it; the descriptor is open for as long as `self`.
        let failed = unsafe { libc::ioctl(self.as_raw_fd(), libc::FIONREAD, &raw mut arrived) } != 0;
        let decrypted = match self {
            Stream::Tls(tls) => tls.conn.process_new_packets().map_or(0, |state| state.plaintext_bytes_to_read()),
            _ => 0,
        };
        if failed { 0 } else { usize::try_from(arrived).unwrap_or(0) + decrypted }
    }

    /// Whether the peer has hung up on a connection that was idle since then, or has said what nobody asked for. Costs
    /// one system call at most; never blocks.
    pub(crate) fn hung_up(&mut self, idle_since: Instant) -> bool {
        if idle_since.elapsed() < SURELY_ALIVE {
            return false;
        }
        if self.has_decrypted() {
            return true;
        }
        let mut byte = 0_u8;
        // SAFETY: the buffer is one byte and outlives the call; the descriptor is open for as long as `self`.
        let seen =
            unsafe { libc::recv(self.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK | libc::MSG_DONTWAIT) };
        match seen {
            0 => true,
            n if n > 0 => match self {
                // TLS may have sent a session ticket, or the goodbye that precedes the end.
                Stream::Tls(_) => self.drain_tls(),
                // An answer that nobody asked for: the stream cannot be trusted.
                _ => true,
            },
            _ => !matches!(io::Error::last_os_error().kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    fn drain_tls(&mut self) -> bool {
        let Stream::Tls(tls) = self else { return false };
        match tls.conn.read_tls(&mut WithoutWaiting(tls.sock.as_raw_fd())) {
            Ok(0) => true,
            Ok(_) => tls.conn.process_new_packets().map_or(true, |state| {
                // As without TLS: an answer that nobody asked for.
                state.peer_has_closed() || state.plaintext_bytes_to_read() > 0
            }),
            Err(e) => e.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// Reads from a socket without waiting, whatever its mode is.
struct WithoutWaiting(RawFd);

impl Read for WithoutWaiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer is valid for its length during the call.
        let read = unsafe { libc::recv(self.0, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Stream::Tcp(socket) => socket.as_raw_fd(),
            Stream::Tls(tls) => tls.sock.as_raw_fd(),
            Stream::Unix(socket) => socket.as_raw_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.read(buffer),
            Stream::Tls(tls) => tls.read(buffer),
            Stream::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(socket) => socket.write(bytes),
            Stream::Tls(tls) => tls.write(bytes),
            Stream::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(socket) => socket.flush(),
            Stream::Tls(tls) => tls.flush(),
            Stream::Unix(socket) => socket.flush(),
        }
    }
}
