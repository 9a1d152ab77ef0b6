"""The program: a static binary for each CPU, its archive and its Debian package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dist import toolchain
from dist.archives import EXECUTABLE, Entry, write_deb, write_tgz
from dist.licences import notices
from dist.run import run
from dist.targets import (
    CACHE,
    DEBIAN_REVISION,
    ROOT,
    VERSION,
    Target,
    deb_name,
    program_folder,
    program_name,
    static_target,
)

MANUAL = CACHE / "manual"
COMPLETIONS = {
    "quotalock.bash": "usr/share/bash-completion/completions/quotalock",
    "_quotalock": "usr/share/zsh/vendor-completions/_quotalock",
    "quotalock.fish": "usr/share/fish/vendor_completions.d/quotalock.fish",
}
CONTROL = """Package: quotalock
Version: {version}
Architecture: {cpu}
Maintainer: Quotalock developers <quotalock@invalid>
Section: admin
Priority: optional
Description: inspect, monitor and repair rate limits and locks in Redis
 The program quotalock finds stuck keys, shows limits, locks, stocks and caches,
 serves a dashboard, and runs commands under a distributed lock.
"""


@cache
def build(target: Target) -> Path:
    """Builds the program for a CPU and returns its file."""
    return toolchain.cargo(static_target(target), ["build", "-p", "quotalock-cli"], static=True) / "quotalock"


@cache
def manual() -> list[Path]:
    """Writes the completions of shells and the pages for `man`."""
    run(["cargo", "test", "--quiet", "-p", "quotalock-cli", "manual::"], environment={"QUOTALOCK_MANUAL": str(MANUAL)})
    return sorted(MANUAL.iterdir())


def publish(target: Target, folder: Path) -> None:
    """Writes the archive and the Debian package of a CPU."""
    program, top = build(target), program_folder(target)
    documents = [
        Entry("LICENSE", ROOT / "LICENSE"),
        Entry("THIRD-PARTY.txt", notices(target, "quotalock-cli")),
    ]
    manuals = [Entry(f"{'completions' if file.name in COMPLETIONS else 'man'}/{file.name}", file) for file in manual()]
    entries = [Entry("quotalock", program, EXECUTABLE), *documents, *manuals]
    write_tgz(folder / program_name(target), [Entry(f"{top}/{each.name}", each.content, each.mode) for each in entries])
    installed = [
        Entry("usr/bin/quotalock", program, EXECUTABLE),
        Entry("usr/share/doc/quotalock/copyright", ROOT / "LICENSE"),
        Entry("usr/share/doc/quotalock/THIRD-PARTY.txt", documents[1].content),
        *(Entry(COMPLETIONS.get(file.name, f"usr/share/man/man1/{file.name}"), file) for file in manual()),
    ]
    control = CONTROL.format(version=f"{VERSION}-{DEBIAN_REVISION}", cpu=target.debian)
    write_deb(folder / deb_name("quotalock", target), {"control": control}, installed)
