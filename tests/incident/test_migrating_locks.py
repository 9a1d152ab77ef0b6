"""The page on migrating locks: its way to switch lets no two work at once, and a switch in one step does."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import ROOT
from servers import Server

PAGE = (ROOT / "docs/migrating-locks.md").read_text()
(BOTH,) = [code for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "old." in code]
# Works for as long as the others do; whoever finds another at work says so.
PROGRAM = """
import os, sys, time
import quotalock, redis
kind, url, name, place = sys.argv[1:]
old, client = redis.Redis.from_url(url), quotalock.Client(url, timeout=10)
{both}
holding = {{
    "old": lambda: old.lock(name, timeout=60),
    "both": lambda: exclusively(name),
    "new": lambda: client.lock(name, wait=60.0),
}}[kind]
# All begin together, however long one took to start.
print("ready", flush=True)
sys.stdin.readline()
met, end = 0, time.monotonic() + 1.5
while time.monotonic() < end:
    with holding():
        try:
            os.mkdir(place)
        except FileExistsError:
            met += 1
            continue
        time.sleep(0.002)
        os.rmdir(place)
print(met)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("redis-7.0") as running:
        yield running


@pytest.mark.parametrize(
    ("kinds", "may_meet"), [(("old", "both"), False), (("both", "new"), False), (("old", "new"), True)]
)
def test_who_meets_whom(kinds: tuple[str, str], may_meet: bool, server: Server, tmp_path: Path) -> None:
    # For five seconds, if the machine is busy.
    both = BOTH.replace("wait=5.0", "wait=60.0")
    program, name = PROGRAM.format(both=both), uuid.uuid4().hex
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, kind, server.url, name, str(tmp_path / "at work")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for kind in (*kinds, *kinds)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    met = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert any(met) == may_meet, met
