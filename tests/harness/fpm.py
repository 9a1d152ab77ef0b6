"""A real php-fpm with the extension, and requests to its children, without a web server in between."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import tempfile
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

from program import Program
from programs import PHP
from servers import ServerError

CONFIGURATION = """
[global]
daemonize = no
error_log = /dev/stderr
[www]
listen = {folder}/socket
pm = static
pm.max_children = {children}
{user}
"""
# Kinds of FastCGI's records.
BEGIN, END, PARAMETERS, INPUT, OUTPUT = 1, 3, 4, 5, 6


class Fpm:
    """A php-fpm with so many children, from the beginning of the `with` block until its end."""

    def __init__(self, children: int) -> None:
        binary = next((found for name in ("php-fpm8.2", "php-fpm") if (found := shutil.which(name))), None)
        if binary is None:
            raise ServerError("php-fpm is missing: run 'make setup'")
        self._folder = tempfile.TemporaryDirectory(prefix="quotalock-fpm-")
        folder, user = Path(self._folder.name), "user = root" if os.geteuid() == 0 else ""
        (folder / "conf").write_text(CONFIGURATION.format(folder=folder, children=children, user=user))
        self._socket, log = folder / "socket", folder / "log"
        command = [binary, "-R", "--fpm-config", str(folder / "conf"), *PHP[1:]]
        self._program = Program("php-fpm", command, log, lambda: "ready to handle connections" in log.read_text())

    def __enter__(self) -> Fpm:
        self._program.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._program.end()
        self._folder.cleanup()

    def request(self, script: Path, **query: object) -> socket.socket:
        """Makes a request; `body` of what it returns waits for the answer."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(60)
        connection.connect(str(self._socket))
        named = {"REQUEST_METHOD": "GET", "SCRIPT_FILENAME": str(script), "QUERY_STRING": urlencode(query)}
        pairs = [(name.encode(), value.encode()) for name, value in named.items()]
        given = b"".join(struct.pack(">II", len(n) | 1 << 31, len(v) | 1 << 31) + n + v for n, v in pairs)
        records = [(BEGIN, struct.pack(">H6x", 1)), (PARAMETERS, given), (PARAMETERS, b""), (INPUT, b"")]
        packed = [struct.pack(">BBHHBx", 1, kind, 1, len(content), 0) + content for kind, content in records]
        connection.sendall(b"".join(packed))
        return connection


def body(connection: socket.socket) -> str:
    """The body of the answer to a request."""
    output = b""
    with connection, connection.makefile("rb") as answer:
        while header := answer.read(8):
            _, kind, _, length, padding = struct.unpack(">BBHHBx", header)
            content = answer.read(length + padding)[:length]
            output += content if kind == OUTPUT else b""
            if kind == END:
                break
    head, _, text = output.partition(b"\r\n\r\n")
    if not head or b"Status:" in head:
        raise ServerError(f"php-fpm answered {output!r}")
    return text.decode()
