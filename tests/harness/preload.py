"""Libraries in C that are loaded before a program, to change what it is told or to count what it does."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def build(source: Path, library: Path) -> None:
    """Compiles it, unless that was done since the source was changed."""
    if library.exists() and library.stat().st_mtime > source.stat().st_mtime:
        return
    library.parent.mkdir(parents=True, exist_ok=True)
    # Whoever else builds it gets the same: the last one's stays.
    fresh = library.with_suffix(f".{os.getpid()}")
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-o", fresh, source, "-ldl"], check=True)
    fresh.rename(library)
