"""`quotalock top` where processes report what they decide."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import quotalock
from command import Program
from console import PATIENCE, Console, until
from member import Member

EVIL = b"\x1b[2J\n\xff"


@pytest.fixture
def reporting(everywhere: Console) -> Iterator[Any]:
    """An application that reports."""
    client = quotalock.Client(everywhere.url, prefix=everywhere.prefix, timeout=10.0, report=True)
    yield client
    client.close()


def busy(client: Any) -> None:
    """Denies one key 50 times and another 5 times, and would deny a third."""
    login = client.limiter("login", "5/hour;20/day")
    for _ in range(55):
        login.consume(EVIL)
    for _ in range(10):
        login.consume("other")
    tried = client.limiter("tried", "1/hour", enforce=False)
    for _ in range(3):
        tried.consume("k")
    client.close()


def test_top_shows_who_was_denied_most_and_how_often(everywhere: Console, reporting: Any) -> None:
    busy(reporting)
    top = everywhere.json("top", "--last", "10m")
    assert (top["from"], top["hosts"], top["processes"], top["lost"]) == ("reports", 1, 1, 0)
    login, tried = top["limiters"]
    assert login == {"name": "login", "decisions": {"allowed": 10, "denied": 55, "would_deny": 0, "error": 0}}
    assert tried == {"name": "tried", "decisions": {"allowed": 1, "denied": 0, "would_deny": 2, "error": 0}}
    first, second = top["keys"]
    assert (first["denied"], first["denied_more"], first["why"]) == (50, 0, "5/hour")
    assert 3_000_000 < first["next_in_ms"] <= 3_600_000
    assert (second["limiter"], second["key"], second["denied"]) == ("login", "other", 5)
    said = everywhere.says("top", "--last", "10m")
    assert "1 process on 1 host reported" in said
    assert "\x1b" not in said
    assert "\\u{1b}[2J\\u{a}\\xff" in said
    assert [key["key"] for key in everywhere.json("top", "--last", "10m", "--most", "1")["keys"]] == [first["key"]]
    assert [limiter["name"] for limiter in everywhere.json("top", "tried", "--last", "10m")["limiters"]] == ["tried"]
    assert everywhere.json("top", "--keys")["from"] == "keys"


WORKER = """
import sys, quotalock
client = quotalock.Client(sys.argv[1], prefix=sys.argv[2], timeout=10.0, report=True)
client.limiter("login", "1/hour").consume("k")
client.close()
"""


def test_top_counts_processes_and_falls_back_when_nobody_has_reported(console: Console) -> None:
    assert console.json("top")["from"] == "keys"
    assert "No process reports" in console.says("top")
    for _ in range(3):
        subprocess.run([sys.executable, "-c", WORKER, console.url, console.prefix], check=True, timeout=PATIENCE)
    top = console.json("top", "--last", "10m")
    assert (top["processes"], top["keys"][0]["denied"]) == (3, 2)
    # What was reported long ago counts no more, though it stands there for a day.
    until(lambda: console.json("top", "--last", "1s")["from"] == "keys")
    assert console.run("top", "--last", "1h").returncode == 2


def test_what_others_put_there_is_no_report(console: Console) -> None:
    stream = f"{console.prefix}:reports"
    console.redis.xadd(stream, {"v": "2", "limiter": "a"})
    console.redis.xadd(stream, {"e": "something else"})
    console.redis.xadd(stream, {"v": "1", "limiter": "a", "decisions": "denied redis 18446744073709551615"})
    console.redis.xadd(stream, {"v": "1", "limiter": "a", "decisions": "denied redis 1", "ms": "-1"})
    (limiter,) = console.json("top", "--last", "10m")["limiters"]
    assert limiter["decisions"]["denied"] == 2**64 - 1
    console.says("top", "--last", "10m")
    console.redis.delete(stream)
    console.redis.set(stream, "42", px=60_000)
    ended = console.run("--json", "top")
    # Whether any process reports is not known, and it does not say that none does.
    assert ended.returncode == 1
    assert '"from":"keys"' in ended.stdout
    assert json.loads(ended.stdout)["is_partial"] is True
    assert "No process reports" not in console.says("top", code=1)
    assert "what processes report is missing" in ended.stderr


def test_inspect_and_doctor_know_the_stream(redis: Member, quotalock: Program) -> None:
    console = Console(redis.url, "ql")
    client = console.client.__class__(redis.url, timeout=10.0, report=True)
    client.limiter("n", "1/hour").consume("k")
    client.close()
    found = console.found("ql:reports")
    assert (found["what"], found["state"], found["findings"]) == ("reports of limiters", "reports", [])
    assert quotalock("doctor", "--json").kinds() <= {"eviction", "persistence"}
    redis.ask("PERSIST", "ql:reports")
    assert "no TTL" in console.found("ql:reports", code=1)["findings"][0]
    assert "no_ttl" in quotalock("doctor", "--json").kinds()
    quotalock("doctor", "--fix", "--yes")
    assert 86_000_000 < int(redis.ask("PTTL", "ql:reports")) <= 86_400_000
    console.close()
