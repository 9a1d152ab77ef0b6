"""`make bench ONLY=prefetch`: decisions a second and the server's CPU for each, with leased permits and without.

One process of each kind asks about one key, which is far from its limit. Rounds of both take turns on one server, and
medians are told. The figures go to target/bench-lease: table.md and results.json (target/bench-lease-quick with
--quick, whose figures are worth nothing: it shows that all runs).
"""

from __future__ import annotations

import argparse
import json
import sys
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
# Whose calls, how many of them in flight, how many permits at once, and what makes them.
COMMANDS = {
    ("PHP", 1, 100): ([*PHP, str(WORKERS / "worker.php")], []),
    ("Python", 1, 100): ([*PYTHON, str(WORKERS / "worker.py")], []),
    ("asyncio", 1, 100): ([*PYTHON, str(WORKERS / "worker.py")], ["asyncio"]),
    ("asyncio", 100, 100): ([*PYTHON, str(WORKERS / "worker.py")], ["asyncio"]),
    ("asyncio", 100, 1_000): ([*PYTHON, str(WORKERS / "worker.py")], ["asyncio"]),
    ("Node", 1, 100): ([*NODE, str(WORKERS / "worker.mjs")], []),
    ("Node", 100, 100): ([*NODE, str(WORKERS / "worker.mjs")], []),
    ("Node", 100, 1_000): ([*NODE, str(WORKERS / "worker.mjs")], []),
}

# Decisions a second, and microseconds of the server's CPU for each.
Figures = tuple[float, float]
Caller = tuple[str, int, int]


def turn(server: Server, who: Caller, prefetch: int, seconds: float) -> Figures:
    """One round of one kind of process."""
    server.command("FLUSHALL")
    command, more = COMMANDS[who]
    words = [server.url, str(prefetch), str(seconds), str(who[1]), *more]
    return one_round([*command, *words], server.pid)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rounds, seconds = (1, 0.05) if quick else (5, 2.0)
    figures: dict[Caller, dict[int, list[Figures]]] = {who: {0: [], who[2]: []} for who in COMMANDS}
    with Server(SERVER) as server:
        for _ in range(rounds):
            for who, found in figures.items():
                for prefetch, some in found.items():
                    some.append(turn(server, who, prefetch, seconds))
    rows = []
    for (name, in_flight, prefetch), found in figures.items():
        plain, leased = ([median(each[at] for each in found[leases]) for at in (0, 1)] for leases in (0, prefetch))
        ratios = (f"{leased[0] / plain[0]:.1f}", f"{leased[1] / plain[1]:.4f}" if plain[1] else "-")
        shown = [f"{plain[0]:,.0f}", f"{leased[0]:,.0f}", f"{plain[1]:.2f}", f"{leased[1]:.3f}"]
        rows.append([name, str(in_flight), str(prefetch), *shown, *ratios])
    header = ["caller", "in flight", "lease", "calls/s", "with it", "server µs", "with it", "times", "server's share"]
    folder = ROOT / "target" / ("bench-lease-quick" if quick else "bench-lease")
    folder.mkdir(parents=True, exist_ok=True)
    text = f"{machine.description()}\n\n{table(header, rows)}"
    (folder / "table.md").write_text(text)
    told = {
        f"{name}, {in_flight} in flight, {prefetch}": found for (name, in_flight, prefetch), found in figures.items()
    }
    (folder / "results.json").write_text(json.dumps(told, indent=1))
    print(text)


if __name__ == "__main__":
    main()
