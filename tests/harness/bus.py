"""The bus of a cluster, passed on by the harness: any two nodes can be cut off from each other.

Each node announces a port here as its bus. A link begins with a message that names its sender, so it is known which
two nodes it is between. A link that was cut carries nothing, as in a network that loses packets, until it is healed:
then it breaks, and the nodes make another.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

# In a message of the bus, where the id of its sender stands.
SENDER = slice(40, 80)
LOOKS_EVERY = 0.05


@dataclass
class _Link:
    """A connection that one node made to another."""

    ends: tuple[socket.socket, socket.socket]
    to: str
    sender: str = ""
    # What was read before the sender was known.
    begun: bytes = b""
    is_cut: bool = False

    @property
    def between(self) -> frozenset[str]:
        return frozenset((self.sender, self.to))

    def other(self, end: socket.socket) -> socket.socket:
        return self.ends[1] if end is self.ends[0] else self.ends[0]


@dataclass
class Bus:
    """All links between nodes; in a thread of its own."""

    _ports: dict[str, int] = field(default_factory=dict)
    _cut: set[frozenset[str]] = field(default_factory=set)
    _links: list[_Link] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _closing: bool = False
    _thread: threading.Thread | None = None

    def listen(self, node: str, port: int) -> int:
        """The port at which others find the node with this id, whose own bus is at `port`."""
        self._ports[node] = port
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        listener.setblocking(False)
        with self._lock:
            self._selector.register(listener, selectors.EVENT_READ, node)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
        return int(listener.getsockname()[1])

    def cut(self, some: Iterable[str], others: Iterable[str]) -> None:
        """Cuts each of some nodes off from each of the others."""
        others = list(others)
        with self._lock:
            self._cut |= {frozenset((one, other)) for one in some for other in others if one != other}
            for link in self._links:
                link.is_cut = link.is_cut or link.between in self._cut

    def heal(self, some: Iterable[str] = (), others: Iterable[str] = ()) -> None:
        """Lets each of some nodes and each of the others find each other again; of none given, all."""
        others = list(others)
        pairs = {frozenset((one, other)) for one in some for other in others} or set(self._cut)
        with self._lock:
            self._cut -= pairs
            for link in [link for link in self._links if link.is_cut and link.between not in self._cut]:
                self._end(link)

    def close(self) -> None:
        """Ends all links."""
        self._closing = True
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            for link in list(self._links):
                self._end(link)
            for key in list((self._selector.get_map() or {}).values()):
                if isinstance(key.fileobj, socket.socket):
                    key.fileobj.close()
            self._selector.close()

    def _run(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(LOOKS_EVERY):
                with self._lock:
                    if isinstance(key.data, str):
                        self._accept(key.fileobj, key.data)  # type: ignore[arg-type]
                    elif key.data in self._links:
                        self._pass_on(key.fileobj, key.data)  # type: ignore[arg-type]

    def _accept(self, listener: socket.socket, to: str) -> None:
        with contextlib.suppress(OSError):
            near, _ = listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self._ports[to]), timeout=1)
            except OSError:
                near.close()
                return
            link = _Link((near, far), to)
            self._links.append(link)
            for end in link.ends:
                end.settimeout(1)
                self._selector.register(end, selectors.EVENT_READ, link)

    def _pass_on(self, end: socket.socket, link: _Link) -> None:
        try:
            chunk = end.recv(1 << 16)
            if not chunk:
                self._end(link)
                return
            if not link.sender:
                link.begun += chunk
                if len(link.begun) < SENDER.stop:
                    return
                link.sender, chunk = link.begun[SENDER].decode(errors="replace"), link.begun
                link.is_cut = link.between in self._cut
            if not link.is_cut:
                link.other(end).sendall(chunk)
        except OSError:
            self._end(link)

    def _end(self, link: _Link) -> None:
        self._links.remove(link)
        for end in link.ends:
            self._selector.unregister(end)
            end.close()
