"""The usual calls are decided by the first part of their script, which answers and writes what the rest would."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import redis

SCRIPTS = Path(__file__).resolve().parents[1] / "spec/scripts"
# With one of these lines the rest of a script begins.
REST = ("local HOLD ", "local dels, ", "local function check_format")
NOW, HOUR = 1_700_000_000_000_000, 3_600_000_000
ME, OTHER = b"m" * 16, b"o" * 16
WHO = b"\4host\0\0\0\1"
MEMBER = ME + struct.pack("<Q", 1) + b"buser:1"
STOCK = ("stock:{s}", "stock:{s}:holds", "stock:{s}:ledger")
SETTLED = (*STOCK, f"stock:{{s}}:settled:{ME.hex()}")


@dataclass(frozen=True)
class Call:
    """One call of a script, `later` microseconds after the time at which a case begins."""

    script: str
    keys: Sequence[str]
    args: Sequence[Any]
    later: int = 0


@dataclass(frozen=True)
class Case:
    """A call that is usual after some others."""

    name: str
    call: Call
    before: list[Call] = field(default_factory=list)


def rule(algorithm: str, limit: int) -> list[Any]:
    """What a script is told of a policy of one rule: a state's heading, and the numbers."""
    number = {"fixed-window": 1, "calendar-window": 2, "sliding-window": 3, "token-bucket": 4, "sliding-log": 5}[
        algorithm
    ]
    named, told = [limit, HOUR], [limit, HOUR]
    if algorithm == "token-bucket":
        named, told = [limit, HOUR, limit], [1, HOUR // limit, limit]
    heading = b"QL\2\1" + bytes([number]) + b"".join(struct.pack("<Q", each)[:7] for each in named)
    return [heading, *told]


def consume(algorithm: str, limit: int, cost: int, later: int) -> Call:
    return Call(f"consume-{algorithm}", ["k"], [cost, *rule(algorithm, limit)], later)


def several(limit: int, later: int) -> Call:
    charge = [1, 1, 1, *rule("fixed-window", limit)]
    return Call("consume-all-fixed-window-sliding-log", ["{k}1", "{k}2"], [2, *charge, *charge], later)


def acquire(who: bytes, permits: int, later: int) -> Call:
    args = [who, 30_000_000, 0, permits, 1, 0, "", "wake:", WHO, "", 0, 0, 86_430_000]
    return Call("lease-acquire", ["lock"], args, later)


def release(who: bytes, permits: int, later: int) -> Call:
    return Call("lease-release", ["lock"], [who, 0, permits, "wake:", 86_400_000], later)


def extend(who: bytes, later: int) -> Call:
    return Call("lease-extend", ["lock"], [who, 60_000_000, 86_460_000], later)


def claim(who: bytes, later: int) -> Call:
    return Call("single-flight-claim", ["id"], [who, HOUR, 2, bytes(116) + b"done", 3_660_000], later)


def cases() -> Iterator[Case]:
    for algorithm in ("fixed-window", "calendar-window", "sliding-window", "token-bucket", "sliding-log"):
        first = consume(algorithm, 3, 1, 0)
        yield Case(f"{algorithm} admits", consume(algorithm, 3, 2, 5), [first])
        yield Case(f"{algorithm} denies", consume(algorithm, 3, 3, 5), [first])
        yield Case(f"{algorithm} is looked at", consume(algorithm, 3, -1, 5), [first])
    yield Case("two keys are charged", several(2, 5), [several(2, 0)])
    yield Case("two keys are denied", several(1, 5), [several(1, 0)])
    yield Case("a new lock", acquire(ME, 1, 0))
    yield Case("a lock that was free", acquire(ME, 1, 9), [acquire(OTHER, 1, 0), release(OTHER, 1, 5)])
    yield Case("a lock once more", acquire(ME, 1, 5), [acquire(ME, 1, 0)])
    yield Case("a lock that another holds", acquire(ME, 1, 5), [acquire(OTHER, 1, 0)])
    yield Case("a release", release(ME, 1, 5), [acquire(ME, 1, 0)])
    yield Case("an extension", extend(ME, 5), [acquire(ME, 1, 0)])
    permits = [acquire(bytes([n]) * 16, 5, n) for n in range(3)]
    yield Case("a permit", acquire(ME, 5, 7), permits)
    yield Case("no permit", acquire(ME, 3, 7), permits)
    yield Case("a permit is released", release(ME, 5, 9), [*permits, acquire(ME, 5, 7)])
    yield Case("a permit is extended", extend(b"\1" * 16, 9), permits)
    fill = Call("single-flight-fill", ["entry"], [ME, 0, HOUR, HOUR, 0, 1, "wake:", bytes(116) + b"x" * 100])
    yield Case("a fresh value", Call("single-flight-look", ["entry"], [ME, 10_000_000, "", 0], 5), [fill])
    stale = Call(fill.script, fill.keys, [*fill.args[:4], HOUR, *fill.args[5:]])
    yield Case(
        "a fresh value of the long form", Call("single-flight-look", ["entry"], [ME, 10_000_000, "", 0], 5), [stale]
    )
    yield Case("a new id", claim(ME, 0))
    yield Case("an id that is done", claim(OTHER, 5), [claim(ME, 0)])
    sale = Call("stock-open", STOCK, [bytes(16), 10, 2, 0, 24 * HOUR, 100_000, bytes(20)])
    held = Call("stock-take", STOCK, [MEMBER[24:], 600_000_000, MEMBER], 5)
    other = OTHER + struct.pack("<Q", 1) + b"buser:2"
    yield Case("a unit", Call("stock-take", STOCK, [other[24:], 600_000_000, other], 7), [sale, held])
    for how, name in (("c", "a confirmation"), ("u", "a cancellation")):
        yield Case(name, Call("stock-settle", SETTLED, [how, 24 * HOUR, MEMBER], 9), [sale, held])


def whole(script: str) -> str:
    return (SCRIPTS / f"{script}.lua").read_text()


def first_part(script: str) -> str:
    """A script that fails where the general part would begin."""
    text = whole(script)
    return text[: min(at for line in REST if (at := text.find(f"\n{line}")) >= 0)] + "\nerror('this is not usual')\n"


@pytest.fixture(params=["redis-6.2", "redis-7.0", "valkey-9.1"])
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    url = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])[request.param]
    with redis.Redis.from_url(f"{url}/7") as client:
        client.flushdb()
        yield client
        client.flushdb()


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_the_first_part_decides(case: Case, server: Any) -> None:
    def outcome(text: Callable[[str], str]) -> tuple[Any, Any]:
        server.flushdb()
        for call in case.before:
            run(server, call, whole)
        done = run(server, case.call, text)
        stored = {key: content(server, key) for key in sorted(server.keys())}
        return done, stored

    assert outcome(first_part) == outcome(whole)


def test_what_is_unusual_is_left_to_the_rest(server: Any) -> None:
    # The clock has gone back.
    run(server, consume("fixed-window", 3, 1, 9), whole)
    with pytest.raises(redis.ResponseError, match="this is not usual"):
        run(server, consume("fixed-window", 3, 1, 5), first_part)


def run(server: Any, call: Call, text: Callable[[str], str]) -> Any:
    return server.eval(text(call.script), len(call.keys), *call.keys, NOW + call.later, "", *call.args)


def content(server: Any, key: bytes) -> Any:
    read: dict[bytes, Callable[[bytes], Any]] = {
        b"string": server.get,
        b"hash": server.hgetall,
        b"zset": lambda name: server.zrange(name, 0, -1, withscores=True),
        b"stream": lambda name: [entry for _, entry in server.xrange(name)],
    }
    kind = server.type(key)
    return read[kind](key), server.ttl(key) >= 0
