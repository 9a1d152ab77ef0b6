"""What the Python workers of `make compare` share; `serve.py` has the protocol of a round.

A worker is started with one JSON argument, `Task`. It says in a line what it is. Where the task is a check, it makes
the calls of the check, prints their answers, and ends; else it makes rounds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import count, cycle
from pathlib import Path
from platform import python_version
from typing import Any

ARTICLE = Path(__file__).with_name("article.lua").read_text()
CHECKED = "checked"
DAY = 86_400
# So many permits are taken at a time by those who prefetch.
PREFETCH = 100


@dataclass(frozen=True)
class Task:
    """What to call. `keys` is a file with a key a line, in the order of the calls; `turns` says what comes after the
    last: the `same`, `renamed` ones, or nothing (`once`). `check`: so many calls on one key, instead of rounds."""

    client: str
    kind: str
    port: int
    socket: str
    prefix: str
    limit: int
    rules: int
    keys: str
    turns: str
    lanes: int
    check: int

    @property
    def url(self) -> str:
        """The server's address."""
        return f"redis://127.0.0.1:{self.port}"

    def key(self, name: str) -> str:
        """A key as a client without prefixes of its own writes it."""
        return f"{self.prefix}:{name}"

    def lines(self) -> list[Iterator[str]]:
        """The keys of each lane. Lanes begin at different places, so that they do not meet on a key."""
        keys = Path(self.keys).read_text().split()
        if self.turns == "once":
            return [iter(keys)]
        if self.turns == "renamed":
            return [_renamed(keys)]
        starts = [len(keys) * lane // self.lanes for lane in range(self.lanes)]
        return [cycle([*keys[start:], *keys[:start]]) for start in starts]


def _renamed(keys: list[str]) -> Iterator[str]:
    for turn in count():
        # In one go, so that what each call costs is a step of an iterator.
        yield from [f"{key}-{turn}" for key in keys]


# What makes a call, and what reads from its answer whether it was admitted.
Calls = tuple[Callable[[str], Any], Callable[[Any], bool]]


def task() -> Task:
    """Reads the argument."""
    return Task(**json.loads(sys.argv[1]))


def versions(*packages: str) -> str:
    """What Python and these packages call themselves."""
    return ", ".join([f"Python {python_version()}", *(f"{package} {version(package)}" for package in packages)])


def checked(told: str, answers: list[bool]) -> None:
    """Prints what a check was answered."""
    print(json.dumps({"versions": told}), flush=True)
    print(json.dumps({"answers": answers}), flush=True)
