"""`make survive`: limiters, locks and caches through their bad days, each cell a figure by a library's public API.

A full run writes the tables into docs/survive.md, and every run writes them with all figures to target/survive.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/harness"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapter import Adapter
from days import TABLES, Day
from libraries import LIBRARIES, Library
from servers import ROOT, Server
from stage import SERVER, TIMEOUT, UP_WITHIN, Cell
from survive_report import renew, tables

RESULTS = ROOT / "target/survive/results.json"
# They wait most of the time.
AT_ONCE = 4

Hello = dict[str, Any]


def hellos(libraries: Sequence[Library]) -> dict[str, Hello]:
    """What each adapter says of its library, by the library's word."""
    said = {}
    with Server(SERVER) as server:
        for library in libraries:
            adapter = Adapter(library.command, server.port, TIMEOUT)
            try:
                said[library.word] = adapter.ask("hello", within=UP_WITHIN)
            finally:
                adapter.kill()
    return said


def lived_through(day: Day, library: Library) -> tuple[Cell, ...]:
    """The cells of a day; a failure of the suite itself is one as well, and is printed."""
    begun = time.monotonic()
    try:
        cells = day.run(library.command)
    except Exception:
        traceback.print_exc()
        cells = tuple(Cell("failed", False, {"error": traceback.format_exc()}) for _ in day.columns)
    told = "; ".join(cell.text for cell in cells)
    print(f"{library.word:17} {day.feature} {day.word:9} {time.monotonic() - begun:5.1f} s  {told}", flush=True)
    return cells


def survived(libraries: Sequence[Library], days: Sequence[Day], said: dict[str, Hello]) -> dict[tuple[str, Day], Any]:
    """The cells of every day that concerns a library, several at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # Stampedes are a hundred processes: alone.
        beside = [day for day in days if not day.alone]
        asked = [(library, day) for day in beside for library in libraries if day.feature in said[library.word]["does"]]
        done = pool.map(lambda pair: lived_through(pair[1], pair[0]), asked)
        cells = {(library.word, day): each for (library, day), each in zip(asked, done, strict=True)}
    for day in days:
        for library in libraries:
            if day.alone and day.feature in said[library.word]["does"]:
                cells[library.word, day] = lived_through(day, library)
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(prog="make survive", description=__doc__)
    parser.add_argument("--only", default="", help="words: libraries, days, and `limiter`, `lock` or `cache`")
    parser.add_argument("--adapter", default="", help="the command line of an adapter of your own, instead of ours")
    options = parser.parse_args()
    libraries = [Library("yours", tuple(shlex.split(options.adapter)))] if options.adapter else list(LIBRARIES)
    days = [day for table in TABLES for day in table]
    words = set(options.only.split())
    known = {library.word for library in libraries} | {word for day in days for word in (day.word, day.feature)}
    if unknown := words - known:
        parser.error(f"not known: {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    libraries = [each for each in libraries if each.word in words] or libraries
    days = [each for each in days if each.feature in words] or days
    days = [each for each in days if each.word in words] or days
    said = hellos(libraries)
    cells = survived(libraries, days, said)
    text = tables(libraries, days, said, cells)
    print(f"\n{text}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    figures = [
        {"library": said[word]["name"], "version": said[word]["version"], "feature": day.feature, "day": day.word}
        | {"cells": [vars(cell) for cell in each]}
        for (word, day), each in cells.items()
    ]
    RESULTS.write_text(json.dumps(figures, indent=1))
    print(f"Figures: {RESULTS.relative_to(ROOT)}")
    if not words and not options.adapter:
        renew(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
