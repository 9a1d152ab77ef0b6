"""The program `quotalock`, as a person at a console runs it, and the keys that applications made before."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import quotalock
import redis

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "target/debug/quotalock")
# A machine that has much else to do is slow, but not as slow as this.
PATIENCE = 60.0


def until(is_so: Callable[[], Any], within: float = PATIENCE, every: float = 0.02) -> Any:
    """Looks so often, in seconds, until something is so, and returns what it is."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if it := is_so():
            return it
        time.sleep(every)
    raise AssertionError("it did not come to be")


class Console:
    """Runs the program on one server with one prefix; `client` is an application there."""

    def __init__(self, url: str, prefix: str, *, in_cluster: bool = False) -> None:
        self.url, self.prefix = url, prefix
        self.client: Any = quotalock.Client(url, prefix=prefix, timeout=10.0)
        plain = url.replace("redis+cluster://", "redis://").split(",")[0]
        self.redis: Any = redis.RedisCluster.from_url(plain) if in_cluster else redis.Redis.from_url(plain)

    def command(self, *words: str | bytes) -> list[str | bytes]:
        return [PROGRAM, *(() if "--url" in words else ("--url", self.url)), "--prefix", self.prefix, *words]

    def run(self, *words: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        options = {"capture_output": True, "text": True, "timeout": PATIENCE, **options}
        return subprocess.run(self.command(*words), check=False, **options)

    def start(self, *words: str | bytes, **options: Any) -> subprocess.Popen[str]:
        """Starts it."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen(self.command(*words), **options)

    def says(self, *words: str | bytes, code: int = 0) -> str:
        """What it prints, if it ends so."""
        ended = self.run(*words)
        assert ended.returncode == code, (ended.returncode, ended.stdout, ended.stderr)
        return ended.stdout

    def json(self, *words: str | bytes, code: int = 0) -> Any:
        """What it prints for scripts, which is one line."""
        said = self.says("--json", *words, code=code)
        assert said.count("\n") == 1
        return json.loads(said)

    def found(self, *words: str | bytes, code: int = 0) -> Any:
        """The one key that `inspect` finds."""
        (found,) = self.json("inspect", *words, code=code)["found"]
        return found

    def close(self) -> None:
        self.client.close()
        self.redis.close()
