"""The keys of 30 libraries, as each leaves them once the TTL is lost, and what `doctor` makes of them.

    PYTHONPATH=tests/harness .venv/bin/python tests/cli/library_keys.py

prints the table of docs/guide/doctor.md. The names and values are what the libraries wrote on a Redis, or what the
sources of the others write; `made_by_libraries.py` lets those that are installed write their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import PROGRAM
from member import Member

HEX = "9f86d081884c7d659a2feaa0c55ad015"
SHA = "1574bddb75c78a6fd2251d61e2993b5146201319"
UUID = "7c1f6e0e-6a36-41ee-8c99-0242ac120002"
UUID1 = "7c1f6e0e6a3611ee8c990242ac120002"
# 32 random bytes.
WALRUS = bytes(range(0x80, 0xA0)).decode("utf-8", "surrogateescape")
NOW = int(time.time())
PAST = NOW - 600


@dataclass(frozen=True)
class Row:
    """A library, the command that writes its key, what its denied calls do to it, and whether `--fix` may change it."""

    library: str
    written: tuple[tuple[str, ...], ...]
    denied: tuple[str, ...] = ()
    is_fixed: bool = False

    @property
    def name(self) -> str:
        """The key that is reported."""
        return self.written[0][1]


def _set(name: str, value: str) -> tuple[tuple[str, ...], ...]:
    return (("SET", name, value),)


ROWS = (
    Row("SET NX EX, then DECR", _set("limit:sku:42", "-37412"), ("DECR", "limit:sku:42"), is_fixed=True),
    Row(
        "Laravel's RateLimiter (throttle middleware)",
        (*_set(f"laravel_cache_:{SHA}:timer", str(PAST)), *_set(f"laravel_cache_:{SHA}", "61")),
        is_fixed=True,
    ),
    Row(
        "Laravel's RateLimiter (your own keys)",
        (*_set("laravel_cache_:send:1:timer", str(PAST)), *_set("laravel_cache_:send:1", "61")),
    ),
    Row("Laravel's Cache::lock", _set("laravel_cache_:import", "aB3dEfGh1jKlMn0p")),
    Row(
        "Symfony's Lock",
        (("ZADD", "import", f"{PAST}000", "__write__", f"{PAST}000", "dG9rZW4="),),
        is_fixed=True,
    ),
    Row(
        "Symfony's RateLimiter", _set("cache:api", 'O:55:"Symfony\\Component\\RateLimiter\\Policy\\SlidingWindow":0:{}')
    ),
    Row("nikolaposa/rate-limit", _set("api:10.0.0.1:60", "12"), ("INCR", "api:10.0.0.1:60")),
    Row(
        "limits, flask-limiter, slowapi: fixed window",
        _set("LIMITS:LIMITER/10.0.0.1/index/5/1/minute", "6"),
        ("INCR", "LIMITS:LIMITER/10.0.0.1/index/5/1/minute"),
        is_fixed=True,
    ),
    Row("limits: moving window", (("LPUSH", "LIMITS:LIMITER/10.0.0.1/5/1/minute", f"{PAST}.3443806"),)),
    Row("limits: sliding window counter", _set("LIMITS:{LIMITER/10.0.0.1/5/1/minute}", "5")),
    Row("redis-py's Lock", _set("nightly", UUID1)),
    Row("python-redis-lock", _set("lock:nightly", "BKmyCHCFiSRO1X7e+ZF1f2pR")),
    Row("walrus: lock", _set("lock:walrus", WALRUS)),
    Row("walrus: rate limit", (("LPUSH", "api:user:1", f"{PAST}.5435832"),)),
    Row("pyrate-limiter", (("ZADD", "mail:42", f"{PAST}492", "user:1:43c68f106f:1"),)),
    Row("dramatiq: window limiter", _set(f"window@{PAST}", "3")),
    Row("dramatiq: mutex", _set("distributed-mutex", "1")),
    Row("cashews: rate limit", _set("rate_limit:app.views:index:1", "11"), ("INCR", "rate_limit:app.views:index:1")),
    Row("cashews: lock", _set("locked:app.views:index:1", UUID)),
    Row("throttled-py", _set("throttled:v1:fixed_window:k:period:29925070", "3")),
    Row("django-ratelimit", _set(f":1:rl:{HEX}", "5"), ("INCR", f":1:rl:{HEX}")),
    Row("celery-once", _set("qo_mail.send_a-1", UUID1)),
    Row("celery-singleton", _set(f"SINGLETONLOCK_{HEX}", UUID)),
    Row("RQ", _set("rq:scheduler-lock:default", "worker-1")),
    Row("rate-limiter-flexible", _set("rlflx:42", "11"), ("INCR", "rlflx:42")),
    Row("rate-limit-redis", _set("rl:10.0.0.1", "11"), ("INCR", "rl:10.0.0.1")),
    Row("@fastify/rate-limit", _set("fastify-rate-limit-10.0.0.1", "4"), ("INCR", "fastify-rate-limit-10.0.0.1")),
    Row("@upstash/ratelimit", _set(f"@upstash/ratelimit:10.0.0.1:{NOW // 10 - 5}", "11")),
    Row("redlock (Node)", _set("locks:sku:42", HEX)),
    Row("redlock, without lock in the name", _set("import:sku:42", HEX)),
    Row("redis-semaphore: mutex", _set("mutex:import", UUID)),
    Row("redis-semaphore: semaphore", (("ZADD", "semaphore:import", f"{PAST}000", UUID),)),
    Row("BullMQ, Bull: lock of a job", _set("bull:mail:7:lock", f"{UUID}:0")),
    Row("BullMQ, Bull: limiter", _set("bull:mail:limiter", "1")),
    Row("redsync (Go)", _set("mutex-sku", "MDEyMzQ1Njc4OWFiY2RlZg==")),
    Row("redis_rate (Go)", _set("rate:project:123", f"{PAST}.25")),
    Row("Sidekiq's unique jobs", _set(f"uniquejobs:{HEX}", "0a1b2c")),
    Row("Rack::Attack", _set("rack::attack:29925070:req/ip:10.0.0.1", "9")),
)


def table(server: Member, folder: Path) -> str:
    """What `doctor --fix` makes of each, unused and in use."""
    unused, in_use = [_tried(server, folder / f"{number}.jsonl", number > 0) for number in range(2)]
    lines = ["| library | reported as | changed while unused | changed in use |", "|---|---|---|---|"]
    for row in ROWS:
        (finding, _), changed = in_use[row.name], [tried[row.name][1] for tried in (unused, in_use)]
        reported = f"`{finding['family']}`" + (", a note" if finding["is_note"] else "") if finding else "no"
        words = ["**yes**" if one else "no" for one in changed]
        lines.append(f"| {row.library} | {reported} | {words[0]} | {words[1]} |")
    return "\n".join(lines) + "\n"


def _tried(server: Member, undo: Path, in_use: bool) -> dict[str, tuple[dict[str, Any] | None, bool]]:
    """Of each key the finding, and whether a fix of all that is proven changed it."""
    server.ask("FLUSHALL")
    for command in (command for row in ROWS for command in row.written):
        server.ask(*command)
    ended = threading.Event()

    def call() -> None:
        while not ended.wait(0.005):
            for row in ROWS:
                if row.denied:
                    server.ask(*row.denied)

    # What is in use is watched until it is decided, however long that takes.
    calling = threading.Thread(target=call if in_use else lambda: None)
    calling.start()
    try:
        words = ("doctor", "--fix", "--yes", "--json", "--watch", "1h" if in_use else "200ms", "--undo-file", str(undo))
        command = (str(PROGRAM), *words, "--url", server.url)
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=90)
    finally:
        ended.set()
        calling.join()
    findings: list[dict[str, Any]] = json.loads(ran.stdout)["findings"]

    def of(name: str) -> dict[str, Any] | None:
        shown = (one for one in findings if any(key.startswith(name) for key in one.get("examples", ())))
        return next(shown, None)

    return {row.name: (of(row.name), server.ask("PTTL", row.name) > 0) for row in ROWS}


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        server = Member("redis-7.0")
        server.start()
        try:
            sys.stdout.write(table(server, Path(folder)))
        finally:
            server.close()


if __name__ == "__main__":
    main()
