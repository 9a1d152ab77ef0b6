"""Where a day takes place: a server of its own, the processes of one library, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from adapter import Adapter, Answer, SilentError
from servers import Server
from trouble import ttls

SERVER = "redis-7.0"
# What a limiter admits, and in how many seconds; whoever is denied longer than CAP is not waited for.
LIMIT, WINDOW, CAP = 5, 2, 8.0
# What waiting and a busy machine add to a figure.
SLACK = 1.0
# What a call may take.
TIMEOUT = 3.0
ASKS_EVERY = 0.05
UP_WITHIN = 60.0
NO_ANSWER = "no answer"


@dataclass
class Cell:
    """What a library made of a day: the figure as text, whether it is as it should be (None: there is none), and the
    figures that others may read."""

    text: str
    good: bool | None
    figures: dict[str, Any] = field(default_factory=dict)


class Stage:
    """A server, and adapters of one library that end with the `with` block."""

    def __init__(self, command: Sequence[str], prefix: Sequence[str] = ()) -> None:
        self.command = command
        self.server = Server(SERVER, prefix=prefix)
        self.hello: Answer = {}
        self._ending = ExitStack()

    def adapter(self, port: int = 0, timeout: float = TIMEOUT) -> Adapter:
        """Another process of the library, on the server or on a proxy's port."""
        adapter = Adapter(self.command, port or self.server.port, timeout)
        self._ending.callback(adapter.kill)
        # It is up, however busy the machine is.
        self.hello = adapter.ask("hello", within=UP_WITHIN)
        return adapter

    def names(self) -> list[str]:
        """What the library keeps on the server."""
        return [key for key, _ in ttls(self.server)]

    def longest_ttl(self) -> float | None:
        """The seconds that the longest-lived key has left; None if one lives for ever."""
        left = [ttl for _, ttl in ttls(self.server)]
        return None if -1 in left else max(left, default=0) / 1000

    def __enter__(self) -> Stage:
        self.server.start()
        self._ending.callback(self.server.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.close()


def consume(adapter: Adapter, key: str, *, limit: int = LIMIT, seconds: int = WINDOW, within: float = CAP) -> Answer:
    """Asks for one more."""
    request = f"{key}-{time.monotonic_ns()}"
    return adapter.ask("consume", key=key, limit=limit, seconds=seconds, request=request, within=within)


def admitted(adapter: Adapter, key: str, *, most: int = 30, limit: int = LIMIT, seconds: int = WINDOW) -> int:
    """Asks until it is denied, or until it had so many; how many it had."""
    for number in range(most):
        try:
            if not consume(adapter, key, limit=limit, seconds=seconds).get("ok"):
                return number
        except SilentError:
            return number
    return most


def until(adapter: Adapter, do: str, **fields: Any) -> tuple[float | None, str | None]:
    """Asks again and again until it gets what it asks for: after how many seconds, None after CAP; the last error."""
    begun, error, answered = time.monotonic(), None, False
    while (left := begun + CAP - time.monotonic()) > 0:
        try:
            number = f"{time.monotonic_ns()}"
            more = {"request": number} if do == "consume" else {}
            answer = adapter.ask(do, within=left, **fields, **more)
        except SilentError:
            return None, error if answered else NO_ANSWER
        answered = True
        if answer.get("ok"):
            return time.monotonic() - begun, error
        error = answer.get("error")
        time.sleep(ASKS_EVERY)
    return None, error


def denied_for(adapter: Adapter, key: str) -> tuple[float | None, str | None]:
    """How long a key is denied from now."""
    return until(adapter, "consume", key=key, limit=LIMIT, seconds=WINDOW)


def span(seconds: float | None) -> str:
    """A length of time, as the table has it."""
    return f"> {CAP:.0f} s" if seconds is None else f"{seconds:.1f} s"


def lasting(stage: Stage, word: str, seconds: float | None, error: str | None, due: float) -> Cell:
    """A cell that tells how long something lasted that should be over when `due`; what is not over is looked at."""
    figures: dict[str, Any] = {word: seconds, "error": error}
    if seconds is not None:
        return Cell(span(seconds), seconds <= due + SLACK, figures)
    left = figures["keys_live_s"] = stage.longest_ttl()
    why = "no TTL" if left is None else f"TTL {left:,.0f} s" if left > CAP else ""
    notes = [note for note in (NO_ANSWER if error == NO_ANSWER else "errors" if error else "", why) if note]
    return Cell(span(None) + (f" ({', '.join(notes)})" if notes else ""), False, figures)
