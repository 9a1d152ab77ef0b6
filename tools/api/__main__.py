"""Writes what api/surface.toml describes: `python3 tools/api`. With `--check` it only names what is out of date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from asyncio_methods import AsyncioMethods
from contract import Contract
from lock_makers import LockMakers, filled
from node_stub import NodeStub
from php_stub import PhpStub
from python_stub import PythonStub
from reference_pages import ReferencePages
from surface_data import Surface

TEMPLATES = Path(__file__).parent / "templates"
NODE = "bindings-node/index.d.ts"
CONTRACT = "tests/spec/api.json"
PHP = "bindings-php/ratelimit.stub.php"
PLAIN = "bindings-python/python/quotalock/aio/_plain.py"
PYTHON = "bindings-python/python/quotalock/_native.pyi"
LOCK_MAKERS = "bindings-{}/src/lock_makers.rs"
LOCK_TABLE = "bindings-node/lib/lock_makers.js"


def written(root: Path) -> dict[str, str]:
    """The text of each file, by its path."""
    surface = Surface(root / "api/surface.toml")
    templates = {path.stem: path.read_text() for path in TEMPLATES.glob("*.in")}
    makers = LockMakers(surface)
    parts = {"python": makers.python(), "php": makers.php(), "node": makers.node()}
    return {
        **{LOCK_MAKERS.format(name): filled(templates[f"lock_makers.{name}.rs"], of) for name, of in parts.items()},
        LOCK_TABLE: filled(templates["lock_makers.js"], parts["node"]),
        PLAIN: AsyncioMethods(surface).text(templates["_plain.py"]),
        PYTHON: PythonStub(surface).text(templates["_native.pyi"]),
        CONTRACT: Contract(surface).text(),
        PHP: PhpStub(surface).text(templates["ratelimit.stub.php"]),
        **ReferencePages(surface).pages(templates["reference.md"]),
        NODE: NodeStub(surface).text(templates["index.d.ts"]),
    }


def main() -> int:
    """Writes the files, or compares them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[2])
    arguments.add_argument("--check", action="store_true", help="write nothing; fail if a file is out of date")
    given = arguments.parse_args()
    files: dict[str, str | None] = {**written(given.root)}
    for path in (given.root / "docs/reference").glob("*.md"):
        files.setdefault(str(path.relative_to(given.root)), None)
    stale = []
    for name, text in sorted(files.items()):
        path = given.root / name
        if (path.read_text() if path.exists() else None) != text:
            stale.append(name)
            if text is None and not given.check:
                path.unlink()
            elif not given.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(str(text))
    for name in stale if given.check else []:
        print(f"{name} is out of date: run `python3 tools/api`", file=sys.stderr)
    return 1 if given.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
