"""Archives whose bytes depend on their files alone: entries in order, one time, one owner."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dist.run import run
from dist.targets import CACHE

# 1980-01-01, the earliest time of an entry of a zip.
EPOCH = 315532800
EXECUTABLE = 0o755


@dataclass(frozen=True)
class Entry:
    """A file of an archive."""

    name: str
    content: Path | str
    mode: int = 0o644

    def read(self) -> bytes:
        """Its bytes."""
        return self.content.encode() if isinstance(self.content, str) else self.content.read_bytes()


def write_tgz(archive: Path, entries: Sequence[Entry]) -> None:
    """Writes a tar archive, compressed by gzip."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=EPOCH) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            content = entry.read()
            info.size, info.mode, info.mtime = len(content), entry.mode, EPOCH
            tar.addfile(info, io.BytesIO(content))


def write_zip(archive: Path, entries: Sequence[Entry]) -> None:
    """Writes a zip archive."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(info, entry.read())


def write_deb(package: Path, control: Mapping[str, str], entries: Sequence[Entry]) -> None:
    """Writes a Debian package; `control` has the files of its control archive by name."""
    folder = CACHE / "deb" / package.stem
    shutil.rmtree(folder, ignore_errors=True)
    scripts = [
        Entry(f"DEBIAN/{name}", text, EXECUTABLE if name in SCRIPTS else 0o644) for name, text in control.items()
    ]
    for entry in [*scripts, *entries]:
        file = folder / entry.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(entry.read())
        file.chmod(entry.mode)
    for place in folder.rglob("*"):
        os.utime(place, (EPOCH, EPOCH))
    environment = {"SOURCE_DATE_EPOCH": str(EPOCH)}
    run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(folder), str(package)], environment=environment)


SCRIPTS = ("postinst", "prerm", "postrm")
