"""A run of the demo, as `make demo` starts it, and what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from needs import ROOT

DEMO = [sys.executable, str(ROOT / "examples/demo/run.py")]


class DemoRun:
    """A finished run: what it printed and wrote."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.home = folder / "home"
        self.temporary = folder / "tmp"
        self.out = folder / "out"
        self.home.mkdir()
        self.temporary.mkdir()
        self.started: set[int] = set()
        self.lines: list[str] = []
        with subprocess.Popen(
            [*DEMO, "--out", str(self.out), *arguments],
            env=os.environ | {"HOME": str(self.home), "TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                self.lines.append(line.rstrip("\n"))
                self.started |= descendants(process.pid)
            self.returncode = process.wait(30)
            assert process.stderr is not None
            self.errors = process.stderr.read()

    @property
    def figures(self) -> dict[str, Any]:
        """Every figure of the run."""
        figures: dict[str, Any] = json.loads((self.out / "figures.json").read_text())
        return figures


def descendants(pid: int) -> set[int]:
    """The processes that a process started, and they, and so on."""
    parents = {child: int(fields[1]) for child, fields in _processes().items()}
    found: set[int] = set()
    while new := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= new
    return found


def alive(pids: set[int]) -> set[int]:
    """Those that still run; one that has ended and that init has yet to bury doesn't."""
    return {pid for pid, fields in _processes().items() if pid in pids and fields[0] != "Z"}


def _processes() -> dict[int, list[str]]:
    """What the kernel says of each process: state, parent, and more."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        # It may end while we look. Its name stands in parentheses before the state and may hold anything.
        with contextlib.suppress(OSError):
            found[int(stat.parent.name)] = stat.read_text().rpartition(")")[2].split()
    return found
