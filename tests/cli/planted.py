"""Keys without a TTL, as libraries leave them on bad days.

Those that could be installed (bench/peers/setup.sh) made their keys themselves, and `PERSIST` then took the TTL away.
The others' keys are written as their sources name and store them.
"""

from __future__ import annotations

import json
import time
import uuid
from contextlib import ExitStack

from adapter import Adapter, Answer
from libraries import LIBRARIES
from member import Member

UP_WITHIN = 60.0
ENDED_MS = 1_763_800_060_000
# Some libraries count in whole seconds.
LIMIT, WINDOW = 3, 2

# By the word of the library: the family.
LIMITERS = {
    "article": "set-nx-decr",
    "laravel": "laravel-limiter",
    "limits": "limits",
    "throttled": "throttled-py",
    "flexible": "rate-limiter-flexible",
    "express": "rate-limit-redis",
    "fastify": "fastify-rate-limit",
    "symfony-limiter": "symfony-limiter",
}
# Those that never find out by themselves.
NEVER_HEAL = {"article", "laravel", "limits", "fastify"}
LOCKS = {
    "laravel": "laravel-lock",
    "symfony": "symfony-lock",
    "redis-py": "redis-py-lock",
    "redlock": "redlock",
    "redis-semaphore": "redlock",
}


class Library:
    """A library on a server, by the adapter that `make survive` has for it."""

    def __init__(self, word: str, server: Member) -> None:
        command = next(library.command for library in LIBRARIES if library.word == word)
        self.server = server
        self._ending = ExitStack()
        self._adapter = Adapter(command, server.port, 10.0)
        self._ending.callback(self._adapter.kill)
        self._adapter.ask("hello", within=UP_WITHIN)

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def consume(self, key: str) -> Answer:
        """One call of a limiter of 3 in 2 seconds."""
        return self._adapter.ask("consume", key=key, limit=LIMIT, seconds=WINDOW, request="r")

    def is_admitted_within(self, key: str, seconds: float) -> bool:
        """Whether a call is admitted by then."""
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            if self.consume(key).get("ok"):
                return True
            time.sleep(0.05)
        return False

    def stick(self, key: str) -> None:
        """Uses a limit up, and loses the TTLs; once more if a window has ended meanwhile, on a busy machine."""
        give_up = time.monotonic() + UP_WITHIN
        while True:
            self.server.ask("FLUSHALL")
            for _ in range(LIMIT + 2):
                denied = not self.consume(key).get("ok")
            names = self.server.ask("KEYS", "*")
            persist(self.server)
            if denied and names and {self.server.ask("PTTL", name) for name in names} == {-1}:
                return
            assert time.monotonic() < give_up, f"{key} is not used up"

    def hold(self, name: str) -> None:
        """Takes a lock, and loses its TTL."""
        assert self._adapter.ask("acquire", name=name, seconds=60)["ok"]
        persist(self.server)


def leave_ended(server: Member, *names: str) -> None:
    """Leaves locks of Symfony without a TTL that are over by their own record, which proves it without any caller."""
    for name in names:
        server.ask("ZADD", name, ENDED_MS, "__write__", ENDED_MS, "token")


def persist(server: Member) -> None:
    """Takes the TTL from all keys."""
    for name in server.ask("KEYS", "*"):
        server.ask("PERSIST", name)


def by_hand(server: Member) -> dict[str, str]:
    """Writes what libraries that are not there write; a name of each, and the family."""
    ten_seconds = int(time.time()) // 10
    keys = {
        ":1:rl:d41d8cd98f00b204e9800998ecf8427e": ("5", "django-ratelimit"),
        f"@upstash/ratelimit:10.0.0.1:{ten_seconds}": ("11", "upstash"),
        "api:10.0.0.1:60": ("12", "nikolaposa"),
        "uniquejobs:d41d8cd98f00b204e9800998ecf8427e": ("0a1b2c", "job-lock"),
        "rq:scheduler-lock:default": ("worker-1", "job-lock"),
        "bull:mail:7:lock": (str(uuid.uuid4()), "job-lock"),
        "framework/schedule-1574bddb75c78a6fd2251d61e2993b5146201319": ("aB3dEfGh1jKlMn0p", "laravel-lock"),
        "LIMITS:{LIMITER/10.0.0.1/5/1/minute}/-1": ("5", "limits"),
        "login_attempts:10.0.0.1": ("9", "counter"),
        "stock:42": ("-3", "negative"),
    }
    for name, (value, _) in keys.items():
        server.ask("SET", name, value)
    return {name: family for name, (_, family) in keys.items()}


def healthy(server: Member, count: int) -> None:
    """Writes so many keys of healthy peers and of applications, without a TTL where nothing is wrong with that."""
    script = """
    for i = 0, tonumber(ARGV[1]) - 1 do
      local kind = i % 10
      if kind < 3 then redis.call('SET', 'LIMITS:LIMITER/10.0.0.' .. i .. '/5/1/minute', 3, 'EX', 3600)
      elseif kind == 3 then redis.call('SET', 'limit:sku:' .. i, -2, 'EX', 3600)
      elseif kind == 4 then redis.call('SET', 'rlflx:' .. i, 3, 'EX', 3600)
      elseif kind == 5 then redis.call('HSET', 'user:' .. i, 'name', 'x')
      elseif kind == 6 then redis.call('SET', 'page:' .. i, 'hello ' .. i)
      elseif kind == 7 then redis.call('SET', 'views:page:' .. i, i)
      elseif kind == 8 then redis.call('SET', 'locks:' .. i, '9f86d081884c7d659a2feaa0c55ad015', 'PX', 3600000)
      else redis.call('ZADD', 'board:' .. i, 1, 'a') end
    end
    """
    server.ask("EVAL", script, 0, count, within=60.0)


def lines(text: str) -> list[dict[str, object]]:
    """What stands in an undo file."""
    return [json.loads(line) for line in text.splitlines()]
