"""Measures the packages for PHP frameworks beside what they replace over HTTP: wrk asks nginx, php-fpm makes the call.

Each request builds what it needs, as PHP does, and makes one call; it has nothing else of an application. Both sides
keep their connections to Redis. `make bench ONLY=frameworks-php` runs it.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples/demo"), str(ROOT / "tools")]

from needs import EXTENSION, find_tools  # noqa: E402
from shop import Shop, open_shop  # noqa: E402

RIVALS = {
    "Laravel throttle": "throttle",
    "Laravel throttle, with prefetch": "leased",
    "Symfony limiter with lock": "limiter",
    "Symfony lock, acquired and released": "lock",
}
FRAMEWORKS = "laravel-10 symfony-6.4 psr-cache-3 psr-log-3 psr-simple-cache-3"
ROUNDS = 7
SECONDS = 3
# As many as there are workers of php-fpm.
CONNECTIONS = 8
MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


def load(shop: Shop, seconds: int) -> tuple[float, float]:
    """Requests a second, and what 99 of 100 take at most, in milliseconds."""
    command = ["wrk", "--latency", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", shop.url]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in told or "Socket errors" in told:
        raise RuntimeError(f"not every request was answered:\n{told}")
    rate, late = re.search(r"Requests/sec: +([0-9.]+)", told), re.search(r"99% +([0-9.]+)(us|ms|s)", told)
    if rate is None or late is None:
        raise RuntimeError(f"wrk told something else:\n{told}")
    return float(rate[1]), float(late[1]) * MILLISECONDS[late[2]]


def settings(url: str, rival: str, *, ours: bool) -> dict[str, str]:
    """Lines of the pool."""
    known = {"RIVAL": rival, "OURS": str(int(ours)), "URL": url, "QUOTALOCK_FRAMEWORKS": FRAMEWORKS}
    return {f"env[{name}]": f'"{value}"' for name, value in known.items()} | {
        "php_admin_value[opcache.validate_timestamps]": "0"
    }


def main() -> None:
    """Prints a row for each rival."""
    url, tools = json.loads(os.environ["QUOTALOCK_TEST_SERVERS"])["redis-7.0"], find_tools()
    script = ROOT / "bench/frameworks/index.php"
    print(f"{'':36} {'theirs/s':>12} {'Quotalock/s':>12} {'times':>7} {'p99 in ms':>14}")
    for name, rival in RIVALS.items():
        with tempfile.TemporaryDirectory() as home:
            folder = Path(home)
            theirs, ours = (settings(url, rival, ours=ours) for ours in (False, True))
            with (
                open_shop(tools, folder / "theirs", script, settings=theirs, extension=EXTENSION) as before,
                open_shop(tools, folder / "ours", script, settings=ours, extension=EXTENSION) as after,
            ):
                shops = (before, after)
                for shop in shops:
                    load(shop, 1)
                # In turns, since somebody else may use the machine.
                told = [[load(shop, SECONDS) for shop in shops] for _ in range(ROUNDS)]
        (old, late_old), (new, late_new) = (
            [statistics.median(each[side][what] for each in told) for what in (0, 1)] for side in (0, 1)
        )
        print(f"{name:36} {old:12.0f} {new:12.0f} {new / old:7.2f} {late_old:6.2f} / {late_new:5.2f}", flush=True)


if __name__ == "__main__":
    main()
