"""`make bench ONLY=memory`: what a decision in this process takes, on `memory://`, next to other such limiters."""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

from measurements import PYTHON, ROOT, WORKERS

sys.path.insert(0, str(ROOT / "tests" / "harness"))

import machine
from tables import table

RUST = ROOT / "target" / "release" / "examples" / "memory"
PHP = ("php", "-d", f"extension={ROOT / 'bindings-php' / 'modules' / 'ratelimit.so'}")

# Who is measured, in what, and with which program.
CONTENDERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("governor, keyed", "Rust", (str(RUST), "governor")),
    ("Quotalock", "Rust", (str(RUST), "ours")),
    ("limits, MemoryStorage", "Python", (PYTHON, str(WORKERS / "in_process.py"), "limits")),
    ("Quotalock", "Python", (PYTHON, str(WORKERS / "in_process.py"), "ours")),
    ("Quotalock", "asyncio, awaited", (PYTHON, str(WORKERS / "in_process.py"), "aio")),
    ("Quotalock", "PHP", (*PHP, str(WORKERS / "in_process.php"), "ours")),
    ("Quotalock", "Node, awaited", ("node", str(WORKERS / "in_process.mjs"), "ours")),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench ONLY=memory", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only a few calls, to see that everything runs")
    quick = parser.parse_args().quick
    rounds, calls = (1, 1000) if quick else (7, 1_000_000)
    # What is measured is what is built here: a peer of Rust is built with it.
    build = ["cargo", "build", "--quiet", "--release", "-p", "quotalock-tests", "--example", "memory"]
    subprocess.run(build, cwd=ROOT, check=True)
    took: list[list[float]] = [[] for _ in CONTENDERS]
    # In turns, so that what else this machine does meets all of them.
    for _ in range(rounds):
        for figures, (_, _, command) in zip(took, CONTENDERS, strict=True):
            told = subprocess.run([*command, str(calls)], cwd=ROOT, capture_output=True, text=True, check=True)
            figures.append(float(told.stdout))
    rows = [
        [language, name, f"{median(figures):.0f}", f"{min(figures):.0f}"]
        for figures, (name, language, _) in zip(took, CONTENDERS, strict=True)
    ]
    print(f"{machine.description()}; load {machine.load():.2f}; ns of CPU per call about one hot key that is admitted,")
    print(f"{rounds} rounds of {calls:,} calls.\n")
    print(table(("language", "limiter", "median", "best"), rows, left=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
