"""Sends the PHP service its share of act 3 over HTTP: `through_php.py SHOP_URL`."""

from __future__ import annotations

import http.client
import sys
import threading
from urllib.parse import quote, urlsplit

from replay import replay

ADDRESS = urlsplit(sys.argv[1]).netloc
ANSWERS = {200: True, 429: False}

kept = threading.local()


def ask(client: str) -> bool:
    """Asks over the connection that this thread keeps; an answer that is neither 200 nor 429 raises."""
    if not hasattr(kept, "connection"):
        kept.connection = http.client.HTTPConnection(ADDRESS, timeout=10)
    kept.connection.request("GET", "/?client=" + quote(client))
    response = kept.connection.getresponse()
    body = response.read()
    if response.status not in ANSWERS:
        raise RuntimeError(f"the PHP service answered {response.status}: {body[:500]!r}")
    return ANSWERS[response.status]


if __name__ == "__main__":
    replay(ask)
