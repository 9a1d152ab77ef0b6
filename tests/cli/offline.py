"""Runs the program `quotalock` where it needs no server, and writes the logs that it reads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("QUOTALOCK_PROGRAM", str(ROOT / "target/debug/quotalock"))
# A real log, in combined format.
LOG = ROOT / "examples/data/apache_access.log"
# Of 17 May 2015, 10:00:00 UTC: a round minute.
START = 1_431_856_800


def run(*words: str | Path | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs it to its end."""
    options = {"capture_output": True, "text": True, "timeout": 120, **options}
    return subprocess.run([PROGRAM, *words], check=False, **options)


def says(*words: str | Path | bytes, code: int = 0, **options: Any) -> str:
    """What it prints, if it ends so and has nothing else to tell."""
    ended = run(*words, **options)
    assert (ended.returncode, ended.stderr) == (code, ""), (ended.returncode, ended.stdout, ended.stderr)
    return ended.stdout


def tells(*words: str | Path | bytes, code: int = 0, **options: Any) -> Any:
    """The same for scripts, which is one line."""
    said = says("--json", *words, code=code, **options)
    assert said.count("\n") == 1
    return json.loads(said)


def refuses(*words: str | Path | bytes, code: int = 2) -> str:
    """Why it does nothing."""
    ended = run(*words)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert "panicked" not in ended.stderr
    return ended.stderr


def months(count: int) -> Iterator[bytes]:
    """The log again and again, each time a month later."""
    names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    log = LOG.read_bytes()
    for number in range(count):
        yield log.replace(b"/May/2015:", f"/{names[number % 12]}/{2010 + number // 12}:".encode())


def combined(client: str, seconds: int, path: str = "/") -> str:
    """A line in combined format, so many seconds after the start, within the hour."""
    time = f"17/May/2015:10:{seconds // 60:02}:{seconds % 60:02} +0000"
    return f'{client} - - [{time}] "GET {path} HTTP/1.1" 200 512 "-" "Agent"\n'


def json_line(client: str, seconds: float, **fields: object) -> str:
    """A line of JSON."""
    return json.dumps({"time": START + seconds, "remote_addr": client, **fields}) + "\n"
