"""`make scale`: the figures of docs/scaling.md: decisions a second by the server's CPU, what more primaries do, what a
cluster costs a client, connections, memory, and a replay of 2,000 processes that ask for the map after a failover.

The report goes to target/scale/report.md (target/scale-quick with --quick, whose figures are worth nothing: it shows
that everything runs).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measurements import ROOT

sys.path.insert(0, str(ROOT / "tests" / "harness"))
sys.path.insert(0, str(ROOT / "bench" / "workers"))

import machine
import scale_client
import scale_herd
import scale_server
from scale_plan import FULL, QUICK, Plan

SECTIONS: dict[str, Callable[[Plan], str]] = {
    "decisions": scale_server.decisions,
    "primaries": scale_server.primaries,
    "client": scale_client.cost,
    "connections": scale_client.connections,
    "memory": scale_server.memory,
    "refresh": scale_herd.replay,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each round for an instant, to see that everything runs")
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"some of {', '.join(SECTIONS)}")
    options = parser.parse_args()
    plan = QUICK if options.quick else FULL
    text = f"{machine.description()}; {time.strftime('%Y-%m-%d %H:%M')}; load {machine.load():.1f}.\n"
    text += "Redis 7.0 over loopback.\n"
    for name in options.only.split(","):
        print(f"scale: {name}", file=sys.stderr, flush=True)
        text += f"\n## {name}\n\n{SECTIONS[name](plan)}"
    folder: Path = ROOT / "target" / ("scale-quick" if options.quick else "scale")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
