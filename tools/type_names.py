#!/usr/bin/env python3
"""Finds types of one crate that share a name: `type_names.py` fails, naming the places, when two do.

A name that stands for one thing can be searched for. What is compiled for tests only does not count. A folder given
as the last word is looked at in place of this checkout.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

from imports import HOUSES, is_test, plain, rust

ROOT = Path(__file__).resolve().parents[1]
CRATES = [folder for folder, read in HOUSES if read is rust]
# Not the types that a trait or its implementation names: they stand indented, and belong to it.
DEFINITION = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|union|trait|type) (\w+)", re.MULTILINE)


def types(root: Path, crate: str) -> dict[str, list[str]]:
    """The types of a crate, with the places that define one of this name."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / crate).rglob("*.rs")):
        if is_test(path.relative_to(root / crate)):
            continue
        text = plain(path)
        for definition in DEFINITION.finditer(text):
            line = text.count("\n", 0, definition.start()) + 1
            found[definition[1]].append(f"{path.relative_to(root)}:{line}")
    return found


def main(arguments: list[str]) -> int:
    """Looks at every crate; 1 if a name is shared."""
    root = Path(arguments[-1]) if arguments else ROOT
    failed = 0
    for crate in CRATES:
        for name, places in sorted(types(root, crate).items()):
            if len(places) > 1:
                failed = 1
                print(f"{crate}: {len(places)} types are called {name}: {', '.join(places)}", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
