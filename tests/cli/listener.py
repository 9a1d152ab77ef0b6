"""A command that runs under a lock and says what it gets, and what its starter reads."""

from __future__ import annotations

import subprocess
import sys

from console import PATIENCE, Console

# Says that it runs, then waits for a signal, says which, and ends.
LISTENER = """
import os, signal, sys, time
def say(number, frame):
    ends = number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    if ends:
        # The same signal may come again, and SIGCONT follows so that a stopped command hears of its end.
        for late in (number, signal.SIGCONT):
            signal.signal(late, lambda *_: None)
    print(signal.Signals(number).name, flush=True)
    if ends:
        sys.exit(int(os.environ.get("ENDS_WITH", "9")))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):
    signal.signal(number, say)
print("runs", os.environ["QUOTALOCK_TOKEN"], flush=True)
while True:
    time.sleep(0.05)
"""
LISTEN = (sys.executable, "-c", LISTENER)


def reads(process: subprocess.Popen[str], wanted: str) -> str:
    """The next line, which begins so."""
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith(wanted), (line, process.stderr and process.poll() is not None and process.stderr.read())
    return line.rstrip("\n")


def ends(process: subprocess.Popen[str], within: float = PATIENCE) -> tuple[int, str, str]:
    """How it ends, and what else it said."""
    out, error = process.communicate(timeout=within)
    return process.returncode, out, error


def is_held(console: Console, name: str = "job") -> bool:
    return bool(console.client.lock(name).inspect().holders)
