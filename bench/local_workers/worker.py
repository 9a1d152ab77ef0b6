"""Consumes one key in Python while Redis comes and goes: `worker.py URL POLICY SECONDS`.

Prints what was admitted, by source.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter

import quotalock

url, policy, seconds = sys.argv[1:]
# Several clients, which count as one process.
clients = [quotalock.Client(url, timeout=0.5, on_error="local") for _ in range(3)]
limiters = [client.limiter("flaps", policy) for client in clients]
print("ready", flush=True)
sys.stdin.readline()
admitted: Counter[str] = Counter()
end = time.monotonic() + float(seconds)
while time.monotonic() < end:
    for limiter in limiters:
        decision = limiter.consume("k")
        admitted[decision.source] += decision.allowed
print(json.dumps(admitted), flush=True)
