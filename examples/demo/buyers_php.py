"""Sends the buyers of act 4 to the PHP service, over HTTP: `buyers_php.py SHOP_URL`."""

from __future__ import annotations

import http.client
import sys
import threading
from urllib.parse import urlencode, urlsplit

from buyers import AwayError, Buyers

ADDRESS = urlsplit(sys.argv[1]).netloc
AWAY = 503
# nginx's answer when the worker did not live to give one.
KILLED = 502

kept = threading.local()


def ask(**query: object) -> tuple[int, str]:
    """Asks over the connection that this thread keeps."""
    if not hasattr(kept, "connection"):
        kept.connection = http.client.HTTPConnection(ADDRESS, timeout=10)
    kept.connection.request("GET", "/?" + urlencode(query))
    response = kept.connection.getresponse()
    return response.status, response.read().decode()


def take(buyer: str, hold: float) -> tuple[str, str]:
    """Takes a unit."""
    status, body = ask(buyer=buyer, hold=round(hold * 1000))
    if status == AWAY:
        raise AwayError
    outcome, _, reservation = expected(status, body).partition(" ")
    return outcome, reservation


def pay(buyer: str, reservation: str, dies: bool) -> str:
    """Pays for it, maybe at a worker that dies before it has confirmed."""
    status, body = ask(buyer=buyer, reservation=reservation, dies=int(dies))
    if status == AWAY:
        raise AwayError
    return "died" if status == KILLED and dies else expected(status, body)


def expected(status: int, body: str) -> str:
    """Raises for an answer that is none of the shop's."""
    if status != http.client.OK:
        raise RuntimeError(f"the PHP service answered {status}: {body[:500]!r}")
    return body.strip()


if __name__ == "__main__":
    Buyers(take, pay).run()
