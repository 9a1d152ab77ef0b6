"""One round of a worker of `lease_workers`, which says when it is ready, and then how much it did."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import machine

ROOT = Path(__file__).resolve().parents[1]


def one_round(
    command: Sequence[str], server: int | None = None, environment: Mapping[str, str] | None = None
) -> tuple[float, float]:
    """Decisions a second, and microseconds of CPU for each: of the server with this pid, or else of the worker."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    )
    try:
        assert process.stdin
        assert process.stdout
        if process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{' '.join(command)}: it failed")
        watched = server or process.pid
        before = machine.cpu_us(watched)
        process.stdin.write("go\n")
        process.stdin.flush()
        calls, passed = json.loads(process.stdout.readline())
        return calls / passed, (machine.cpu_us(watched) - before) / calls
    finally:
        process.kill()
        process.communicate()
