"""What an adapter in Python needs beside its library: the lines of docs/survive.md on stdin and stdout.

An adapter is a class with the methods of `Adapter` that its library has, and `serve(ThatClass)`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

Answer = dict[str, Any]


class Adapter:
    """A library, reached by its public API. Whatever a method raises is told as an error."""

    name = ""
    version = ""

    def __init__(self, url: str, timeout: float) -> None:
        raise NotImplementedError

    def consume(self, key: str, limit: int, seconds: int, request: str) -> bool:
        """Whether one more is admitted, of `limit` in `seconds`. A repeated call has the same `request`."""
        raise NotImplementedError

    def acquire(self, name: str, seconds: float) -> Any:
        """Asks once for a lock with this lease: a handle, or None."""
        raise NotImplementedError

    def token(self, lock: Any) -> int | None:
        """The fencing token; None if there are none."""
        return None

    def held(self, lock: Any) -> bool | None:
        """Whether the library says that it is still held; None if it cannot be asked."""
        return None

    def told(self, lock: Any) -> str | None:
        """By what the holder was told, without asking, that the lock is lost; None if it was not."""
        return None

    def release(self, lock: Any) -> bool:
        """Gives it back; False if it was not ours any more."""
        raise NotImplementedError

    def read(self, key: str, seconds: int, load: Callable[[], str]) -> object:
        """Reads through the cache."""
        raise NotImplementedError


def serve(library: type[Adapter]) -> None:
    """Answers line by line."""
    adapter = library(os.environ["SURVIVE_URL"], float(os.environ["SURVIVE_TIMEOUT"]))
    locks: dict[str, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = answered(adapter, asked.pop("do"), asked, locks)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def answered(adapter: Adapter, do: str, asked: Answer, locks: dict[str, Any]) -> Answer:
    """The answer to one line."""
    name = asked.get("name", "")
    if do == "hello":
        features = {"limiter": "consume", "lock": "acquire", "cache": "read"}
        has = [feature for feature, method in features.items() if method in vars(type(adapter))]
        return {"name": adapter.name, "version": adapter.version, "does": has, "forks": True}
    if do == "consume":
        return {"ok": adapter.consume(**asked)}
    if do == "acquire":
        lock = adapter.acquire(**asked)
        if lock is None:
            return {"ok": False}
        locks[name] = lock
        return {"ok": True, "token": adapter.token(lock)}
    if do == "held":
        return {"told": adapter.told(locks[name]), "ok": adapter.held(locks[name])}
    if do == "release":
        return {"ok": adapter.release(locks[name])}
    return read(adapter, asked) if do == "read" else fork(adapter, **asked)


def read(adapter: Adapter, asked: Answer) -> Answer:
    """So many threads read at once."""
    loads = []

    def load() -> str:
        loads.append(1)
        time.sleep(asked["load_ms"] / 1000)
        return "value"

    def one() -> None:
        adapter.read(asked["key"], 60, load)

    readers = [threading.Thread(target=one) for _ in range(asked["readers"])]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    return {"loads": len(loads)}


def fork(adapter: Adapter, open: str, full: str, times: int, limit: int, seconds: int) -> Answer:
    """A child and its parent call at once: the child a key that is used up, the parent one that is not."""
    reading, writing = os.pipe()
    child = os.fork()
    wrong = errors = 0
    for number in range(times):
        key, right = (full, False) if child == 0 else (open, True)
        try:
            wrong += adapter.consume(key, limit, seconds, f"{child}-{number}") != right
        except Exception:
            errors += 1
    if child == 0:
        os.write(writing, f"{wrong} {errors}".encode())
        os._exit(0)
    theirs = os.read(reading, 100).decode().split()
    os.waitpid(child, 0)
    return {"wrong": wrong + int(theirs[0]), "errors": errors + int(theirs[1])}
