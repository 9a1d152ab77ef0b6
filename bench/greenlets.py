"""`make bench ONLY=greenlets`: the longest pause of other greenlets while one waits 5 s for a lock, under gevent.

A greenlet waits for a lock that is not released, and another sleeps for a millisecond again and again: its longest
pause is what a request that needs nothing of the lock has to wait. Once as it is, once with the package's support of
gevent off, and once with a sleep of that time instead of the lock, which shows what the machine itself takes. The
figures go to target/bench-greenlets/table.md (target/bench-greenlets-quick with --quick, a wait of 0.2 s).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

import machine
from servers import Server
from tables import table

ROOT = Path(__file__).resolve().parents[1]

# Prints the longest pause in seconds: its arguments are the URL, how long to wait, and what happens meanwhile.
PROGRAM = """
from gevent import monkey
monkey.patch_all()
import sys, time, gevent, quotalock
from quotalock import _greenlets
url, wait, what = sys.argv[1], float(sys.argv[2]), sys.argv[3]
if what == "unsupported":
    _greenlets.waiter = lambda: None
client = quotalock.Client(url, timeout=10.0)
held = client.lock("sku:42", ttl=60.0)
assert held.acquire()
pauses, over = [], []
def tick():
    before = time.perf_counter()
    while not over:
        gevent.sleep(0.001)
        now = time.perf_counter()
        pauses.append(now - before)
        before = now
def block():
    gevent.sleep(0.1)
    if what == "sleep":
        gevent.sleep(wait)
    else:
        assert not client.lock("sku:42").acquire(wait)
    over.append(True)
gevent.joinall([gevent.spawn(tick), gevent.spawn(block)], raise_error=True)
held.release()
print(max(pauses))
"""
# What happens, and how the table calls it.
COLUMNS = {"unsupported": "without support", "supported": "with support", "sleep": "no lock"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rounds, wait = (1, 0.2) if quick else (3, 5.0)
    longest: dict[tuple[str, str], float] = {}
    with Server("redis-7.0") as server:
        for _ in range(rounds):
            for store, url in (("Redis", server.url), ("memory://", "memory://")):
                for what in COLUMNS:
                    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, url, str(wait), what]
                    pause = float(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
                    longest[store, what] = max(pause, longest.get((store, what), 0.0))
    rows = [
        [store, *(f"{longest[store, what] * 1000:,.0f} ms" for what in COLUMNS)] for store in ("Redis", "memory://")
    ]
    folder = ROOT / "target" / ("bench-greenlets-quick" if quick else "bench-greenlets")
    folder.mkdir(parents=True, exist_ok=True)
    heading = f"{machine.description()}; longest pause of {rounds} rounds while a greenlet waits {wait:g} s for a lock"
    text = f"{heading}\n\n{table(['store', *COLUMNS.values()], rows)}"
    (folder / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
