"""Debian's packages, fetched with all that they need and unpacked into a folder, for any suite and CPU."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from dist.run import is_current, run, say, stamp
from dist.targets import ROOT, DistError
from fetch import mirror


def unpack(
    folder: Path, suite: str, packages: Sequence[str], cpu: str = "amd64", only: tuple[str, ...] = ("",)
) -> None:
    """Unpacks packages with their dependencies next to what `folder` has already; once, until the list changes. Of all
    that is fetched it takes what begins with one of `only`."""
    mark, recipe = folder / f".{suite}-{cpu}-{packages[0]}", [suite, cpu, *packages]
    if is_current(mark, recipe):
        return
    if os.geteuid() != 0:
        raise DistError(f"{folder} has no packages of Debian yet, and only root can unpack them: run this once as root")
    run([str(ROOT / "tools/setup.sh"), "debootstrap"])
    say(f"Debian {suite} ({cpu}): {', '.join(packages)}")
    downloads = folder.parent / f"{folder.name}-debs"
    shutil.rmtree(downloads, ignore_errors=True)
    options = ["--download-only", "--variant=minbase", f"--arch={cpu}", f"--include={','.join(packages)}"]
    run(["debootstrap", *options, suite, str(downloads), mirror()])
    folder.mkdir(parents=True, exist_ok=True)
    # It has the links from /bin and /lib, which must be there before any file goes through them.
    fetched = (file for file in (downloads / "var/cache/apt/archives").glob("*.deb") if file.name.startswith(only))
    for archive in sorted(fetched, key=lambda file: not file.name.startswith("base-files_")):
        run(["dpkg-deb", "--extract", str(archive), str(folder)])
    shutil.rmtree(downloads)
    stamp(mark, recipe)
