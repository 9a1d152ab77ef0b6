"""Locks as they are often written by hand, each with a classic fault, and one without: `naive_locks.py FAULT`.

Each keeps what it says of itself: `held`, `remaining` and `token` are what its users would go by.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Any

from worker.worker import Session, serve

# Each key with its fencing token beside it, at least the server's time.
ACQUIRE = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local time = redis.call('TIME')
local token = math.max((redis.call('GET', KEYS[2]) or 0) + 1, time[1] * 1000000 + time[2])
redis.call('SET', KEYS[2], string.format('%.0f', token), 'PX', 86400000)
return token
"""
RELEASE = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0"
EXTEND = "return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('PEXPIRE', KEYS[1], ARGV[2]) or 0"


class GoneError(Exception):
    """The connection failed."""

    code = "unavailable"


class Connection:
    """One command, one reply; after a failure it connects anew."""

    def __init__(self, url: str) -> None:
        self.address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.socket: socket.socket | None = None

    def command(self, *words: object) -> Any:
        parts = [str(word).encode() for word in words]
        request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, timeout=1)
                self.replies = self.socket.makefile("rb")
            self.socket.sendall(request)
            return self.reply()
        except OSError:
            self.socket = None
            raise GoneError from None

    def reply(self) -> Any:
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise OSError("the server has gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2].decode()
        return rest.decode()


class Lock:
    """A mutex without a fault."""

    def __init__(self, proc: str, server: Connection, key: str, ttl_ms: int, permits: int) -> None:
        self.proc, self.server, self.key, self.ttl_ms, self.permits = proc, server, key, ttl_ms, permits
        self.owner, self.token, self.deadline = "", 0, 0.0

    def acquire(self, wait: float) -> bool:
        give_up = time.monotonic() + wait
        while True:
            self.owner = f"{self.proc}:{os.urandom(16).hex()}"
            sent = time.monotonic()
            self.token = self.ask()
            if self.token > 0:
                self.deadline = self.certain_from(sent) + self.ttl_ms * 0.99 / 1000 - 0.002
                return True
            if time.monotonic() >= give_up:
                return False
            time.sleep(0.001)

    def ask(self) -> int:
        token: int = self.server.command("EVAL", ACQUIRE, 2, self.key, f"{self.key}:token", self.owner, self.ttl_ms)
        return token

    def certain_from(self, sent: float) -> float:
        return sent

    @property
    def held(self) -> bool:
        return self.remaining > 0

    @property
    def remaining(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def extend(self) -> bool:
        sent = time.monotonic()
        done = bool(self.server.command("EVAL", EXTEND, 1, self.key, self.owner, self.ttl_ms))
        self.deadline = self.certain_from(sent) + self.ttl_ms * 0.99 / 1000 - 0.002 if done else 0.0
        return done

    def release(self) -> bool:
        self.deadline = 0.0
        return bool(self.server.command("EVAL", RELEASE, 1, self.key, self.owner))


class ReleasesAnyones(Lock):
    """Deletes the key, whoever holds it."""

    def release(self) -> bool:
        self.deadline = 0.0
        return bool(self.server.command("DEL", self.key))


class CountsFromReply(Lock):
    """Counts its ttl from when it heard of its grant, not from when it asked."""

    def certain_from(self, sent: float) -> float:
        return time.monotonic()


class IgnoresDeadline(Lock):
    """Takes itself for the holder until it releases."""

    @property
    def held(self) -> bool:
        return True

    @property
    def remaining(self) -> float:
        return self.ttl_ms / 1000


class GetThenDel(Lock):
    """Looks whether it is the owner, and deletes, in two steps."""

    def release(self) -> bool:
        self.deadline = 0.0
        return self.server.command("GET", self.key) == self.owner and bool(self.server.command("DEL", self.key))


class SetThenExpire(Lock):
    """Sets the key and its TTL in two steps."""

    def ask(self) -> int:
        if not self.server.command("SETNX", self.key, self.owner):
            return 0
        self.server.command("PEXPIRE", self.key, self.ttl_ms)
        return time.time_ns() // 1000


class CountsTokens(Lock):
    """Counts its fencing tokens, with what the server remembers."""

    def ask(self) -> int:
        if not self.server.command("SET", self.key, self.owner, "NX", "PX", self.ttl_ms):
            return 0
        token: int = self.server.command("INCR", f"{self.key}:token")
        self.server.command("PEXPIRE", f"{self.key}:token", 86400000)
        return token


class CountsHolders(Lock):
    """A semaphore that is a number: whoever dies takes a permit along."""

    def ask(self) -> int:
        count = self.server.command("INCR", self.key)
        self.counted(count)
        if count <= self.permits:
            return time.time_ns() // 1000
        self.server.command("DECR", self.key)
        return 0

    def counted(self, count: int) -> None:
        """Keeps the number for ever."""

    def extend(self) -> bool:
        return True

    def release(self) -> bool:
        self.deadline = 0.0
        self.server.command("DECR", self.key)
        return True


class ForgetsHolders(CountsHolders):
    """A semaphore that is a number with a TTL from when it was 1: it forgets those who came later."""

    def counted(self, count: int) -> None:
        if count == 1:
            self.server.command("PEXPIRE", self.key, self.ttl_ms)


FAULTS = {
    "none": Lock,
    "release-anyones": ReleasesAnyones,
    "deadline-from-reply": CountsFromReply,
    "ignores-deadline": IgnoresDeadline,
    "get-then-del": GetThenDel,
    "set-then-expire": SetThenExpire,
    "incr-token": CountsTokens,
    "counter": CountsHolders,
    "counter-with-ttl": ForgetsHolders,
}


class Client:
    """Takes the place of quotalock's; each of its handles has a connection."""

    def __init__(self, url: str, kind: type[Lock]) -> None:
        self.url, self.kind = url, kind

    def lock(self, name: str, *, ttl: float, label: str, **_: bool) -> Lock:
        """Makes a lock; what it writes into Redis begins with its label."""
        return self.semaphore(name, ttl=ttl, label=label)

    def semaphore(self, name: str, *, ttl: float, label: str, permits: int = 1, **_: bool) -> Lock:
        """Makes a semaphore."""
        return self.kind(label, Connection(self.url), name, round(ttl * 1000), permits)


if __name__ == "__main__":
    serve(Session(lambda request: Client(request["url"], FAULTS[sys.argv[1]]), threads=True))
