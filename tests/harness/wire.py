"""A connection to a server for the harness' own questions, with whole replies and no help that could hide a fault."""

from __future__ import annotations

import socket
from typing import Any


class Refused(Exception):
    """What a server answered in place of a reply."""


class Wire:
    """One connection over TCP. Text goes and comes as UTF-8, and bytes that are no text come back as they went."""

    def __init__(self, port: int, within: float) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=within)
        self._replies = self._socket.makefile("rb")

    def ask(self, *words: object) -> Any:  # noqa: ANN401
        """The reply to a command; `Refused` for an error, `OSError` when there is none in time."""
        coded = [str(word).encode(errors="surrogateescape") for word in words]
        request = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in coded)
        self._socket.sendall(b"*%d\r\n" % len(coded) + request)
        reply = self._read()
        if isinstance(reply, Refused):
            raise reply
        return reply

    def close(self) -> None:
        """Hangs up."""
        self._replies.close()
        self._socket.close()

    def _read(self) -> Any:  # noqa: ANN401
        line = self._replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("the server hung up")
        kind, rest = line[:1], line[1:-2].decode(errors="surrogateescape")
        if kind == b"-":
            return Refused(rest)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self._text(int(rest))
        if kind == b"*":
            return [self._read() for _ in range(int(rest))] if rest != "-1" else None
        return rest

    def _text(self, size: int) -> str:
        text = self._replies.read(size + 2)
        if len(text) < size + 2:
            raise ConnectionResetError("the server hung up")
        return text[:-2].decode(errors="surrogateescape")
