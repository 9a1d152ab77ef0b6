"""`make bench ONLY=threads`: decisions a second of one thread and of two, on Python with a GIL and on one without.

Rounds of all take turns, and medians are told. The Pythons are that of .venv, 3.13 of Debian and 3.13 without a GIL,
which `make matrix` runs the tests on. The last one is built without the compiler's slowest optimizations: compare
what the second thread adds, not the figures of two Pythons. The figures go to target/bench-threads: table.md and
results.json (target/bench-threads-quick with --quick, whose figures are worth nothing: it shows that all runs).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import machine
import versions
from one_round import one_round
from servers import Server
from tables import table

ROOT = Path(__file__).resolve().parents[1]

WORKER = str(ROOT / "bench/thread_workers.py")
THREADS = (1, 2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rounds, seconds = (1, 0.05) if quick else (9, 1.0)
    pythons = {"3.11": sys.executable}
    if not quick:
        for version in ("3.13", "3.13t"):
            pythons[version] = str(versions.programs({"python": version}).python)
    with Server("redis-7.0") as server:
        urls = {"memory://": "memory://", "Redis": server.url}
        figures: dict[tuple[str, str], dict[int, list[float]]] = {
            (python, store): {threads: [] for threads in THREADS} for store in urls for python in pythons
        }
        others = machine.Others(server.pid)
        for _ in range(rounds):
            for (python, store), found in figures.items():
                for threads, some in found.items():
                    command = [pythons[python], WORKER, urls[store], str(threads), str(seconds)]
                    some.append(one_round(command)[0])
        busy = others.share()
    rows = []
    for (python, store), found in figures.items():
        one, two = (median(found[threads]) for threads in THREADS)
        best = max(found[2]) / max(found[1])
        rows.append([python, store, f"{one:,.0f}", f"{two:,.0f}", f"{two / one:.2f}", f"{best:.2f}"])
    header = ["Python", "store", "1 thread, calls/s", "2 threads, calls/s", "times", "best rounds, times"]
    folder = ROOT / "target" / ("bench-threads-quick" if quick else "bench-threads")
    folder.mkdir(parents=True, exist_ok=True)
    text = f"{machine.description()}; all that ran took {busy:.0%} of them\n\n{table(header, rows, left=2)}"
    (folder / "table.md").write_text(text)
    told = {f"{python}, {store}": found for (python, store), found in figures.items()}
    (folder / "results.json").write_text(json.dumps(told, indent=1))
    print(text)


if __name__ == "__main__":
    main()
