"""Limiters with a fault each, and one without, as workers: `planted.py FAULT SKEW_MS`. Fixed windows of one rule only.

* `none`: one script by the server's clock, to show that it is the faults that are caught.
* `client-clock`: the same script by the clock of the client, which is SKEW_MS ahead of the server's.
* `get-then-set`: reads, decides here, and writes.
* `no-ttl-rewrite`: counts with INCRBY and sets the TTL with the first count only.
"""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace
from typing import Any

import redis
from history import MS, parse
from worker.worker import Session, serve

# KEYS[1] holds "count end". ARGV: cost, limit, period, now or '' for the server's clock. Microseconds.
DECIDE = """
local cost, limit, period, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local count, stop = string.match(redis.call('GET', KEYS[1]) or '', '(%d+) (%d+)')
count, stop = tonumber(count) or 0, tonumber(stop) or 0
if stop <= now then count, stop = 0, now + period end
if count + cost > limit then return {0, limit - count, stop - now} end
redis.call('SET', KEYS[1], string.format('%d %.0f', count + cost, stop), 'PX', math.ceil((stop - now) / 1000))
return {1, limit - count - cost, stop - now}
"""

# KEYS[1] is a counter. ARGV: cost, limit, period in milliseconds.
COUNT = """
local cost, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local count = redis.call('INCRBY', KEYS[1], cost)
if count == cost then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
local left = math.max(0, redis.call('PTTL', KEYS[1])) * 1000
if count <= limit then return {1, limit - count, left} end
redis.call('DECRBY', KEYS[1], cost)
return {0, limit - count + cost, left}
"""


class Limiter:
    """One rule, decided with the fault."""

    def __init__(self, server: redis.Redis, fault: str, skew_us: int, name: str, policy: str) -> None:
        (self.rule,) = parse(policy)
        self.server, self.fault, self.skew_us, self.name = server, fault, skew_us, name

    def consume(self, key: bytes, cost: int) -> SimpleNamespace:
        """Decides; answers as a limiter of quotalock would."""
        place = self.name.encode() + b":" + key
        allowed, remaining, reset_us = self.decide(place, cost, self.rule.limit, self.rule.period // 1000)
        retry_after = 0 if allowed else reset_us / 1e6
        said = {"allowed": bool(allowed), "remaining": remaining, "limit": self.rule.limit, "retry_after": retry_after}
        answer = SimpleNamespace(**said, reset_after=reset_us / 1e6)
        return SimpleNamespace(**vars(answer), rules=[answer])

    def decide(self, place: bytes, cost: int, limit: int, period: int) -> Any:
        """Answers whether, what remains and the microseconds to the end of the window."""
        match self.fault:
            case "none":
                return self.server.eval(DECIDE, 1, place, cost, limit, period, "")
            case "client-clock":
                now = time.time_ns() // 1000 + self.skew_us
                return self.server.eval(DECIDE, 1, place, cost, limit, period, now)
            case "get-then-set":
                return self.get_then_set(place, cost, limit, period)
            case "no-ttl-rewrite":
                return self.server.eval(COUNT, 1, place, cost, limit, period // 1000)
        raise ValueError(f"no fault is called {self.fault}")

    def get_then_set(self, place: bytes, cost: int, limit: int, period: int) -> tuple[bool, int, int]:
        """The script above in three steps, between which others take theirs."""
        found: Any = self.server.get(place)
        seconds, micros = self.server.time()
        now = seconds * 1_000_000 + micros
        count, end = (int(word) for word in found.split()) if found else (0, 0)
        if end <= now:
            count, end = 0, now + period
        if count + cost > limit:
            return False, limit - count, end - now
        self.server.set(place, f"{count + cost} {end}", px=(end - now) // 1000 + 1)
        return True, limit - count - cost, end - now


class Client:
    """Takes the place of quotalock's."""

    def __init__(self, url: str, fault: str, skew_us: int) -> None:
        self.server, self.fault, self.skew_us = redis.Redis.from_url(url), fault, skew_us

    def limiter(self, name: str, policy: str) -> Limiter:
        """Makes a limiter of one rule."""
        return Limiter(self.server, self.fault, self.skew_us, name, policy)


if __name__ == "__main__":
    fault, skew_ms = sys.argv[1:]
    skew_us = int(skew_ms) * MS // 1000
    serve(Session(lambda request: Client(request["url"], fault, skew_us), threads=True))
