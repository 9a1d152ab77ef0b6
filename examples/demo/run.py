#!/usr/bin/env python3
"""`make demo`: the incident, the same shop with Quotalock, one limit in three languages, and a flash sale in them.

Everything it starts (redis-server, php-fpm, nginx, siege) is its own, on loopback, in a temporary folder, and ends with
it. Exit code: 0 when the broken limiter died, ours did not, and every sum is exact; 1 otherwise; 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

from needs import ROOT, DemoError

sys.path.insert(0, str(ROOT / "tools"))

from play import Play
from program import ProgramError


def main() -> int:
    """Plays the four acts and returns the exit code."""
    options = arguments()
    signal.signal(signal.SIGINT, _leave)
    signal.signal(signal.SIGTERM, _leave)
    try:
        with tempfile.TemporaryDirectory(prefix="quotalock-demo-") as folder:
            play = Play(
                Path(folder), options.seconds, options.window, options.buyers, options.sale_seconds, options.out
            )
            wrong = play.perform()
    except (DemoError, ProgramError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    for complaint in wrong:
        print(f"demo: {complaint}", file=sys.stderr)
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="The incident, lived and cured: about two minutes.")
    parser.add_argument(
        "--seconds",
        type=_in_range(3, 600),
        default=25,
        help="how long to look on after the broken limiter died (default: %(default)s)",
    )
    parser.add_argument(
        "--window",
        type=_in_range(5, 2000),
        default=100,
        metavar="MS",
        help="one purchase per so many milliseconds (default: %(default)s)",
    )
    parser.add_argument(
        "--buyers",
        type=_in_range(100, 50_000),
        default=5_000,
        help="how many come to the flash sale, for a tenth as many units (default: %(default)s)",
    )
    parser.add_argument(
        "--sale-seconds",
        type=_in_range(4, 600),
        default=14,
        metavar="SECONDS",
        help="within how many seconds they come (default: %(default)s)",
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "target/demo", help="where table, plot and figures go (default: target/demo)"
    )
    return parser.parse_args()


class _in_range:
    """A whole number between two bounds, for argparse."""

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def __call__(self, text: str) -> int:
        if not text.isdecimal() or not self.low <= int(text) <= self.high:
            raise argparse.ArgumentTypeError(f"{text} is not a whole number from {self.low} to {self.high}")
        return int(text)


def _leave(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second signal must not interrupt the cleaning up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
