"""What stays allocated after calls and faults does not grow. `make soak` looks for longer, and in all languages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from cluster import Cluster
from live import Live, counted, live_of
from programs import PYTHON

SOAK = Path(__file__).parents[1] / "harness" / "soak"
# In each turn all connections are cut. The least memory of one span of turns is compared with that of a later one.
# Memory goes up and down with a period of about a hundred turns, and each span is longer than that.
BEGINNING, END, TURNS = slice(100, 400), slice(400, 700), 700
# Buffers, and tables that double: a leak of 16 bytes in a call would be more than three times as much.
BUFFERS = 32 << 10


def test_connections_that_are_cut_and_calls_leave_nothing_behind(tmp_path: Path) -> None:
    with Cluster(primaries=3) as cluster:
        program = subprocess.Popen(
            [*PYTHON, str(SOAK / "turns.py"), cluster.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | counted("_native.abi3", str(tmp_path)),
        )
        try:
            found = [_turn(program, cluster, tmp_path).library for _ in range(TURNS)]
        finally:
            program.kill()
            program.communicate()
    first, last = min(found[BEGINNING]), min(found[END])
    assert first > 10_000, "nothing was counted"
    assert last - first < BUFFERS, [min(found[at : at + 50]) for at in range(0, TURNS, 50)]


def _turn(program: subprocess.Popen[str], cluster: Cluster, folder: Path) -> Live:
    for node in cluster.nodes:
        for kind in ("normal", "pubsub"):
            node.ask("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
    assert program.stdin
    assert program.stdout
    program.stdin.write("\n")
    program.stdin.flush()
    assert program.stdout.readline() == "\n"
    live = live_of(str(folder), program.pid)
    assert live
    return live
