"""`python3 bench/local.py`: what processes with `on_error=local` admit in ten seconds of flapping, next to its bound.

Redis is cut off and comes back after each 50 ms, 1 s and 10 s, for processes in three languages, 1 and 8 of them, each
with three clients. They call as fast as they can about one key with 10000/hour: Redis admits no more than that, and
each process by itself no more than that again. The table goes to target/bench-local/table.md. It takes some five
minutes; `tests/faults/test_local_bound.py` has a short form of it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

from programs import NODE, PHP, PYTHON
from proxy import Proxy
from servers import Server

ROOT = Path(__file__).resolve().parents[1]
WORKERS = ROOT / "bench" / "local_workers"
COMMANDS = {
    "PHP": [*PHP, str(WORKERS / "worker.php")],
    "Python": [*PYTHON, str(WORKERS / "worker.py")],
    "Node": [*NODE, str(WORKERS / "worker.mjs")],
}
LIMIT = 10_000
# The clients of a worker count as one.
PROCESSES = (1, 8)
FLAPS = (0.05, 1.0, 10.0)


@contextlib.contextmanager
def flapping(proxy: Proxy, period: float) -> Iterator[None]:
    """Cuts the proxy off for each second period of so many seconds, and begins with one that is."""
    over = threading.Event()

    def flap() -> None:
        while not over.is_set():
            proxy.faults.down = not proxy.faults.down
            if proxy.faults.down:
                proxy.hang_up()
            over.wait(period)

    thread = threading.Thread(target=flap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        proxy.faults.down = False


def admitted(server: Server, command: list[str], processes: int, period: float, seconds: float) -> Counter[str]:
    """What so many processes admit in so many seconds, by source."""
    server.command("FLUSHALL")
    with Proxy(server.port) as proxy, contextlib.ExitStack() as stack:
        words = [*command, proxy.url, f"{LIMIT}/hour", str(seconds)]
        workers = [
            stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(processes)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        with flapping(proxy, period):
            ends = [worker.communicate("go\n")[0] for worker in workers]
    return sum((Counter(json.loads(end)) for end in ends), Counter())


def bound(processes: int) -> int:
    """What they may admit: one allowance by Redis, and one by each process."""
    return LIMIT * (1 + processes)


def main() -> None:
    rows = ["| language | processes | down and up in turn, each for | allowed by Redis | by the processes | bound |"]
    rows.append("|---|---:|---:|---:|---:|---:|")
    with Server("redis-7.0") as server:
        for language, command in COMMANDS.items():
            for processes in PROCESSES:
                for period in FLAPS:
                    seconds = max(10.0, 2 * period)
                    counted = admitted(server, command, processes, period, seconds)
                    local = counted["local"]
                    others = sum(counted.values()) - local
                    assert local <= LIMIT * processes, counted
                    assert others <= LIMIT, counted
                    flap = f"{period * 1_000:,.0f} ms" if period < 1 else f"{period:,.0f} s"
                    figures = f"{others:,} | {local:,} | {bound(processes):,}"
                    rows.append(f"| {language} | {processes} | {flap} | {figures} |")
                    print(rows[-1], flush=True)
    target = ROOT / "target" / "bench-local"
    target.mkdir(parents=True, exist_ok=True)
    (target / "table.md").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
