"""What has to be true before a release is published: `python -m dist.release_check` prints a line for each point."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator

from dist import names
from dist.targets import (
    BY_NAME,
    PHP_BUILDS,
    RELEASE,
    ROOT,
    VERSION,
    WHEELS,
    deb_name,
    npm_name,
    pie_name,
    program_name,
    sdist_name,
    static_target,
    wheel_name,
)

# What only a person can do, in this order, when all points before are fine.
BY_HAND = (
    "make matrix, make soak and make survive passed on a machine that has nothing else to do",
    "a draft of the release has every file of dist/release: installers look for files as soon as it is public",
    "crates are published in order: quotalock-wire, quotalock, quotalock-cli",
    "PyPI has the wheels and the source distribution",
    "npm has the platform packages, and after them quotalock",
    "the tag is pushed, which Packagist reads, and the draft is published",
    "the install lines of the README work in an empty folder",
    "Cargo.toml has the next version",
)


def expected() -> set[str]:
    """The names of all files that a release has."""
    found = {sdist_name(), npm_name("quotalock"), "SHA256SUMS"}
    for target in BY_NAME.values():
        static = static_target(target)
        found |= {wheel_name(target, wheel) for wheel in WHEELS}
        found |= {npm_name(target.npm_package), program_name(static), deb_name("quotalock", static)}
    for php, target in PHP_BUILDS:
        found |= {pie_name(php, target)}
        if php.is_debian:
            found |= {deb_name(f"php{php.version}-ratelimit", target)}
    return found


def problems() -> Iterator[tuple[str, str]]:
    """Each point, with what is wrong; nothing if it is fine."""
    wrong = {place: found for place, found in names.versions().items() if found != VERSION}
    yield f"all packages have the version {VERSION}", f"these differ: {wrong}" if wrong else ""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    heading = re.search(rf"^## \[?{re.escape(VERSION)}\b", changelog, re.MULTILINE)
    yield "CHANGELOG.md has the version", "" if heading else f"write a heading '## {VERSION}'"
    changed = _git("status", "--porcelain")
    yield "everything is committed", f"commit these:\n{changed}" if changed else ""
    repository = re.search(r"^repository *=", (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    yield "Cargo.toml names the repository, where cargo binstall looks", "" if repository else "add `repository`"
    present = {file.name for file in RELEASE.glob("*")}
    missing = sorted(expected() - present)
    yield "dist/release has every file", f"run make dist; missing: {', '.join(missing)}" if missing else ""
    yield "tools find the files by their names", "\n".join(names.problems(RELEASE)) if present else "run make dist"
    yield "SHA256SUMS fits", "\n".join(_wrong_sums())


def main() -> int:
    """Prints all points."""
    failed = 0
    for point, problem in problems():
        failed += bool(problem)
        print(f"[{' ' if problem else 'x'}] {point}" + (f": {problem}" if problem else ""))
    print("\nBy hand:", *(f"[ ] {point}" for point in BY_HAND), sep="\n")
    return min(failed, 1)


def _wrong_sums() -> Iterator[str]:
    sums = RELEASE / "SHA256SUMS"
    for line in sums.read_text().splitlines() if sums.exists() else ["- SHA256SUMS"]:
        digest, name = line.split()
        file = RELEASE / name
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != digest:
            yield f"{name} differs: run make dist"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
