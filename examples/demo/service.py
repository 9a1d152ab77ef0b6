"""The Python service of act 3: `service.py REDIS_URL POLICY`."""

from __future__ import annotations

import sys

import quotalock
from replay import replay

if __name__ == "__main__":
    limiter = quotalock.Client(sys.argv[1]).limiter("clients", sys.argv[2])
    replay(lambda client: limiter.consume(client).allowed)
