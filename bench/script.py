"""`make bench-script`: what a decision costs the server, beside a script of the same kind written by hand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import redis
from measurements import ROOT

sys.path.insert(0, str(ROOT / "tests" / "harness"))

import machine
from rounds import DEADLINE, LITTLE, PERIOD_US, PLENTY
from run import dump_scripts
from servers import BINARIES, Server
from tables import table

KEYS, BATCH = 100, 500
MINIMAL = ROOT / "bench" / "minimal.lua"


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-script", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only a few calls, to see that everything runs")
    quick = parser.parse_args().quick
    rounds, calls = (1, 1000) if quick else (7, 10_000)
    scripts = dump_scripts(ROOT / "target" / ("bench-quick" if quick else "bench") / "lua")
    rows = []
    for name in BINARIES:
        with Server(name) as server:
            for limit in (PLENTY, LITTLE):
                costs = compare(
                    redis.Redis(port=server.port, decode_responses=True), contenders(scripts, limit), rounds, calls
                )
                by_hand, *ours = costs.values()
                answer = "denied" if limit == LITTLE else "admitted"
                rows.append([name, answer, f"{by_hand:.2f}", *(f"{cost:.2f} ({cost / by_hand:.2f})" for cost in ours)])
    print(f"{machine.description()}; load {machine.load():.2f}; µs in EVALSHA per call, median of {rounds} rounds of")
    print(f"{calls:,} calls on {KEYS} keys; in brackets the ratio to the script written by hand.\n")
    print(table(("server", "answer", *costs), rows, left=2))
    return 0


def contenders(scripts: Path, limit: int) -> dict[str, tuple[str, Sequence[str]]]:
    """The scripts and their arguments, the one written by hand first."""
    head, hour = ["", DEADLINE, "1"], str(PERIOD_US)

    def ours(*algorithms: str) -> str:
        return (scripts / f"consume-{'-'.join(algorithms)}.lua").read_text()

    rule = [str(limit), hour]
    return {
        "by hand": (MINIMAL.read_text(), [*rule, "1"]),
        "one rule": (ours("fixed-window"), [*head, *rule]),
    }


def compare(
    client: redis.Redis, scripts: Mapping[str, tuple[str, Sequence[str]]], rounds: int, calls: int
) -> dict[str, float]:
    """Lets the scripts take turns, and returns the median cost of each; the first round of all warms up."""
    loaded = {name: (str(client.script_load(text)), argv) for name, (text, argv) in scripts.items()}
    costs: dict[str, list[float]] = {name: [] for name in scripts}
    for number in range(rounds + 1):
        for name, (sha, argv) in loaded.items():
            cost = run(client, name, sha, argv, calls)
            if number > 0:
                costs[name].append(cost)
    return {name: median(values) for name, values in costs.items()}


def run(client: redis.Redis, name: str, sha: str, argv: Sequence[str], calls: int) -> float:
    """Makes the calls in batches and returns the microseconds that the server counted per call."""
    client.config_resetstat()
    for _ in range(calls // BATCH):
        batch = client.pipeline(transaction=False)
        for number in range(BATCH):
            batch.evalsha(sha, 1, f"{name}:{{user:{number % KEYS}}}", *argv)
        batch.execute()
    counted = client.info("commandstats")["cmdstat_evalsha"]
    return float(counted["usec"]) / float(counted["calls"])


if __name__ == "__main__":
    sys.exit(main())
