"""What fetches versions that the machine lacks: commands, apt with its own state, and stamps of what is done."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "target/matrix"


class VersionError(Exception):
    """A version could not be had; the message says which, and why."""


def apt_options(folder: Path, lines: Sequence[str]) -> list[str]:
    """Options for an apt that keeps its state in the folder, apart from that of the machine; its lists are fetched.

    A line is such as `deb trixie`, of the mirror of this machine.
    """
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    key, address = "/usr/share/keyrings/debian-archive-keyring.gpg", mirror()
    sources = [f"{kind} [signed-by={key}] {address} {suite} main\n" for kind, suite in map(str.split, lines)]
    (folder / "sources.list").write_text("".join(sources))
    settings = {
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::State::Lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder,
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
        "Acquire::Retries": "3",
    }
    options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    run(["apt-get", "update", *options])
    return options


def build_source(package: str, suite: str, folder: Path, configure: Sequence[str]) -> None:
    """Builds and installs the source that Debian has of a package in a release, in a folder that is removed again."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = apt_options(folder / "apt", [f"deb-src {suite}"])
    script = 'cd "$1" && shift && exec apt-get source --download-only "$@"'
    run(["sh", "-c", script, "sh", str(folder), *options, f"{package}/{suite}"])
    archives = sorted(folder.glob("*.orig.tar.xz"))
    if not archives:
        raise VersionError(f"apt got no source of {package} in {suite}")
    run(["tar", "--extract", "--strip-components=1", "--directory", str(folder), "--file", str(archives[0])])
    steps = ('./configure --silent "$@"', "make --silent -j2", "make --silent install")
    run(["sh", "-c", f'cd "$0" && {" && ".join(steps)}', str(folder), *configure])
    shutil.rmtree(folder)


def mirror() -> str:
    """The address of the mirror from which this machine has its own Debian."""
    question = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"]
    addresses = output(question)
    if not addresses:
        run(["apt-get", "update", "-qq"])
        addresses = output(question)
    if not addresses:
        raise VersionError("apt knows no mirror of Debian")
    return addresses[0]


def say(what: str) -> None:
    """Prints what is being done."""
    print(f"matrix: {what}", flush=True)


def run(command: Sequence[str], **environment: str) -> None:
    """Runs a command in silence, or raises `VersionError` with the end of what it printed."""
    env = os.environ | environment
    done = subprocess.run(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise VersionError(f"{' '.join(command)[:200]} failed:\n{(done.stdout + done.stderr)[-3000:]}")


def output(command: Sequence[str]) -> list[str]:
    """The words that a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def is_current(folder: Path, *what: str) -> bool:
    """Whether the folder bears the stamp of this recipe."""
    mark = folder / ".stamp"
    return mark.exists() and mark.read_text() == _digest(what)


def stamp(folder: Path, *what: str) -> None:
    """Notes that what this recipe asks for is there."""
    (folder / ".stamp").write_text(_digest(what))


def _digest(what: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(what).encode()).hexdigest()
