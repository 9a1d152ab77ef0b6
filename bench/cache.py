"""`make bench ONLY=cache`: what a stale value costs its readers while another loads, next to a round trip.

200 readers in four kinds of processes take turns between the stale value, the smallest call of the same client (`peek`
at nothing, one script) and GET by the usual client of their language. The figures go to target/bench-cache: table.md
and results.json (target/bench-cache-quick with --quick, whose figures are worth nothing: it shows that all runs).

The workers of the tests (tests/harness/worker/) would add a line to and from a process to each call, which is more than
what is measured: these have loops of their own, and peers beside.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

import machine
import quotalock
from servers import Server
from tables import table

ROOT = Path(__file__).resolve().parents[1]
SERVER = "redis-7.0"
WORKERS = ROOT / "bench" / "cache_workers"
PYTHON = [str(ROOT / ".venv/bin/python"), str(WORKERS / "worker.py")]
COMMANDS = {
    "Python, threads": [*PYTHON, "threads"],
    "Python, asyncio": [*PYTHON, "asyncio"],
    "PHP, processes": [
        "php",
        "-d",
        f"extension={ROOT}/bindings-php/modules/ratelimit.so",
        str(WORKERS / "worker.php"),
        "processes",
    ],
    "Node": ["node", str(WORKERS / "worker.mjs"), "promises"],
}
PEERS = {
    "Python, threads": "redis-py",
    "Python, asyncio": "redis-py",
    "PHP, processes": "phpredis",
    "Node": "ioredis",
}
# A stale value is one call; the second round trip is what waiting in line may cost.
BOUND = 2.0

Took = dict[str, list[int]]


@dataclass(frozen=True)
class Plan:
    """How many bursts, of how many readers, who read how often, with how long a pause (seconds, on average) between."""

    bursts: int
    readers: dict[str, int]
    turns: int
    pause: float


NAMES = list(COMMANDS)
FULL = Plan(5, dict(zip(NAMES, (60, 60, 20, 60), strict=True)), 30, 0.2)
QUICK = Plan(1, dict.fromkeys(NAMES, 2), 3, 0.01)


def burst(server: Server, plan: Plan) -> dict[str, Took]:
    """What every step took, by kind of process, while one caller loads all the time."""
    server.command("FLUSHALL")
    server.command("SET", "bench:plain", "old")
    loading, ended = threading.Event(), threading.Event()

    def load() -> bytes:
        loading.set()
        ended.wait(50.0)
        return b"new"

    with quotalock.Client(server.url, timeout=5.0) as client:
        cache = client.cache("bench", fresh=0.05, stale=3600.0, lease=60.0, beta=0.0)
        cache.put("key", b"old")
        # Until it is no longer fresh.
        time.sleep(0.1)
        loader = threading.Thread(target=cache.get, args=("key", load))
        loader.start()
        try:
            if not loading.wait(10.0):
                raise SystemExit("nobody loads")
            return readings(server, plan)
        finally:
            ended.set()
            loader.join()


def readings(server: Server, plan: Plan) -> dict[str, Took]:
    """Has all readers begin together, and collects what they tell."""
    started = {}
    for name, command in COMMANDS.items():
        words = [str(server.port), str(plan.readers[name]), str(plan.turns), str(plan.pause)]
        started[name] = subprocess.Popen(
            [*command, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
    try:
        for name, process in started.items():
            if told(name, process) != "ready":
                raise SystemExit(f"{name} is not ready")
        for process in started.values():
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        return {name: json.loads(told(name, process)) for name, process in started.items()}
    finally:
        for process in started.values():
            process.kill()
            process.communicate()


def told(name: str, process: subprocess.Popen[str]) -> str:
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{name}: its process failed")
    return line.strip()


def percentile(times: list[int], part: float) -> float:
    """In microseconds."""
    return sorted(times)[min(len(times) - 1, int(len(times) * part))] / 1000


def rows(bursts: list[dict[str, Took]]) -> list[list[str]]:
    """Medians of the bursts, and the ratios of the medians."""
    found = []
    for name in COMMANDS:
        for part, shown in ((0.5, "p50"), (0.99, "p99")):
            each = {step: [percentile(one[name][step], part) for one in bursts] for step in ("get", "trip", "peer")}
            get, trip, peer = (median(each[step]) for step in ("get", "trip", "peer"))
            ratios = [mine / other for mine, other in zip(each["get"], each["trip"], strict=True)]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            times = [f"{get:,.0f}", f"{trip:,.0f}", f"{peer:,.0f}"]
            label = f"{name}, GET by {PEERS[name]}" if shown == "p50" else ""
            found.append([label, shown, *times, f"{get / trip:.2f}", spread, f"{get / peer:.2f}"])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench ONLY=cache", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little of each, to see that everything runs")
    options = parser.parse_args()
    plan, begun = QUICK if options.quick else FULL, machine.load()
    with Server(SERVER) as server:
        bursts = [burst(server, plan) for _ in range(plan.bursts)]
    columns = ("stale value µs", "round trip µs", "GET µs", "to a round trip", "bursts", "to GET")
    load = f"load {begun:.2f} before, {machine.load():.2f} after"
    readers = sum(plan.readers.values())
    text = "\n".join(
        [
            f"{machine.description()}; {time.strftime('%Y-%m-%d %H:%M')}; {load}.\n",
            table((f"{readers} readers while one loads", "", *columns), rows(bursts), left=2),
            f"Bound: {BOUND:.0f} round trips. One is the smallest script call of the same client in the same burst.\n",
        ]
    )
    folder = ROOT / "target" / ("bench-cache-quick" if options.quick else "bench-cache")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text)
    (folder / "results.json").write_text(json.dumps(rows(bursts), indent=1))
    print(text)
    print(f"In {folder.relative_to(ROOT)}: table.md, results.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
