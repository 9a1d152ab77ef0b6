"""Acts 1 and 2: a hundred users on one item, and what the limiter's key does meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from accesslog import AccessLog, Count
from needs import Tools
from rediskey import Look, RedisKey
from shop import Shop
from siege import Siege

LOOK_EVERY = 0.02
# nginx writes its log every 100 ms; a second is shown once all of it has surely been written.
LOG_DELAY = 0.25
# An answer that was on its way when the limiter died may be logged after it.
ON_ITS_WAY = 0.1


@dataclass
class Onslaught:
    """What came of one act: the answers of every second, the death if there was one, and the key at the end."""

    length: int
    seconds: list[Count] = field(default_factory=list)
    dead_after: float | None = None
    admitted_after_death: int = 0
    ever_immortal: bool = False
    last: Look = field(default_factory=lambda: Look(None, -2))

    @property
    def total(self) -> Count:
        """All seconds together."""
        return Count(
            sum(second.admitted for second in self.seconds),
            sum(second.denied for second in self.seconds),
            sum(second.other for second in self.seconds),
        )


# Told each second as it has passed: its number from 1, the answers in it, and the key just after it.
OnSecond = Callable[[int, Count, Look], None]
# Told once, after the second of the death: how long after the start it was, and the key at that moment.
OnDeath = Callable[[float, Look], None]


def run(
    tools: Tools,
    folder: Path,
    shop: Shop,
    key: RedisKey,
    *,
    length: int,
    after_death: int | None = None,
    on_second: OnSecond,
    on_death: OnDeath,
) -> Onslaught:
    """Lets siege loose on the shop for `length` seconds; with `after_death` only for as many after the limiter died."""
    result = Onslaught(length)
    start = time.time()
    log = AccessLog(shop.access_log, start)
    shown = 0
    death: tuple[float, Look] | None = None
    with Siege(tools, folder, shop.url, length + 5) as siege:
        while shown < result.length:
            time.sleep(LOOK_EVERY)
            siege.check()
            result.last = key.look()
            result.ever_immortal = result.ever_immortal or result.last.is_immortal
            now = time.time() - start
            if death is None and result.last.is_dead:
                death = (now, result.last)
                result.dead_after = now
                if after_death is not None:
                    result.length = min(length, int(now) + 1 + after_death)
            if now >= shown + 1 + LOG_DELAY:
                log.read()
                on_second(shown + 1, log.second(shown), result.last)
                if death is not None and int(death[0]) == shown:
                    on_death(*death)
                shown += 1
    log.close()
    result.seconds = [log.second(index) for index in range(result.length)]
    if result.dead_after is not None:
        flat = result.dead_after + ON_ITS_WAY
        result.admitted_after_death = sum(flat < moment < result.length for moment in log.admissions)
    return result
