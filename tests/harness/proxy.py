"""A TCP proxy that misbehaves on request: one port in front of a real server."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from types import TracebackType

# More connections than any test has open at once; what comes beyond is hung up on.
CONNECTIONS = 256
# Tests change their mind about faults at any time: no thread may sleep past it for long.
LOOKS_EVERY = 0.05


@dataclass
class Faults:
    """What goes wrong from now on; all may be changed while connections are open."""

    # The probability that a reply is lost, and with it the connection.
    lose: float = 0.0
    # The first replies of each connection that are never lost: with 1 a login succeeds.
    spare: int = 0
    # No more replies than this are lost.
    at_most: int = 10**9
    # Of a lost reply, this many bytes still pass.
    keep: int = 0
    # A lost reply ends the connection by a reset instead of a goodbye.
    reset: bool = False
    # Seconds by which replies are late.
    delay: float = 0.0
    # Seconds by which requests are late; they arrive even when the client has hung up meanwhile.
    late: float = 0.0
    # The part of both that is left to chance: 0 none, with 1 some are not late at all.
    spread: float = 0.0
    # Connections are accepted, and nothing passes.
    mute: bool = False
    # Nobody is let in; those who are in stay until `hang_up`.
    down: bool = False
    # Replies wait until this is over.
    held: bool = False


@dataclass
class Counts:
    """What has passed so far, in chunks as read from the sockets: one small request or reply is one chunk."""

    connections: int = 0
    requests: int = 0
    replies: int = 0
    lost: int = 0


@dataclass
class _Pair:
    client: socket.socket
    server: socket.socket
    threads: list[threading.Thread] = field(default_factory=list)

    def shut(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Proxy:
    """Passes bytes between its own port and `upstream`, but for its `faults`; `counts` what has passed."""

    def __init__(self, upstream: int, *, seed: int = 1) -> None:
        self.upstream = upstream
        self.faults = Faults()
        self.counts = Counts()
        self._luck = random.Random(seed)
        self._pairs: list[_Pair] = []
        self._closing = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address to give a client."""
        return f"redis://127.0.0.1:{self.port}"

    def hang_up(self) -> None:
        """Ends the connections that are open now; new ones are welcome."""
        for pair in self._pairs:
            pair.shut()

    def close(self) -> None:
        """Ends all connections and gives the port back."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self.hang_up()
        for pair in self._pairs:
            for thread in pair.threads:
                thread.join()
            pair.client.close()
            pair.server.close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.faults.down:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.upstream), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._forget_ended()
            if len(self._pairs) >= CONNECTIONS:
                client.close()
                server.close()
                continue
            self.counts.connections += 1
            pair = _Pair(client, server)
            pair.threads = [
                threading.Thread(target=self._up, args=(pair,), daemon=True),
                threading.Thread(target=self._down, args=(pair,), daemon=True),
            ]
            # Known before anything passes: whoever was answered over it can hang up on it.
            self._pairs.append(pair)
            if self.faults.down:
                pair.shut()
            for thread in pair.threads:
                thread.start()

    def _forget_ended(self) -> None:
        ended = [pair for pair in self._pairs if not any(thread.is_alive() for thread in pair.threads)]
        self._pairs = [pair for pair in self._pairs if pair not in ended]
        for pair in ended:
            pair.client.close()
            pair.server.close()

    def _up(self, pair: _Pair) -> None:
        while chunk := _read(pair.client):
            self.counts.requests += 1
            if self.faults.mute:
                continue
            self._sleep(self.faults.late)
            try:
                pair.server.sendall(chunk)
            except OSError:
                break
        # What the client sent before it left has been passed on; the server may still answer to nobody.
        with contextlib.suppress(OSError):
            pair.server.shutdown(socket.SHUT_WR)

    def _down(self, pair: _Pair) -> None:
        seen = 0
        while chunk := _read(pair.server):
            self.counts.replies += 1
            seen += 1
            if self.faults.mute:
                continue
            self._sleep(self.faults.delay)
            while self.faults.held and not self._closing:
                time.sleep(LOOKS_EVERY / 10)
            faults = self.faults
            if seen > faults.spare and faults.at_most > 0 and self._luck.random() < faults.lose:
                faults.at_most -= 1
                self.counts.lost += 1
                self._lose(pair, chunk[: self.faults.keep])
                break
            try:
                pair.client.sendall(chunk)
            except OSError:
                break
        pair.shut()

    def _lose(self, pair: _Pair, rest: bytes) -> None:
        with contextlib.suppress(OSError):
            if rest:
                pair.client.sendall(rest)
            if self.faults.reset:
                # Lingering for no time makes the close a reset. The other thread's read ends by the server's end.
                pair.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                pair.client.shutdown(socket.SHUT_RD)
                pair.client.close()

    def _sleep(self, seconds: float) -> None:
        # Where nothing is late the luck is for what is lost alone: else the turns of two threads would decide that.
        if not seconds:
            return
        end = time.monotonic() + seconds * (1 - self.faults.spread * self._luck.random())
        while not self._closing and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LOOKS_EVERY))


def _read(end: socket.socket) -> bytes:
    try:
        return end.recv(65536)
    except OSError:
        return b""
