"""The tables as Markdown, and their place in docs/survive.md."""

from __future__ import annotations

import platform
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from typing import Any

from days import Day
from libraries import Library
from servers import ROOT
from stage import SERVER, Cell
from tables import table

DOCUMENT = ROOT / "docs/survive.md"
TITLES = {"limiter": "Limiters", "lock": "Locks", "cache": "Caches"}
# The part of the document that a full run renews.
PART = re.compile(r"(<!-- make survive writes from here -->\n).*(<!-- to here -->)", re.DOTALL)


def tables(
    libraries: Sequence[Library],
    days: Sequence[Day],
    said: Mapping[str, Mapping[str, Any]],
    cells: Mapping[tuple[str, Day], Sequence[Cell]],
) -> str:
    """A table for each feature: a row for each library that has it. What is not as it should be is bold."""
    parts = [f"{time.strftime('%Y-%m-%d')}: {', '.join(versions())}.\n"]
    for feature, title in TITLES.items():
        mine = [day for day in days if day.feature == feature]
        header = [title, *(column for day in mine for column in day.columns)]
        rows = []
        for library in libraries:
            hello = said[library.word]
            if mine and feature in hello["does"]:
                shown = [marked(cell) for day in mine for cell in cells[library.word, day]]
                rows.append([f"{hello['name']} {hello['version']}", *shown])
        if rows:
            parts.append(table(header, rows, left=len(header)))
    return "\n".join(parts)


def versions() -> list[str]:
    """Those of the server and of the languages."""
    php = subprocess.run(["php", "-r", "echo PHP_VERSION;"], capture_output=True, text=True, check=True).stdout
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    languages = {"Python": platform.python_version(), "PHP": php, "Node": node.strip().removeprefix("v")}
    return [SERVER.replace("-", " ").capitalize(), *(f"{name} {version}" for name, version in languages.items())]


def marked(cell: Cell) -> str:
    return f"**{cell.text}**" if cell.good is False else cell.text


def renew(text: str) -> None:
    """Puts the tables into the document."""
    document = DOCUMENT.read_text()
    DOCUMENT.write_text(PART.sub(lambda found: f"{found[1]}\n{text}\n{found[2]}", document))
