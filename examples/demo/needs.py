"""What the demo needs on this machine, looked for before anything starts."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "bindings-php/modules/ratelimit.so"

# Debian keeps servers in sbin, which is not on the PATH of a plain user.
SEARCH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])


class DemoError(Exception):
    """The demo cannot go on; the message says why, and what to do."""


@dataclass(frozen=True)
class Tools:
    """Where the programs are."""

    redis: str
    fpm: str
    nginx: str
    siege: str
    node: str


def find_tools() -> Tools:
    """Finds every program, or raises `DemoError` that names all that is missing."""
    names = {"redis": "redis-server", "fpm": "php-fpm8.2", "nginx": "nginx", "siege": "siege", "node": "node"}
    found = {field: shutil.which(name, path=SEARCH) for field, name in names.items()}
    missing = [names[field] for field, path in found.items() if path is None]
    if missing:
        raise DemoError(f"{', '.join(missing)} not found. Run 'make setup'.")
    return Tools(**{field: path for field, path in found.items() if path is not None})


def require_packages() -> None:
    """Raises `DemoError` unless the packages of all three languages are built."""
    missing = []
    if not EXTENSION.exists():
        missing.append(f"the PHP extension ({EXTENSION.relative_to(ROOT)})")
    if importlib.util.find_spec("quotalock") is None:
        missing.append("the Python package (quotalock in .venv)")
    if not list((ROOT / "bindings-node").glob("*.node")):
        missing.append("the Node package (bindings-node/*.node)")
    if missing:
        raise DemoError(f"not built: {', '.join(missing)}. Run 'make build'.")
