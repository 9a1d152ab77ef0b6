"""What a process of `make bench ONLY=threads` does: `thread_workers.py URL THREADS SECONDS`.

Threads of one client each decide for a key of their own. It says when it is ready, and after a line of input prints the
number of decisions and the seconds that they took.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import quotalock

AT_ONCE = 50


def main() -> None:
    url, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    limiter = quotalock.Client(url, timeout=10.0).limiter("bench", "1000000000/h")
    counts = [0] * threads
    start = threading.Event()

    def work(place: int) -> None:
        key, count, consume = f"key {place}", 0, limiter.consume
        consume(key)
        start.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for _ in range(AT_ONCE):
                consume(key)
            count += AT_ONCE
        counts[place] = count

    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for worker in workers:
        worker.start()
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    start.set()
    for worker in workers:
        worker.join()
    print(json.dumps([sum(counts), time.perf_counter() - began]), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
