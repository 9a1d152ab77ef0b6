"""Puts the program `quotalock` into wheels, so that the wheel installs it: wheel_program.py PROGRAM WHEEL..."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

# What maturin's wheels bear too: the earliest time that a zip can tell.
TIME = (1980, 1, 1, 0, 0, 0)
EXECUTABLE = 0o100755
PLAIN = 0o100644


def add(program: Path, wheel: Path, licences: Mapping[str, str] | None = None) -> None:
    """Adds the program to the wheel's scripts, texts to its licences, and both to its record."""
    name, version = wheel.name.split("-")[:2]
    information = f"{name}-{version}.dist-info"
    record = f"{information}/RECORD"
    added = {f"{name}-{version}.data/scripts/quotalock": (program.read_bytes(), EXECUTABLE)}
    for file, text in (licences or {}).items():
        added[f"{information}/licenses/{file}"] = (text.encode(), PLAIN)
    # A zip cannot replace an entry: all others are copied, and the record comes last.
    new = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as made:
        for entry in old.infolist():
            if entry.filename not in (*added, record):
                made.writestr(entry, old.read(entry))
        lines = [line for line in old.read(record).decode().splitlines() if line.partition(",")[0] not in added]
        for place, (content, mode) in added.items():
            made.writestr(_entry(place, mode), content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{place},sha256={digest},{len(content)}")
        made.writestr(_entry(record, PLAIN), "\n".join(lines) + "\n")
    new.replace(wheel)


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, TIME)
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


if __name__ == "__main__":
    for each in sys.argv[2:]:
        add(Path(sys.argv[1]), Path(each))
