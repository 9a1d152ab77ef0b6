"""The crates that a binary is linked with: their licences, and a bill of materials in the form of CycloneDX."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from dist.run import run
from dist.targets import VERSION, DistError, Target

# No crate of the registry, and in every binary: the first in all, the second in static ones.
ALWAYS = ("Rust's standard library: MIT OR Apache-2.0", "musl, in the program: MIT")
LICENCE_FILES = ("LICEN[CS]E*", "COPYING*", "COPYRIGHT*", "UNLICENSE*")


@cache
def crates(package: str, target: Target) -> list[dict[str, Any]]:
    """The crates that a package of the workspace is linked with, by name; none that only builds or tests need."""
    asked = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target.triple]
    metadata = json.loads(run(asked))
    by_id = {each["id"]: each for each in metadata["packages"]}
    nodes = {each["id"]: each for each in metadata["resolve"]["nodes"]}
    first = next(each["id"] for each in metadata["packages"] if each["name"] == package and each["source"] is None)
    found, waiting = {first}, [first]
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if linked and not _is_macro(by_id[dependency["pkg"]]) and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return sorted(
        (by_id[each] for each in found if by_id[each]["source"]), key=lambda each: (each["name"], each["version"])
    )


def notices(target: Target, *packages: str) -> str:
    """The text that has to go with binaries: all crates with their licences, then each text once."""
    linked = {crate["id"]: crate for package in packages for crate in crates(package, target)}
    crates_of: dict[str, list[str]] = {}
    lines = ["The libraries that are linked into these binaries, with their licences:", "", *ALWAYS]
    for crate in linked.values():
        if not crate["license"]:
            raise DistError(f"the crate {crate['name']} has no licence in its Cargo.toml: replace the crate")
        name = f"{crate['name']} {crate['version']}"
        lines.append(f"{name}: {crate['license']}")
        for file in _licence_files(crate):
            text = "\n".join(line.rstrip() for line in file.read_text(errors="replace").strip().splitlines())
            crates_of.setdefault(text, []).append(name)
    for text, names in crates_of.items():
        lines += ["", "=" * 80, f"Of {', '.join(names)}:", "", text]
    return "\n".join(lines) + "\n"


def bill_of_materials(package: str, target: Target) -> str:
    """The same crates as CycloneDX 1.5."""
    components = [
        {
            "type": "library",
            "name": crate["name"],
            "version": crate["version"],
            "purl": f"pkg:cargo/{crate['name']}@{crate['version']}",
            "bom-ref": f"pkg:cargo/{crate['name']}@{crate['version']}",
            # Cargo once allowed a slash for OR.
            "licenses": [{"expression": crate["license"].replace("/", " OR ")}],
        }
        for crate in crates(package, target)
    ]
    made = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": package, "version": VERSION, "bom-ref": package}},
        "components": components,
    }
    return json.dumps(made, indent=1) + "\n"


def _is_macro(crate: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in crate["targets"])


def _licence_files(crate: dict[str, Any]) -> Iterator[Path]:
    folder = Path(crate["manifest_path"]).parent
    for pattern in LICENCE_FILES:
        yield from sorted(file for file in folder.glob(pattern) if file.is_file())
