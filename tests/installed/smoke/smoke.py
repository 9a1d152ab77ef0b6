"""A lock, a sale, a cache and a fork, with the package as it is installed: `smoke.py URL`."""

from __future__ import annotations

import os
import sys

import quotalock


def main(url: str) -> None:
    client = quotalock.Client(url, prefix=f"smoke{os.getpid()}", timeout=10.0)

    with client.lock("report", ttl=5.0) as lock:
        assert lock.token is not None
        assert not client.lock("report").acquire(), "two holders of one lock"

    sale = client.stock("seats")
    sale.open(1)
    taken = sale.take("ada")
    assert taken.reservation is not None
    assert sale.confirm(taken.reservation.id)
    assert sale.take("bob").outcome == "sold_out", "a seat was sold twice"

    pages = client.cache("pages", fresh=60.0)
    loads: list[str] = []

    def load() -> str:
        loads.append("Home")
        return "Home"

    for _ in range(2):
        assert pages.get("home", load) == b"Home"
    assert len(loads) == 1, "a fresh value was loaded again"

    limiter = client.limiter("logins", "3/minute")
    assert limiter.consume("ada").allowed
    child = os.fork()
    if child == 0:
        # The child has its own connection; memory:// is its own too.
        os._exit(0 if limiter.consume("ada").allowed else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the child of a fork was denied"
    left = limiter.peek("ada").remaining
    assert left == (2 if url.startswith("memory") else 1), f"{left} left after a fork"
    print(f"smoke passed on {url.partition(':')[0]}")


if __name__ == "__main__":
    main(sys.argv[1])
