"""Reports: with `report=True` a process tells Redis, in the background, what its limiters decided."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import quotalock
import redis
from forks import all_well, fork
from surface import Surface

PATIENCE = 30.0
# Fields and values in their order: names come more than once.
Report = list[tuple[bytes, bytes]]


def reports(url: str, prefix: str) -> list[Report]:
    """What was reported."""
    with redis.Redis.from_url(url) as server:
        # The client would make a dict of each entry.
        server.set_response_callback("XRANGE", lambda reply, **_: reply)
        found: Any = server.execute_command("XRANGE", f"{prefix}:reports", "-", "+")
    return [list(zip(fields[::2], fields[1::2], strict=True)) for _, fields in found]


def values(found: list[Report], name: bytes) -> list[bytes]:
    return [value for report in found for field, value in report if field == name]


def counted(found: list[Report], result: str) -> int:
    """How often this was decided."""
    told = [decided.split(" ") for said in values(found, b"decisions") for decided in said.decode().split(", ")]
    return sum(int(number) for outcome, _, number in told if outcome == result)


def when(url: str, prefix: str, enough: Callable[[list[Report]], bool]) -> list[Report]:
    """Waits for reports."""
    end = time.monotonic() + PATIENCE
    while not enough(found := reports(url, prefix)):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def test_a_burst_is_reported_though_silence_follows(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=10.0, report=True)
    limiter = client.limiter("login", "5/hour")
    for _ in range(12):
        surface.call(limiter.consume, "k")
    found = when(url, prefix, lambda found: counted(found, "denied") == 7)
    assert counted(found, "allowed") == 5
    assert set(values(found, b"by")) == {f"python/{quotalock.__version__}".encode()}
    assert set(values(found, b"pid")) == {str(os.getpid()).encode()}
    assert set(values(found, b"key")) == {b"k"}
    assert all(said.endswith(b" 5/hour") for said in values(found, b"denied"))
    surface.call(client.close)


def test_a_storm_of_denials_costs_a_call_a_second(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0, deny_cache_max=60.0, report=True)
    limiter = client.limiter("login", "5/hour")
    began = time.monotonic()
    for _ in range(100_006):
        limiter.consume("k")
    found = when(url, prefix, lambda found: counted(found, "denied") == 100_001)
    assert len(found) <= time.monotonic() - began + 1
    assert sum(int(said.split(b" ")[0]) for said in values(found, b"denied")) == 100_001


def test_closing_reports_what_is_left_and_without_the_option_nothing_is(
    surface: Surface, url: str, prefix: str
) -> None:
    for report, expected in ((False, 0), (True, 1)):
        client = surface.module.Client(url, prefix=prefix, timeout=10.0, report=report)
        assert surface.call(client.limiter("n", "5/hour").consume, "k")
        surface.call(client.close)
        assert counted(reports(url, prefix), "allowed") == expected


def test_a_forked_child_reports_its_own(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0, report=True)
    limiter = client.limiter("n", "100/hour")
    limiter.consume("k")

    def work() -> None:
        for _ in range(3):
            limiter.consume("k")
        client.close()

    assert all_well([fork(work), fork(work)])
    found = when(url, prefix, lambda found: counted(found, "allowed") == 7)
    assert len(set(values(found, b"pid"))) == 3
    of = {pid: [report for report in found if (b"pid", pid) in report] for pid in values(found, b"pid")}
    assert sorted(counted(own, "allowed") for own in of.values()) == [1, 3, 3]


def test_a_process_that_is_killed_leaves_whole_reports(url: str, prefix: str) -> None:
    client = quotalock.Client(url, prefix=prefix, timeout=10.0, report=True)
    limiter = client.limiter("n", "1/hour")

    def work() -> None:
        while True:
            limiter.consume("k")

    child = fork(work)
    when(url, prefix, lambda found: len(found) >= 2)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    count = len(reports(url, prefix))
    limiter.consume("k")
    client.close()
    found = reports(url, prefix)
    assert len(found) == count + 1
    assert all({b"host", b"pid", b"ms", b"limiter", b"decisions"} <= {field for field, _ in report} for report in found)


SCRIPT = """
import sys, time, quotalock
limiter = quotalock.Client(sys.argv[1], prefix=sys.argv[2], timeout=10.0, report=True).limiter("n", "1000/hour")
end = time.monotonic() + float(sys.argv[3])
limiter.consume("k")
while time.monotonic() < end:
    assert limiter.consume("k")
    time.sleep(0.02)
"""


def run(url: str, prefix: str, seconds: float) -> str:
    """Decides for a while in a process that closes nothing; what it writes on standard error."""
    words = [sys.executable, "-c", SCRIPT, url, prefix, str(seconds)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return ended.stderr


def test_the_end_of_the_interpreter_reports_what_is_left(url: str, prefix: str) -> None:
    assert run(url, prefix, 0.0) == ""
    assert counted(reports(url, prefix), "allowed") == 1


def test_a_refusal_is_told_once_and_harms_nothing(url: str, prefix: str) -> None:
    with redis.Redis.from_url(url) as server:
        rights = ("+eval", "+evalsha", "+time", "+get", "+getrange", "+set", "+del", "+client|setname")
        server.execute_command(
            "ACL", "SETUSER", prefix, "on", ">secret", "resetkeys", f"~{prefix}:*", "nocommands", *rights
        )
        told = run(url.replace("redis://", f"redis://{prefix}:secret@"), prefix, 3.5)
        server.execute_command("ACL", "DELUSER", prefix)
    assert told.count("decisions are not reported") == 1
    assert "xtrim" in told
    assert "not_permitted" in told or "lacks the command" in told
    assert "secret" not in told
    assert reports(url, prefix) == []
