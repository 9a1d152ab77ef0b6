"""A run of the demo, as `make demo` starts it, and what it leaves behind."""

from __future__ import annotations

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
        self.process = subprocess.run(
            [*DEMO, "--out", str(self.out), *arguments],
            env=os.environ | {"HOME": str(self.home), "TMPDIR": str(self.temporary)},
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )

    @property
    def figures(self) -> dict[str, Any]:
        """Every figure of the run."""
        figures: dict[str, Any] = json.loads((self.out / "figures.json").read_text())
        return figures


def processes_in(folder: Path) -> list[str]:
    """The programs that have the folder in their command line or environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            name = (process / "comm").read_text().strip()
        except OSError:
            continue
        if str(folder).encode() in words:
            found.append(name)
    return found
