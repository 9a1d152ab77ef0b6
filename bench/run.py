"""`make bench`: each language's package beside the raw client that runs the same script with the same arguments.

The figures go to target/bench: table.md, results.json and ratios.svg (target/bench-quick with --quick, whose figures
are worth nothing: it shows that everything runs).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from measurements import MEASUREMENTS, ROOT, RUST_BUILD, only

sys.path.insert(0, str(ROOT / "tests" / "harness"))

import bars
import machine
import tables
from rounds import NOISY, Plan, Result, measure
from servers import Server

SERVER = "redis-7.0"
FULL = Plan(rounds=5, most_rounds=12, seconds=1.2, warm_up=0.8)
QUICK = Plan(rounds=1, most_rounds=1, seconds=0.08, warm_up=0.05)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each round for an instant, to see that everything runs")
    parser.add_argument("--only", default="", help="those with one of these words in their names: php,8 threads")
    options = parser.parse_args()
    chosen = only([word.strip() for word in options.only.split(",") if word.strip()])
    if not chosen:
        parser.error(f"no such measurement; there are: {'; '.join(each.name for each in MEASUREMENTS)}")

    folder = ROOT / "target" / ("bench-quick" if options.quick else "bench")
    scripts = dump_scripts(folder / "lua")
    subprocess.run(["cargo", "build", *RUST_BUILD], cwd=ROOT, check=True)
    plan, results, begun = QUICK if options.quick else FULL, [], machine.load()
    with Server(SERVER) as server:
        version = next(line for line in server.command("INFO").splitlines() if line.startswith("redis_version"))
        for measurement in chosen:
            print(f"bench: {measurement.name}", file=sys.stderr, flush=True)
            results.append(measure(measurement, server, scripts, plan))
    header = describe(results, plan, f"Redis {version.partition(':')[2]}", begun)
    text = "\n".join([header, tables.figures_table(results), tables.LEGEND, "", tables.targets_table(results)])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(text)
    (folder / "results.json").write_text(json.dumps([result.record() for result in results], indent=1))
    (folder / "ratios.svg").write_text(bars.draw(results))
    print(text)
    print(f"In {folder.relative_to(ROOT)}: table.md, results.json, ratios.svg")
    return 0


def dump_scripts(folder: Path) -> Path:
    """Writes the scripts as the server gets them."""
    command = ["cargo", "run", "--quiet", "--package", "quotalock", "--example", "scripts", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


def describe(results: Sequence[Result], plan: Plan, server: str, begun: float) -> str:
    """The state of the machine, how it was measured, and the versions of everybody."""
    others = [share for result in results for share in result.others]
    worst = max(others, default=0.0)
    versions = sorted({version for result in results for version in result.versions})
    lines = [
        f"{machine.description()}; {time.strftime('%Y-%m-%d %H:%M')};",
        f"load {begun:.2f} before, {machine.load():.2f} after;",
        f"other processes used {sum(others) / max(1, len(others)):.1%} of the cores, {worst:.1%} in the worst round.",
        f"{server} over loopback; {plan.rounds} rounds of {plan.seconds} s for each client in turn, after a warm-up;",
        "rounds that other processes disturbed were made again.",
        "; ".join(versions) + ".",
    ]
    if worst > NOISY:
        lines.append("NOT a quiet machine: these figures are not to be trusted.")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
