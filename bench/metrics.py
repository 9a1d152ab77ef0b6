"""`make bench ONLY=metrics`: what counting costs: decisions a second with it and without (`QUOTALOCK_METRICS=off`).

One process of each kind asks about one key: on memory://, on Redis where all is admitted, and on Redis where all but
one in a second is denied from memory. Rounds with and without take turns, in changing order, and each ratio is that of
two rounds that followed each other; their medians are told. A busy machine takes time from both, so the CPU that a
decision took of its process is told too. The figures go to target/bench-metrics: table.md and results.json
(target/bench-metrics-quick with --quick, whose figures are worth nothing: it shows that all runs).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

import machine
from one_round import one_round
from programs import NODE, PHP, PYTHON
from servers import Server
from tables import table

ROOT = Path(__file__).resolve().parents[1]
SERVER = "redis-7.0"
WORKERS = ROOT / "bench" / "lease_workers"
# Who asks, and with how many calls in flight.
CALLERS = {
    "PHP": ([*PHP, str(WORKERS / "worker.php")], 1, []),
    "Python": ([*PYTHON, str(WORKERS / "worker.py")], 1, []),
    "asyncio": ([*PYTHON, str(WORKERS / "worker.py")], 1, ["asyncio"]),
    "Node": ([*NODE, str(WORKERS / "worker.mjs")], 1, []),
    "Node, 50 in flight": ([*NODE, str(WORKERS / "worker.mjs")], 50, []),
}
# What is decided, and by which policy.
KINDS = {"memory://": "1000000000/h", "Redis": "1000000000/h", "denied from memory": "1/h"}


@dataclass(frozen=True)
class Round:
    """Decisions a second, and nanoseconds of its process' CPU for each."""

    per_second: float
    cpu_ns: float


def turn(url: str, caller: str, policy: str, counts: bool, seconds: float) -> Round:
    """One round of one kind of process."""
    command, in_flight, more = CALLERS[caller]
    words = [url, "0", str(seconds), str(in_flight), *more]
    environment = {**os.environ, "BENCH_POLICY": policy, "QUOTALOCK_METRICS": "on" if counts else "off"}
    per_second, cpu_us = one_round([*command, *words], environment=environment)
    return Round(per_second, 1_000 * cpu_us)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench ONLY=metrics", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="an instant of each, to see that everything runs")
    quick = parser.parse_args().quick
    rounds, seconds = (1, 0.05) if quick else (15, 1.0)
    pairs: dict[tuple[str, str], list[tuple[Round, Round]]] = {pair: [] for pair in product(KINDS, CALLERS)}
    with Server(SERVER) as server:
        for number in range(rounds):
            for (kind, caller), found in pairs.items():
                url = "memory://" if kind == "memory://" else server.url
                server.command("FLUSHALL")
                order = (True, False) if number % 2 else (False, True)
                told = {counts: turn(url, caller, KINDS[kind], counts, seconds) for counts in order}
                found.append((told[True], told[False]))
    rows = []
    for (kind, caller), found in pairs.items():
        ratio = median(on.per_second / off.per_second for on, off in found)
        more = median(on.cpu_ns - off.cpu_ns for on, off in found)
        plain = median(off.per_second for _, off in found)
        rows.append([kind, caller, f"{plain:,.0f}", f"{ratio:.3f}", f"{more:+.0f}"])
    header = ["decided by", "caller", "without, a second", "with it, times", "more CPU, ns"]
    folder = ROOT / "target" / ("bench-metrics-quick" if quick else "bench-metrics")
    folder.mkdir(parents=True, exist_ok=True)
    how = f"{machine.description()}; load {machine.load():.2f}; {rounds} rounds of {seconds:g} s"
    text = f"{how}\n\n{table(header, rows)}"
    (folder / "table.md").write_text(text)
    told_all = {
        f"{kind}, {caller}": [[vars(on), vars(off)] for on, off in found] for (kind, caller), found in pairs.items()
    }
    (folder / "results.json").write_text(json.dumps(told_all, indent=1))
    print(text)


if __name__ == "__main__":
    main()
