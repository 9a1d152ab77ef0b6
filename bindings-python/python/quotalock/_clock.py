"""A time that stands still until a test moves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from .aio import Client as LoopClient

# The time of a new clock, in seconds since the epoch.
BEGINS = 1_700_000_000.0


class Clock:
    """The time of one client, of `quotalock` or of `quotalock.aio`: it stands still until `advance` moves it.

    `at` is in seconds since the epoch. TTLs run in real time all the same.
    """

    def __init__(self, client: _native.Client | LoopClient, at: float = BEGINS) -> None:
        self._client: _native.Client = client if isinstance(client, _native.Client) else client._native
        self._micros = round(at * 1_000_000)
        self.advance(0.0)

    @property
    def now(self) -> float:
        """The client's time, in seconds since the epoch."""
        return self._micros / 1_000_000

    def advance(self, seconds: float) -> None:
        """Moves the client's time on by `seconds`; back by less than 0."""
        micros = self._micros + round(seconds * 1_000_000)
        _native.set_time(self._client, micros)
        self._micros = micros
