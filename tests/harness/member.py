"""A server that belongs to others, as a node of a cluster or a Sentinel does: asked often, frozen, killed and back."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from servers import Server, ServerError
from wire import Refused, Wire

# In seconds; a busy machine may take its time.
AGREE_WITHIN = 30.0
LOOKS_EVERY = 0.02


def until(happens: Callable[[], bool], what_not: str, told: Callable[[], object]) -> None:
    """Returns when that is so, or raises `ServerError` with what the servers told instead."""
    give_up = time.monotonic() + AGREE_WITHIN
    while time.monotonic() < give_up:
        # A server that starts, or is about to end, may refuse for a moment.
        with contextlib.suppress(ServerError):
            if happens():
                return
        time.sleep(LOOKS_EVERY)
    raise ServerError(f"{what_not} within {AGREE_WITHIN:.0f} s: {told()}")


class Member(Server):
    """One of several servers, with a connection for the harness' own questions."""

    def __init__(self, name: str, *args: str) -> None:
        super().__init__(name, *args)
        self.frozen = False
        self._wire: Wire | None = None
        self._asking = threading.Lock()

    @property
    def address(self) -> str:
        """Where clients find it, `127.0.0.1:PORT`."""
        return f"127.0.0.1:{self.port}"

    @property
    def runs(self) -> bool:
        """Whether it is there and not frozen."""
        return self._program is not None and not self.frozen

    def ask(self, *words: object, within: float = 10.0) -> Any:  # noqa: ANN401
        """The reply to a command, past any proxy; a refusal or none in time raises `ServerError`."""
        with self._asking:
            return self._ask(*words, within=within)

    def _ask(self, *words: object, within: float) -> Any:  # noqa: ANN401
        for kept in (self._wire is not None, False):
            try:
                self._wire = self._wire or Wire(self.port, within)
                return self._wire.ask(*words)
            except Refused as refused:
                raise ServerError(f"{self.name} at {self.port} answered {words} with {refused}") from None
            except OSError as error:
                self._hang_up()
                # A connection that was kept may be one to an earlier life of the server.
                if not kept or isinstance(error, TimeoutError):
                    raise ServerError(f"{self.name} at {self.port} did not answer {words}: {error}") from None
        raise AssertionError("it was asked")

    def info(self, section: str) -> dict[str, str]:
        """A section of `INFO`, or with `cluster` of `CLUSTER INFO`."""
        text: str = self.ask(*(("CLUSTER", "INFO") if section == "cluster" else ("INFO", section)))
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def freeze(self) -> None:
        """Has it stand still: its connections stay open, and the others find that it fails."""
        self.sigstop()
        self.frozen = True

    def thaw(self) -> None:
        """Has it go on, with all that was sent to it meanwhile; it does not know yet what happened."""
        self.sigcont()
        self.frozen = False

    def kill9(self) -> None:
        """Ends it as a crash would."""
        self._hang_up()
        super().kill9()
        self.frozen = False

    def close(self) -> None:
        """Ends it and removes its folder."""
        self._hang_up()
        super().close()

    def _hang_up(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None
