"""A worker of each language, Rust too, who share a server and a prefix."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import redis
from workers import COMMANDS, Answer, Worker

# What a loader is told that is not to be called.
NOBODY = {"fails": "nobody may load"}


class Crew(dict[str, Worker]):
    """The workers by their languages, all with one prefix that nobody else uses."""

    def __init__(self, workers: dict[str, Worker], url: str) -> None:
        super().__init__(workers)
        self.url, self.prefix = url, f"s{uuid.uuid4().hex[:12]}"
        for worker in self.values():
            self.join(worker)

    def all_find(self, op: str, name: str, options: Answer | None = None, **arguments: Any) -> Any:
        """What every language finds, which must be the same."""
        found = {language: done(worker, op, name, options, **arguments) for language, worker in self.items()}
        assert found == dict.fromkeys(self, found["rust"]), f"{op} of {name}: {found}"
        return found["rust"]

    def join(self, worker: Worker) -> None:
        """Gives a worker a client like those of the others."""
        answer = worker.client(self.url, prefix=self.prefix, timeout_ms=5000)
        assert "error" not in answer, answer

    def begun(self, name: str, key: str, before: bytes | None = None) -> bytes:
        """What is stored of a key of a cache or a once as soon as it is not what it was: somebody loads."""
        give_up = time.monotonic() + 10
        with redis.Redis.from_url(self.url) as server:
            while True:
                for found in server.scan_iter(f"{self.prefix}:*:{name}:{{{key}}}", count=10_000):
                    stored = server.get(found)
                    if isinstance(stored, bytes) and stored != before:
                        return stored
                assert time.monotonic() < give_up, f"nobody loads {key} of {name}"
                time.sleep(0.002)

    def awaited(self, name: str, key: str) -> None:
        """Returns when all but the one who loads it wait for a key of a cache or a once."""
        give_up = time.monotonic() + 10
        with redis.Redis.from_url(self.url) as server:
            while True:
                lists = list(server.scan_iter(f"{self.prefix}:*:{name}:{{{key}}}:wait", count=10_000))
                # Each who waits has its channel in the list, of 16 bytes.
                if lists and server.strlen(lists[0]) == 16 * (len(self) - 1):
                    return
                assert time.monotonic() < give_up, f"not all wait for {key} of {name}"
                time.sleep(0.002)


@contextlib.contextmanager
def held_up(gate: Path) -> Iterator[dict[str, Path]]:
    """What a loader is told so that it does not end before the `with` block does; the file is to be one of its own."""
    try:
        yield {"until": gate}
    finally:
        gate.touch()


@contextlib.contextmanager
def started() -> Iterator[dict[str, Worker]]:
    """A worker of each language."""
    with contextlib.ExitStack() as stack:
        yield {language: stack.enter_context(Worker(language)) for language in COMMANDS}


def done(worker: Worker, op: str, name: str = "", options: Answer | None = None, **arguments: Any) -> Any:
    """The result of a call that must succeed."""
    answer = worker.call(op, name, options, **arguments)
    assert "error" not in answer, answer
    return answer["result"]
