"""All bad days: by which word `ONLY` names them, and the columns that they fill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cache_days
import limiter_days
import lock_days
from stage import Cell


@dataclass(frozen=True)
class Day:
    """A day of a feature: `live` it with the command of an adapter."""

    feature: str
    word: str
    columns: tuple[str, ...]
    live: Callable[[Sequence[str]], Cell | tuple[Cell, ...]]
    # Whether nothing else runs meanwhile.
    alone: bool = False

    def run(self, command: Sequence[str]) -> tuple[Cell, ...]:
        """A cell for each of the columns."""
        lived = self.live(command)
        return lived if isinstance(lived, tuple) else (lived,)


LIMITER = (
    Day("limiter", "ttl", ("TTL lost",), limiter_days.ttl_lost),
    Day("limiter", "leftover", ("leftover -1",), limiter_days.leftover),
    Day("limiter", "crash", ("killed within a call",), limiter_days.crash),
    Day("limiter", "pause", ("stopped within a call",), limiter_days.pause),
    Day("limiter", "replies", ("replies lost",), limiter_days.lost_replies),
    Day("limiter", "clock", ("clock an hour back",), limiter_days.clock_back),
    Day("limiter", "flush", ("SCRIPT FLUSH",), limiter_days.script_flush),
    Day("limiter", "fork", ("fork",), limiter_days.fork),
    Day("limiter", "restart", ("Redis restarts",), limiter_days.restart),
)
LOCK = (
    Day("lock", "crash", ("killed within acquire",), lock_days.crash),
    Day("lock", "ghost", ("acquire timed out",), lock_days.ghost),
    Day("lock", "stopped", ("overlaps", "learns of the loss", "its release frees"), lock_days.stopped),
    Day("lock", "tokens", ("tokens after FLUSHALL",), lock_days.tokens),
    Day("lock", "clock", ("clock an hour back",), lock_days.clock_back),
    Day("lock", "flush", ("SCRIPT FLUSH",), lock_days.script_flush),
    Day("lock", "restart", ("Redis restarts",), lock_days.restart),
)
CACHE = (Day("cache", "stampede", ("100 readers",), cache_days.stampede, alone=True),)
TABLES = (LIMITER, LOCK, CACHE)
