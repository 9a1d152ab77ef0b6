"""`python3 bench/partition.py [ROUNDS]`: how long clients need to follow a promotion while the old primary is cut off.

A primary is cut off from the other servers of its cluster, but not from its clients. A client in each of three
languages calls one of its keys all the time. The table shows how long after the promotion of the replica the first
call succeeds, counted from when the new primary reports that the cluster is ok. 20 rounds (default) on Redis and
Valkey take four minutes.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "harness"))

from cluster import Cluster
from cluster_node import Node
from member import until
from workers import Worker

SERVERS = ("redis-7.0", "valkey-9.1")
# Those of Python call on a thread and on an event loop.
LANGUAGES = ("python", "aio", "php", "node")
TIMEOUT_MS = 2000
PLENTY = "1000000/1h"


class Caller(threading.Thread):
    """Calls without a pause until it is stopped, and notes when calls succeeded, and what the others came to."""

    def __init__(self, worker: Worker, url: str, key: str) -> None:
        super().__init__(daemon=True)
        self.worker, self.key, self.over = worker, key, threading.Event()
        self.succeeded: list[int] = []
        self.failed: list[int] = []
        made = worker.client(url, prefix="partition", timeout_ms=TIMEOUT_MS)
        assert "error" not in made, made

    def run(self) -> None:
        """Calls, and looks at nothing else."""
        while not self.over.is_set():
            answer = self.worker.ask("consume", limiter=self.worker.name, policy=PLENTY, key=self.key, cost=1)
            (self.failed if "error" in answer else self.succeeded).append(answer["ok_ns"])
            time.sleep(0.001)

    def first_after(self, moment: int) -> int | None:
        """The time of the first success after a moment."""
        return next((at for at in self.succeeded if at > moment), None)


def state(node: Node) -> str:
    """What a server says of its cluster."""
    return node.info("cluster")["cluster_state"]


def one_round(name: str, workers: list[Worker]) -> dict[str, tuple[float, int]]:
    """For each language: milliseconds to the first success, and how many calls failed after the promotion."""
    with Cluster(name, replicas=3, parted=True) as cluster:
        old = cluster.primaries()[0]
        (new,) = cluster.replicas_of(old)
        key = next(f"k{n}" for n in range(100) if cluster.owner_of(f"k{n}") is old)
        callers = [Caller(worker, cluster.url, key) for worker in workers]
        for caller in callers:
            caller.start()
        until(lambda: all(caller.succeeded for caller in callers), "not all clients succeed", lambda: "")
        cluster.cut(old)
        cluster.wait_until_promoted(new)
        until(lambda: state(new) == "ok", "the replica does not serve", lambda: new.info("cluster"))
        promoted = time.monotonic_ns()
        until(lambda: all(caller.first_after(promoted) for caller in callers), "not all clients follow", lambda: "")
        for caller in callers:
            caller.over.set()
        for caller in callers:
            caller.join()
        found = {}
        for caller in callers:
            first = caller.first_after(promoted)
            assert first is not None
            failed = sum(promoted < at for at in caller.failed)
            found[caller.worker.name] = ((first - promoted) / 1e6, failed)
        return found


def main(rounds: int) -> None:
    """Plays the rounds and prints the table."""
    print("| server | language | median ms | longest ms | calls that failed after the promotion |")
    print("|---|---|---:|---:|---:|")
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(language)) for language in LANGUAGES]
        for name in SERVERS:
            found = [one_round(name, workers) for _ in range(rounds)]
            for language in LANGUAGES:
                times = [one[language][0] for one in found]
                failed = sum(one[language][1] for one in found)
                figures = f"{statistics.median(times):.1f} | {max(times):.1f} | {failed}"
                print(f"| {name} | {language} | {figures} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
