"""Commands that are run in silence, and stamps of what is done already."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dist.targets import CACHE, ROOT, DistError

# Of the output of a command that failed.
SHOWN = 3000


def say(what: str) -> None:
    """Prints what is being done."""
    print(f"dist: {what}", file=sys.stderr, flush=True)


def run(command: Sequence[str], *, cwd: Path = ROOT, environment: Mapping[str, str] | None = None) -> str:
    """Runs a command and returns what it printed; raises `DistError` with the end of its output if it fails."""
    env = os.environ | dict(environment or {})
    # Cargo must not look for make's job slots.
    env = {name: value for name, value in env.items() if name not in ("MAKEFLAGS", "MFLAGS")}
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise DistError(f"{' '.join(command)[:300]} failed:\n{(done.stdout + done.stderr)[-SHOWN:]}")
    return done.stdout


def is_current(mark: Path, recipe: Sequence[str]) -> bool:
    """Whether the file bears the stamp of this recipe."""
    return mark.exists() and mark.read_text() == _digest(recipe)


def stamp(mark: Path, recipe: Sequence[str]) -> None:
    """Notes that what this recipe asks for is there."""
    mark.write_text(_digest(recipe))


def packages(name: str, wanted: Sequence[str]) -> Path:
    """The folder of the programs of Python packages, which it installs into their own environment."""
    folder = CACHE / name
    mark = folder / ".stamp"
    if not is_current(mark, [str(folder), *wanted]):
        say(", ".join(wanted))
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
        run([str(folder / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *wanted])
        stamp(mark, [str(folder), *wanted])
    return folder / "bin"


def _digest(recipe: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(recipe).encode()).hexdigest()
