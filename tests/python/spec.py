"""Reads the contract, and keeps the list of what was executed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "tests/spec"

Case = dict[str, Any]


def files() -> dict[str, list[Case]]:
    """The cases of each vector file, by the file's name."""
    return {path.stem: json.loads(path.read_text())["cases"] for path in sorted((SPEC / "vectors").glob("*.json"))}


@cache
def api() -> dict[str, Any]:
    """The surface of every language."""
    found: dict[str, Any] = json.loads((SPEC / "api.json").read_text())
    return found


def octets(case: Case, field: str) -> bytes | None:
    """The bytes of a field that may be text or `<field>_hex`."""
    if field in case:
        return str(case[field]).encode()
    return bytes.fromhex(case[field + "_hex"]) if field + "_hex" in case else None


def octets_hex(case: Case, field: str) -> bytes | None:
    """The bytes of a field `<field>_hex`; None without one."""
    return bytes.fromhex(case[field + "_hex"]) if case.get(field + "_hex") is not None else None


def seconds(micros: int | None) -> float | None:
    """A time as the Python surface shows it."""
    return None if micros is None else micros / 1e6


def assert_all_executed(runner: str, store: str, executed: list[str]) -> None:
    """Writes what was executed, and fails unless it is exactly what the spec holds."""
    folder = ROOT / "target/vectors"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{runner}-{store}.json").write_text(json.dumps(sorted(executed), indent=2))
    assert sorted(executed) == sorted(case["id"] for cases in files().values() for case in cases)
