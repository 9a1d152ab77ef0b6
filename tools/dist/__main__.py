"""Builds a release into dist/release: `python -m dist [TARGET ...]` (default: all of `targets.py`)."""

from __future__ import annotations

import functools
import hashlib
import shutil
import sys
import time
from collections.abc import Callable

from dist import names, npm, php, program, wheel
from dist.licences import bill_of_materials
from dist.run import run, say
from dist.targets import BY_NAME, PHP_BUILDS, RELEASE, VERSION, DistError, Target, static_target

# The crate that each kind of file is made of.
LINKED = {"program": "quotalock-cli", "python": "quotalock-python", "node": "quotalock-node", "php": "quotalock-php"}


def main(asked: list[str]) -> None:
    """Builds what is asked for, checks all names and writes the checksums."""
    if unknown := set(asked) - BY_NAME.keys():
        raise DistError(f"no target is called {', '.join(sorted(unknown))}: there are {', '.join(BY_NAME)}")
    if wrong := {place: found for place, found in names.versions().items() if found != VERSION}:
        raise DistError(f"Cargo.toml has the version {VERSION}, which differs from {wrong}: write the same everywhere")
    if not asked:
        shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True, exist_ok=True)
    for target in BY_NAME.values():
        if not asked or target.node in asked:
            _publish(target)
    _timed("sources and bills of materials", _publish_common)
    if found := list(names.problems(RELEASE)):
        raise DistError("\n".join(found))
    files = [file for file in sorted(RELEASE.iterdir()) if file.name != "SHA256SUMS"]
    (RELEASE / "SHA256SUMS").write_text("".join(f"{_digest(file.read_bytes())}  {file.name}\n" for file in files))
    for file in files:
        print(f"{file.stat().st_size:>10,}  {file.name}")


def _publish(target: Target) -> None:
    # One static program for each CPU, in the packages of both C libraries.
    _timed(f"{target.machine}: program", lambda: program.publish(static_target(target), RELEASE))
    _timed(f"{target.node}: wheels", lambda: wheel.publish(target, RELEASE))
    _timed(f"{target.node}: npm package", lambda: npm.publish(target, RELEASE))
    for version in (version for version, built in PHP_BUILDS if built == target):
        _timed(f"{target.node}: PHP {version.row}", functools.partial(php.publish, version, target, RELEASE))


def _publish_common() -> None:
    wheel.publish_source(RELEASE)
    npm.publish_root(RELEASE)
    run(["cargo", "package", "--quiet", "--allow-dirty", "--no-verify", "-p", "quotalock-wire", "-p", "quotalock"])
    for crate in ("quotalock-wire", "quotalock"):
        shutil.copy(f"target/package/{crate}-{VERSION}.crate", RELEASE)
    for kind, package in LINKED.items():
        (RELEASE / f"quotalock-{kind}-{VERSION}.cdx.json").write_text(
            bill_of_materials(package, BY_NAME["linux-x64-gnu"])
        )


def _timed(what: str, publish: Callable[[], None]) -> None:
    began = time.monotonic()
    publish()
    say(f"{what}, {time.monotonic() - began:.0f} s")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except DistError as error:
        print(f"dist: {error}", file=sys.stderr)
        sys.exit(1)
