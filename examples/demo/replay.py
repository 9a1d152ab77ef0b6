"""One service's share of the log, replayed in order: what the Python and the PHP service of act 3 have in common.

The first line of standard input holds `{"clients": [...], "batch": n, "tick": seconds}`. Once ready the service says
`ready`, and from a line `go` on it asks for the next `batch` clients every `tick` seconds, all of a batch at once. Each
answer is a line `client 1` (admitted) or `client 0` (denied).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

THREADS = 8


def replay(ask: Callable[[str], bool]) -> None:
    """Speaks the protocol above; `ask` tells whether a client is admitted and is called from several threads."""
    task = json.loads(sys.stdin.readline())
    clients, batch, tick = task["clients"], task["batch"], task["tick"]
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        for index in range(0, len(clients), batch):
            time.sleep(max(0.0, start + index / batch * tick - time.monotonic()))
            now = clients[index : index + batch]
            for client, admitted in zip(now, pool.map(ask, now), strict=True):
                print(client, int(admitted))
            sys.stdout.flush()
