#!/usr/bin/env python3
"""Runs a command with a server that runs scripts as Dragonfly does: `lua54.py -- COMMAND ...`.

It stands before a real server and passes everything on to it, but runs scripts itself, in Lua 5.4 with Dragonfly's
libraries. It is stricter than any server that people rent: a script may touch declared keys only, must declare one, has
at most 3,999 arguments, may pass no number that Lua 5.4 writes as `1.0`, must answer integers, and is forgotten again
and again (`NOSCRIPT`). `CONFIG` is refused.

The command finds it in QUOTALOCK_TEST_SERVERS as `elsewhere`.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from lupa import LuaError
from lupa.lua54 import LuaRuntime
from servers import Server
from with_servers import environment, run

NAME = "elsewhere"
# The most arguments that ElastiCache Serverless takes.
ARGUMENTS = 3999
# A script is forgotten after so many calls of it.
KNOWN_FOR = 40
# With these words at its beginning Dragonfly answers numbers as Redis does.
WHOLE = b"--!df flags=legacy-float\n"
KEYLESS = (b"TIME", b"PUBLISH", b"INFO")
WRITTEN_FLOAT = re.compile(rb"[ -~]{0,24}\d\.0")
# What a test may expect.
FROM_SERVER = re.compile(rb"user_script:\d+: [A-Z]{3,} ")


class Refusal(Exception):
    """What a script must not do here."""


# A value of RESP, and one of Lua: of the latter a table is an object of lupa.
Resp: TypeAlias = "bytes | int | list[Resp] | None"
Lua: TypeAlias = object


class Status(bytes):
    """A simple string of RESP."""


class Failure(bytes):
    """An error of RESP."""


def read(stream: BinaryIO, raw: bytearray) -> Resp:
    """Reads one value of RESP, and appends its bytes."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise EOFError
    raw += line
    kind, text = line[:1], line[1:-2]
    if kind == b"+":
        return Status(text)
    if kind == b"-":
        return Failure(text)
    if kind == b":":
        return int(text)
    size = int(text)
    if size < 0:
        return None
    if kind == b"*":
        return [read(stream, raw) for _ in range(size)]
    data = stream.read(size + 2)
    raw += data
    return data[:-2]


def written(words: list[bytes]) -> bytes:
    """A command as RESP."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Scripts:
    """The Lua of all connections: one script at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.lua: Any = LuaRuntime(encoding=None, unpack_returned_tuples=True)
        globals_ = self.lua.globals()
        self._ask: Callable[[list[bytes]], Resp] = lambda words: None
        self._keys: set[bytes] = set()
        self._known: dict[bytes, tuple[tuple[Any, bool] | None, int]] = {}
        self._whole = False
        self.lua.execute(b"redis = {}")
        redis = globals_[b"redis"]
        redis[b"python_call"] = self._call
        redis[b"sha1hex"] = lambda text: hashlib.sha1(text).hexdigest().encode()
        # An error crosses into Lua as a value, and is raised there.
        self.lua.execute(
            b"local ask, type, error = redis.python_call, type, error\n"
            b"redis.python_call = nil\n"
            b"redis.pcall = function(...) return (ask(...)) end\n"
            b"redis.call = function(...)\n"
            b"  local done = ask(...)\n"
            b"  if type(done) == 'table' and done.err then error(done.err, 2) end\n"
            b"  return done\n"
            b"end"
        )
        self.lua.execute((Path(__file__).parent / "lua54.lua").read_bytes())
        self._globals = globals_
        self._attempt = globals_[b"pcall"]

    def evaluate(self, words: list[bytes], ask: Callable[[list[bytes]], Resp]) -> bytes:
        """Answers EVAL or EVALSHA."""
        if len(words) > ARGUMENTS:
            return b"-ERR a call has more than %d arguments\r\n" % ARGUMENTS
        count = int(words[2])
        if count < 1:
            return b"-ERR Lua scripts without any input keys are not supported\r\n"
        known = self._function(words)
        if known is None:
            return b"-NOSCRIPT No matching script. Please use EVAL.\r\n"
        function, self._whole = known
        keys, arguments = words[3 : 3 + count], words[3 + count :]
        self._ask, self._keys = ask, set(keys)
        self._globals[b"KEYS"] = self.lua.table_from(keys)
        self._globals[b"ARGV"] = self.lua.table_from(arguments)
        try:
            done, answer = self._attempt(function)
            if done:
                return self._reply(answer)
            text = answer if isinstance(answer, bytes) else b"user_script:1: refused here: %s" % str(answer).encode()
        except (Refusal, LuaError) as error:
            text = f"user_script:1: refused here: {error}".encode()
        if not FROM_SERVER.match(text):
            print(f"{NAME}: {text.decode(errors='replace')}", file=sys.stderr)
        text = b"Error running script (call to f_%s): @%s" % (self._sha(words).encode(), text)
        return b"-ERR " + text.replace(b"\r", b" ").replace(b"\n", b" ") + b"\r\n"

    def _sha(self, words: list[bytes]) -> str:
        return (hashlib.sha1(words[1]).hexdigest() if words[0].upper() == b"EVAL" else words[1].decode()).lower()

    def _function(self, words: list[bytes]) -> tuple[Any, bool] | None:
        """The script, and whether it asks for whole numbers; none if it is not known, or was forgotten."""
        sha = self._sha(words).encode()
        if words[0].upper() == b"EVAL":
            if sha not in self._known:
                function = self.lua.compile(words[1], name=b"@user_script")
                self._known[sha] = (function, words[1].startswith(WHOLE)), KNOWN_FOR
            return self._known[sha][0]
        known, left = self._known.pop(sha, (None, 0))
        if left > 0:
            self._known[sha] = known, left - 1
        return known if left > 0 else None

    def _call(self, *arguments: Lua) -> Lua:
        words = []
        for argument in arguments:
            if isinstance(argument, bytes):
                if WRITTEN_FLOAT.fullmatch(argument):
                    raise Refusal(f"{arguments[0]!r} is passed the text {argument!r}")
                words.append(argument)
            elif isinstance(argument, float):
                words.append(b"%.17g" % argument)
            elif isinstance(argument, int) and not isinstance(argument, bool):
                words.append(b"%d" % argument)
            else:
                raise Refusal(f"{arguments[0]!r} is passed {argument!r}")
        name = words[0]
        if name not in KEYLESS:
            touched = words[1:] if name == b"DEL" else words[1:2]
            for key in touched:
                if key not in self._keys:
                    raise Refusal(f"{name!r} touches {key!r}, which is not declared")
        return self._value(self._ask(words), is_double=name == b"ZSCORE", pairs=b"WITHSCORES" in words)

    def _value(self, value: Resp, *, is_double: bool = False, pairs: bool = False) -> Lua:
        """A reply as Lua gets it there: what is a double in RESP 3 is a number."""
        if isinstance(value, Status):
            return self.lua.table_from({b"ok": bytes(value)})
        if isinstance(value, Failure):
            return self.lua.table_from({b"err": bytes(value)})
        if value is None:
            return False
        if isinstance(value, list):
            return self.lua.table_from(
                [self._value(one, is_double=pairs and at % 2 == 1) for at, one in enumerate(value)]
            )
        if is_double:
            number = float(value)
            return int(number) if number.is_integer() and abs(number) < 2**63 else number
        return value

    def _reply(self, value: Lua) -> bytes:
        if isinstance(value, bytes):
            return b"$%d\r\n%s\r\n" % (len(value), value)
        if value is None or value is False:
            return b"$-1\r\n"
        if value is True:
            return b":1\r\n"
        if isinstance(value, int):
            return b":%d\r\n" % value
        if isinstance(value, float):
            if not self._whole:
                raise Refusal(f"the reply has the float {value!r}")
            return b":%d\r\n" % value
        table: Any = value
        for field, mark in ((b"err", b"-"), (b"ok", b"+")):
            if table[field] is not None:
                return mark + bytes(table[field]) + b"\r\n"
        items = [self._reply(table[at]) for at in range(1, len(table) + 1)]
        return b"*%d\r\n" % len(items) + b"".join(items)


class Front:
    """The server: a port, and a thread for each connection."""

    def __init__(self, behind: Server) -> None:
        self._behind = behind
        self._scripts = Scripts()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._behind.port))
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked, answered = client.makefile("rb"), server.makefile("rb")

        def ask(words: list[bytes]) -> Resp:
            server.sendall(written(words))
            return read(answered, bytearray())

        with client, server, suppress(OSError, EOFError):
            while True:
                raw = bytearray()
                words = cast("list[bytes]", read(asked, raw))
                name = words[0].upper()
                if name.endswith(b"SUBSCRIBE"):
                    # From here on both sides talk when they like.
                    server.sendall(raw)
                    threading.Thread(target=self._pass_on, args=(answered, client), daemon=True).start()
                    self._pass_on(asked, server)
                    return
                with self._scripts.lock:
                    if name in (b"EVAL", b"EVALSHA"):
                        client.sendall(self._scripts.evaluate(words, ask))
                    elif name == b"CONFIG":
                        client.sendall(b"-ERR unknown command 'CONFIG'\r\n")
                    else:
                        server.sendall(raw)
                        reply = bytearray()
                        read(answered, reply)
                        client.sendall(reply)

    def _pass_on(self, source: BufferedReader, target: socket.socket) -> None:
        with suppress(OSError, ValueError):
            while data := source.read1(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


def main(arguments: list[str]) -> int:
    """Starts both servers, runs the command and stops them."""
    if len(arguments) < 2 or arguments[0] != "--":
        print("usage: lua54.py -- COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 2
    with Server("redis-7.0") as behind:
        env = environment({"redis-7.0": behind}, {}) | {"QUOTALOCK_TEST_SERVERS": json.dumps({NAME: Front(behind).url})}
        return run(arguments[1:], env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
