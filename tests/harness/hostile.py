"""A server that means no good, or is sick: it speaks as Redis does up to a stage, and then in one of many wrong ways.

The stages: `connection` (before anything is asked, as in place of TLS), `greeting` (the first answer), `reply` (to a
script), `subscription` (to SUBSCRIBE) and `hints` (after that). Up to there it answers TIME, AUTH and SELECT, and every
script as an acquisition of a lock that is held, so that callers wait and subscribe.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

# A byte as often as this: no nap of a client's ends without news, and yet nothing is whole for seconds.
DRIPS_EVERY = 0.0003
FLOOD = 64 << 10


class Gone(Exception):
    """The client has hung up, or the test is over."""


class Peer:
    """One connection, over TLS or not."""

    def __init__(self, connection: socket.socket, tls: ssl.SSLContext | None, over: threading.Event) -> None:
        self._connection, self._over, self._left = connection, over, b""
        connection.settimeout(0.2)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = tls.wrap_bio(self._incoming, self._outgoing, server_side=True) if tls else None

    def shake_hands(self) -> None:
        """Completes TLS, if there is any."""
        while self._tls:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self._incoming.write(self.receive())
                continue
            except ssl.SSLError:
                raise Gone from None
            self._flush()
            return

    def commands(self) -> Iterator[list[bytes]]:
        """What the client asks."""
        while True:
            header, _, self._left = self._until(b"\r\n").partition(b"\r\n")
            words = []
            for _ in range(int(header[1:])):
                length, _, self._left = self._until(b"\r\n").partition(b"\r\n")
                size = int(length[1:])
                while len(self._left) < size + 2:
                    self._left += self._read()
                words.append(self._left[:size])
                self._left = self._left[size + 2 :]
            yield words

    def send(self, data: bytes) -> None:
        """Sends this at once."""
        for chunk in self._encrypted(data):
            self.send_raw(chunk)

    def drip(self, data: Iterator[bytes]) -> None:
        """Sends this byte by byte as the client's socket sees it, slowly."""
        for piece in data:
            for chunk in self._encrypted(piece):
                for at in range(len(chunk)):
                    self.send_raw(chunk[at : at + 1])
                    if self._over.wait(DRIPS_EVERY):
                        raise Gone

    def send_raw(self, data: bytes) -> None:
        """Sends this past TLS."""
        view = memoryview(data)
        while view:
            if self._over.is_set():
                raise Gone
            try:
                view = view[self._connection.send(view) :]
            except TimeoutError:
                continue
            except OSError:
                raise Gone from None

    def be_silent(self) -> None:
        """Says nothing until the client has hung up."""
        while True:
            self.receive()

    def _encrypted(self, data: bytes) -> Iterator[bytes]:
        if not self._tls:
            yield data
            return
        self._tls.write(data)
        yield self._outgoing.read()

    def _flush(self) -> None:
        if data := self._outgoing.read():
            self.send_raw(data)

    def _until(self, end: bytes) -> bytes:
        while end not in self._left:
            self._left += self._read()
        return self._left

    def _read(self) -> bytes:
        while self._tls:
            try:
                return self._tls.read(FLOOD)
            except ssl.SSLWantReadError:
                self._incoming.write(self.receive())
            except ssl.SSLError:
                raise Gone from None
        return self.receive()

    def receive(self) -> bytes:
        """The next bytes, past TLS."""
        while not self._over.is_set():
            try:
                data = self._connection.recv(FLOOD)
            except TimeoutError:
                continue
            except OSError:
                break
            if not data:
                break
            return data
        raise Gone


def _endless(first: bytes, again: bytes) -> Callable[[Peer], None]:
    """Begins so, and goes on as fast as the client takes it."""
    block = again * (FLOOD // len(again))

    def misbehave(peer: Peer) -> None:
        peer.send(first)
        while True:
            peer.send(block)

    return misbehave


def _drip(first: bytes, again: bytes) -> Callable[[Peer], None]:
    return lambda peer: peer.drip(itertools.chain([first], itertools.repeat(again)))


def _close(data: bytes) -> Callable[[Peer], None]:
    def misbehave(peer: Peer) -> None:
        peer.send(data)
        raise Gone

    return misbehave


def _then_silent(data: bytes) -> Callable[[Peer], None]:
    def misbehave(peer: Peer) -> None:
        peer.send(data)
        peer.be_silent()

    return misbehave


# A message to a channel, of nobody's.
_HINT = b"*3\r\n$7\r\nmessage\r\n$4\r\nelse\r\n$16\r\n0123456789abcdef\r\n"

# What it does in place of an answer.
WAYS: dict[str, Callable[[Peer], None]] = {
    "never answers": _then_silent(b""),
    "closes in the middle": _close(b"*7\r\n:1\r\n$20\r\nhal"),
    "drips an array": _drip(b"*16\r\n", b"$200\r\n" + 200 * b"x" + b"\r\n"),
    "drips a value": _drip(b"$4000\r\n", b"x"),
    "drips an error": _drip(b"-ERR ", b"x"),
    "endless array": _endless(b"*1048576\r\n", b":1\r\n"),
    "array that just fits": _endless(b"*6000\r\n", b"$0\r\n\r\n"),
    "endless value": _endless(b"$536870912\r\n", b"x"),
    "endless error": _endless(b"-ERR ", b"x"),
    "endless number": _endless(b":", b"1"),
    "nested arrays": _endless(b"", b"*1\r\n"),
    "arrays of arrays": _endless(b"*1048576\r\n", b"*1048576\r\n"),
    "huge length": _then_silent(b"$99999999999999999999\r\n"),
    "negative length": _then_silent(b"*-3\r\n"),
    "garbage": _endless(b"\x16\x03\x03\x3f\xff", b"\x00\xff\r\n$*"),
    "wrong types": _then_silent(b"*5\r\n$3\r\none\r\n*0\r\n$-1\r\n-ERR no\r\n:-9223372036854775808\r\n"),
    "what nobody asked": _endless(b"", b"*2\r\n:1\r\n:1\r\n"),
}
# In place of TLS: a message of it that does not end.
HANDSHAKES: dict[str, Callable[[Peer], None]] = {
    "drips a handshake": _drip(b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb\x03\x03", b"\x00"),
    "endless alerts": _endless(b"", b"\x15\x03\x03\x00\x02\x01\x5a"),
}
# To one that listens, hints of others are no harm, but they never end.
HINTS: dict[str, Callable[[Peer], None]] = {
    "endless hints": _endless(b"", _HINT),
    "drips hints": _drip(b"", _HINT),
}


class Hostile:
    """A port at which this way of misbehaving begins at a stage; `certificate` (and its key) makes it speak TLS."""

    def __init__(self, stage: str, way: Callable[[Peer], None], *, certificate: Path | None = None) -> None:
        self.stage, self._way = stage, way
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
        if self._tls and certificate:
            self._tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Hangs up on everybody."""
        self._over.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Hostile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(Gone):
            peer = Peer(connection, self._tls, self._over)
            if self.stage == "connection":
                self._way(peer)
            peer.shake_hands()
            for words in peer.commands():
                stage = _STAGES.get(words[0].upper(), "greeting")
                if stage == self.stage:
                    self._way(peer)
                peer.send(_answer(words))
                if (stage, self.stage) == ("subscription", "hints"):
                    self._way(peer)


# What commands begin; all others greet.
_STAGES = {b"EVAL": "reply", b"EVALSHA": "reply", b"SUBSCRIBE": "subscription"}


def _bulk(data: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(data), data)


def _subscribed(words: list[bytes]) -> bytes:
    return b"*3\r\n" + _bulk(b"subscribe") + _bulk(words[1]) + b":1\r\n"


def _answer(words: list[bytes]) -> bytes:
    command = words[0].upper()
    now = time.time_ns() // 1000
    if command == b"TIME":
        return b"*2\r\n" + _bulk(b"%d" % (now // 1_000_000)) + _bulk(b"%d" % (now % 1_000_000))
    if command in (b"EVAL", b"EVALSHA"):
        # A lock that another holds for five seconds still.
        return b"*8\r\n:1\r\n:%d\r\n:0\r\n:0\r\n:0\r\n:5000000\r\n:1\r\n" % now + _bulk(b"host\n1\n")
    return _subscribed(words) if command == b"SUBSCRIBE" else b"+OK\r\n"
