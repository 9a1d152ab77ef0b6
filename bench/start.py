"""`make bench ONLY=start`: what it costs to start a program with the package, and how large its files are.

Programs that do nothing, with the package and without, take turns; the difference of their medians is the package's. It
is the CPU that they use, which on a machine with nothing else to do is the time that they take. The sizes are those of
the wheels that `make dist ONLY=linux-x64-gnu` built, if it has, of those that pip fetches of other packages for this
machine, and of the extension next to phpredis, both without symbols. The figures go to target/bench-start/table.md
(target/bench-start-quick with --quick, whose figures are worth nothing: it shows that all runs).
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

import machine
from programs import NODE, PHP, PYTHON
from tables import table

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = PHP[2].removeprefix("extension=")
# A program without the package, and with it.
PROGRAMS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "Python: import quotalock": ([*PYTHON, "-c", "pass"], [*PYTHON, "-c", "import quotalock"]),
    "Python: import quotalock.aio": ([*PYTHON, "-c", "import asyncio"], [*PYTHON, "-c", "import quotalock.aio"]),
    "Node: require('quotalock')": ([*NODE, "-e", ""], [*NODE, "-e", "require('quotalock')"]),
    "PHP: extension=ratelimit.so": (["php", "-n", "-r", ""], ["php", "-n", "-d", f"extension={LIBRARY}", "-r", ""]),
}
# Wheels that pip fetches to compare.
PEERS = ("valkey-glide-sync", "valkey-glide", "cryptography", "redis")


def milliseconds(command: Sequence[str]) -> float:
    """The CPU that a program uses from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=ROOT, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def starts(rounds: int) -> list[list[str]]:
    """A row for each program."""
    rows = []
    for name, commands in PROGRAMS.items():
        found: list[list[float]] = [[], []]
        for _ in range(rounds):
            for some, command in zip(found, commands, strict=True):
                some.append(milliseconds(command))
        without, with_it = map(median, found)
        rows.append([name, f"{without:.1f} ms", f"{with_it:.1f} ms", f"{with_it - without:.1f} ms"])
    return rows


def sizes() -> list[list[str]]:
    """A row for each file: as it is fetched, and as it is installed."""
    rows = [_of_wheel(file) for file in sorted((ROOT / "dist/release").glob("*manylinux*x86_64.whl"))]
    with tempfile.TemporaryDirectory() as folder:
        pip = [
            *PYTHON,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--dest",
            folder,
        ]
        subprocess.run([*pip, *PEERS], check=True)
        rows += [_of_wheel(file) for file in sorted(Path(folder).glob("*.whl"))]
    extensions = {"ratelimit.so": Path(LIBRARY), "phpredis: redis.so": _extensions() / "redis.so"}
    for name, file in extensions.items():
        if file.exists():
            with tempfile.TemporaryDirectory() as folder:
                # As it is published: without symbols.
                stripped = Path(folder) / file.name
                subprocess.run(["strip", "--strip-all", "-o", str(stripped), str(file)], check=True)
                rows.append([name, "", _megabytes(stripped.stat().st_size)])
    return rows


def _extensions() -> Path:
    asked = ["php", "-r", "echo ini_get('extension_dir');"]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)


def _of_wheel(file: Path) -> list[str]:
    with zipfile.ZipFile(file) as wheel:
        installed = sum(entry.file_size for entry in wheel.infolist())
    return [file.name, _megabytes(file.stat().st_size), _megabytes(installed)]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    parts = [machine.description(), table(["program", "without", "with", "difference"], starts(1 if quick else 31))]
    # Fetched from registries, which a test does not need.
    parts += [] if quick else [table(["file", "fetched", "installed"], sizes())]
    text = "\n\n".join(parts)
    folder = ROOT / "target" / ("bench-start-quick" if quick else "bench-start")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
