"""Replays 2,000 processes after a failover, and draws how often they ask for the map."""

from __future__ import annotations

import json
import subprocess

from measurements import ROOT
from scale_plan import Plan

SETUP = {"processes": 2000, "calls_per_second": 10, "away": 2, "watched": 12}
STEPS_PER_SECOND = 4
NAMES = {"at_once": "asks at once", "paced": "Quotalock"}
WIDTH = 60


def replay(plan: Plan) -> str:
    """Requests for the map at the busiest node, second by second."""
    command = ["cargo", "run", "--quiet", "--release", "-p", "quotalock-tests", "--example", "map_refresh", "--"]
    done = subprocess.run([*command, json.dumps(SETUP)], cwd=ROOT, capture_output=True, text=True, check=True)
    asked: dict[str, list[list[int]]] = json.loads(done.stdout)
    busiest = {name: max(map(_seconds, asked[name]), key=max) for name in NAMES}
    most = max(max(counts) for counts in busiest.values())
    lines = []
    for name, title in NAMES.items():
        total = sum(map(sum, asked[name]))
        lines.append(f"{title}: {total:,} requests in all, {max(busiest[name]):,} in a second at the busiest node")
        for second, count in enumerate(busiest[name]):
            lines.append(f"{second:3} s {count:6,} {'#' * round(count / most * WIDTH)}".rstrip())
        lines.append("")
    told = (
        f"{SETUP['processes']:,} processes with {SETUP['calls_per_second']} calls a second each; a primary of three\n"
        f"dies at 0 s and is replaced at {SETUP['away']} s. Requests for the map at the busiest node in each second:\n"
    )
    return told + "\n```text\n" + "\n".join(lines[:-1]) + "\n```\n"


def _seconds(steps: list[int]) -> list[int]:
    return [sum(steps[at : at + STEPS_PER_SECOND]) for at in range(0, len(steps), STEPS_PER_SECOND)]
