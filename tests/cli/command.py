"""The program `quotalock`, as the tests run it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import ROOT

PROGRAM = ROOT / "target/debug/quotalock"
ENDS_WITHIN = 60.0


@dataclass(frozen=True)
class Ran:
    """How a run ended, and what it wrote."""

    code: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def families(self) -> set[str]:
        """Whose keys were found."""
        return {finding["family"] for finding in self.json["findings"] if "family" in finding}

    def kinds(self) -> set[str]:
        """What was found that is no mere note."""
        return {finding["kind"] for finding in self.json["findings"] if not finding["is_note"]}


class Program:
    """Runs `quotalock` without a terminal, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""

    def __call__(self, *words: str, url: str = "", stdin: str = "") -> Ran:
        ended = subprocess.run(
            self.command(*words, url=url),
            cwd=self.folder,
            env=os.environ | {"QUOTALOCK_URL": url or self.url},
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=ENDS_WITHIN,
            check=False,
        )
        assert "panicked" not in ended.stderr
        return Ran(ended.returncode, ended.stdout, ended.stderr)

    def command(self, *words: str, url: str = "") -> Sequence[str]:
        """The same for who starts it otherwise."""
        return (str(PROGRAM), *words, "--url", url or self.url)
