"""The sources that lints read, copied so that a test can break them, and the lints run on such a copy."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The houses of tools/imports.py.
SOURCES = (
    "wire/src",
    "core/src",
    "cli/src",
    "bindings-php/src",
    "bindings-python/src",
    "bindings-python/python",
    "bindings-node/lib",
    "bindings-node/src",
)


def copied(folder: Path) -> Path:
    """Copies the sources to a folder."""
    for part in SOURCES:
        shutil.copytree(ROOT / part, folder / part)
    return folder


def lint(tool: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a lint of `tools` on a copy."""
    command = [sys.executable, str(ROOT / "tools" / tool), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
