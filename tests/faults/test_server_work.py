"""What a call costs the server: one command from the client; a look never writes, and a denial only what must be."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import quotalock
from quotalock import testing
from servers import Server

NOW = 1_700_000_000_000_000
SECOND = 1_000_000
HOUR = 3600 * SECOND
LIMIT = 100
ALGORITHMS = ["fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log"]
POLICIES = {name: f"{name} {LIMIT}/1h" for name in ALGORITHMS}
POLICIES["all"] = ";".join(POLICIES.values())

# What a script may call without changing anything.
READS = {"get", "getrange", "strlen"}

Called = Callable[[], set[str]]


class Subject:
    """A limiter in virtual time on a real server, and what the server does for it."""

    def __init__(self, server: Server, policy: str) -> None:
        self.server = server
        self.client = quotalock.Client(server.url, timeout=10)
        self.limiter = self.client.limiter("work", POLICIES[policy], scope="shop")
        self.others = [(self.client.limiter("work", POLICIES[policy], scope="shop"), f"other-{n}") for n in range(9)]
        # Near the start of a window of the calendar, so that the clock may go on by half a period in it.
        self.at(NOW // HOUR * HOUR + SECOND)
        # The server learns the scripts and the client connects.
        for consume in (*self.charges("first", cost=1), *self.charges("first", cost=1)):
            consume()
        self.limiter.reset("first")

    def at(self, micros: int) -> None:
        self.now = micros
        testing.set_time(self.client, micros)

    def charges(self, key: str, cost: int) -> list[Callable[[], object]]:
        """Every call that charges, as something to do; none has been done before."""
        return [
            lambda: self.limiter.consume(key, cost),
            lambda: self.limiter.consume(key, cost, request_id=f"one-{self.now}"),
            lambda: self.limiter.consume_up_to(key, cost),
            lambda: self.limiter.reserve(key, cost, ttl=1),
            lambda: self.client.consume_all([(self.limiter, key, cost), *self.others]),
            lambda: self.client.consume_all([(self.limiter, key, cost), *self.others], request_id=f"all-{self.now}"),
        ]

    def commands(self, call: Callable[[], object]) -> set[str]:
        """What a call made the server do, apart from being one command, which is asserted."""
        self.server.called()
        call()
        counts = self.server.called()
        assert counts.pop("evalsha") == 1
        assert "eval" not in counts
        return set(counts)


@pytest.fixture(params=POLICIES)
def subject(request: pytest.FixtureRequest, server: Server) -> Iterator[Subject]:
    subject = Subject(server, request.param)
    with subject.client:
        yield subject


def test_what_is_admitted_is_one_command(subject: Subject) -> None:
    for charge in subject.charges("k", cost=1):
        assert subject.commands(charge) - READS
        assert not subject.commands(lambda: subject.limiter.peek("k")) - READS


def test_what_is_denied_writes_nothing(subject: Subject) -> None:
    begin = subject.now
    for second in range(60):
        subject.at(begin + second * SECOND)
        subject.limiter.consume("k")
    subject.limiter.consume("k", cost=subject.limiter.peek("k").remaining)
    for later in (0, 1, SECOND // 100):
        subject.at(subject.now + later)
        for charge in subject.charges("k", cost=LIMIT):
            assert not subject.commands(charge) - READS
    subject.limiter.block("k", duration=3600)
    for charge in subject.charges("k", cost=LIMIT):
        assert not subject.commands(charge) - READS


def test_what_ended_in_a_log_is_no_reason_to_write(server: Server) -> None:
    subject = Subject(server, "sliding-log")
    with subject.client:
        begin = subject.now
        for second in range(60):
            subject.at(begin + second * SECOND)
            subject.limiter.consume("k")
        subject.at(begin + HOUR + 30 * SECOND)
        denial = subject.limiter.consume("k", cost=LIMIT)
        assert (denial.allowed, denial.remaining) == (False, LIMIT - 29)
        for charge in subject.charges("k", cost=LIMIT):
            # What is left is taken by a consume_up_to, and only by that.
            subject.limiter.consume("k", cost=subject.limiter.peek("k").remaining)
            subject.at(subject.now + SECOND // 10)
            assert not subject.commands(charge) - READS


def test_a_denial_writes_once_what_must_be(subject: Subject) -> None:
    """A clamp after the clock went back, the end of a hold, and in the place of a value that is not ours."""

    def clamp() -> None:
        subject.limiter.consume("k", cost=LIMIT)
        subject.at(subject.now - 24 * HOUR)

    def end_of_a_hold() -> None:
        subject.limiter.reserve("k", 5, ttl=1)
        subject.limiter.consume("k", cost=LIMIT - 5)
        subject.at(subject.now + 2 * SECOND)

    def foreign_value() -> None:
        testing.put(subject.client, subject.limiter.redis_key("k"), "string", b"-37412")

    for arrange in (clamp, end_of_a_hold, foreign_value):
        subject.limiter.reset("k")
        arrange()
        # A look sees it, and leaves it to those who charge.
        assert not subject.commands(lambda: subject.limiter.peek("k", cost=LIMIT)) - READS, arrange
        # Never admitted, whatever was there.
        assert subject.commands(lambda: subject.limiter.consume("k", cost=LIMIT + 1)) - READS, arrange
        assert not subject.commands(lambda: subject.limiter.consume("k", cost=LIMIT + 1)) - READS, arrange


def test_who_finds_a_value_in_a_cache_asks_once_and_writes_nothing(server: Server) -> None:
    with quotalock.Client(server.url, timeout=10) as client:
        pages = client.cache("pages", fresh=60, stale=300)
        once = client.once("orders")

        def never(*_: object) -> Any:
            raise AssertionError("it is there")

        def commands(call: Callable[[], object], calls: int = 1) -> set[str]:
            server.called()
            call()
            counts = server.called()
            assert counts.pop("evalsha") == calls
            assert "eval" not in counts
            return set(counts)

        def is_failing() -> None:
            with pytest.raises(quotalock.LoadFailed):
                pages.get("error", never)

        testing.set_time(client, NOW)
        keys = ["short", "long", "none"]
        for key, value in zip(keys, ("x", "x" * 100_000, None), strict=True):
            pages.put(key, value)
        with pytest.raises(ZeroDivisionError):
            pages.get("error", lambda: str(1 / 0))
        once.run("1", lambda: "done")
        once.claim("2", "mine")
        pages.invalidate("short") and pages.put("short", "x")
        assert commands(lambda: pages.put("short", "x")) - READS
        for key in keys:
            assert not commands(functools.partial(pages.get, key, never)) - READS, key
            assert not commands(functools.partial(pages.peek, key)) - READS, key
        assert not commands(lambda: pages.get_many(keys, never)) - READS
        assert not commands(is_failing) - READS
        for again in (lambda: once.run("1", never), lambda: once.run("2", never), lambda: once.claim("2")):
            assert not commands(again) - READS
        # Stale: one of all gets to load, which is written; the others are served.
        testing.set_time(client, NOW + 61 * SECOND)

        def refresh() -> str:
            for key in keys:
                assert not commands(functools.partial(pages.peek, key)) - READS, key
            for _ in range(2):
                assert not commands(lambda: pages.get("short", never)) - READS
            return "y"

        assert pages.get("short", refresh) == b"y"
        assert not commands(lambda: pages.get("short", never)) - READS
        # Also where its loader has just failed.
        with pytest.raises(ZeroDivisionError):
            pages.get("long", lambda: str(1 / 0))
        assert not commands(lambda: pages.get("long", never)) - READS
        # What a load takes: a look that writes, and a store.
        assert commands(lambda: pages.get("none", lambda: "z"), calls=2) - READS


def test_a_full_log_of_100_000_is_searched_in_logarithmic_steps(server: Server) -> None:
    size = 100_000
    steps = 2 * math.ceil(math.log2(size))
    with quotalock.Client(server.url, timeout=10) as client:
        log = client.limiter("log", f"sliding-log {size}/1h")
        testing.set_time(client, NOW)
        for n in range(size):
            testing.set_time(client, NOW + 1000 * n)
            assert log.consume("k")
        full = NOW + 1000 * (size - 1)

        def reads(at: int, call: Callable[[], quotalock.Decision], allowed: bool) -> int:
            testing.set_time(client, at)
            server.called()
            assert call().allowed == allowed
            counts = server.called()
            assert counts.keys() <= {"evalsha", "eval", "getrange", "setrange", "pexpire", "set"}
            return counts["getrange"]

        # The records before the log, and the search for the moment at which there is room.
        for cost in (1, 2, 1000, size // 2, size - 1, size):
            assert reads(full, functools.partial(log.peek, "k", cost), False) <= 1 + steps
        # The search for the entries that ended.
        for ended in (1, 2, 3, 1000, size // 3, size // 2, size - 1):
            at = NOW + HOUR + 1000 * (ended - 1)
            assert reads(at, lambda: log.peek("k"), True) <= 1 + steps
            # Both.
            assert reads(at, lambda: log.peek("k", size), False) <= 1 + 2 * steps
        # One that is written too: it reads no more, but for the two parts of a ring that is copied.
        for ended in (1, 2, 3, 1000, size // 3, size // 2, size - 1):
            at = NOW + HOUR + 1000 * (ended - 1)
            assert reads(at, lambda: log.consume("k"), True) <= 1 + steps + 2
