#!/usr/bin/env python3
"""Runs a suite and notes how it ended, for the summary of `make test`: `suite.py NAME COMMAND [ARGUMENT ...]`.

The exit code is the command's own.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

NOTES = Path(__file__).resolve().parents[1] / "target/suites"


def main(name: str, *command: str) -> int:
    """Runs the command and writes one line about it."""
    began = time.monotonic()
    process = subprocess.Popen(command)
    # Ctrl-C reaches the command by itself; what is sent to this process alone is passed on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: process.send_signal(number))
    code = process.wait()
    NOTES.mkdir(parents=True, exist_ok=True)
    how = "passed" if code == 0 else "FAILED"
    (NOTES / name).write_text(f"  {name:22} {how} {time.monotonic() - began:6.0f} s\n")
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
