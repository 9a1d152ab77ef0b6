"""A time that stands still until a test moves it."""

from __future__ import annotations

from typing import Protocol

from ._native import Client, set_time

# The time of a new clock, in seconds since the epoch.
BEGINS = 1_700_000_000.0


class OfLoop(Protocol):
    """A client of `quotalock.aio`."""

    @property
    def _native(self) -> Client: ...


class Clock:
    """The time of one client, of `quotalock` or of `quotalock.aio`: it stands still until `advance` moves it.

    `at` is in seconds since the epoch. TTLs run in real time all the same.
    """

    def __init__(self, client: Client | OfLoop, at: float = BEGINS) -> None:
        self._client = client if isinstance(client, Client) else client._native
        self._micros = round(at * 1_000_000)
        self.advance(0.0)

    @property
    def now(self) -> float:
        """The client's time, in seconds since the epoch."""
        return self._micros / 1_000_000

    def advance(self, seconds: float) -> None:
        """Moves the client's time on by `seconds`; back by less than 0."""
        micros = self._micros + round(seconds * 1_000_000)
        set_time(self._client, micros)
        self._micros = micros
