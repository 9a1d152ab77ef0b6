"""Writes the orders of act 4 into the shop's database, from the ledger: `bookkeeper.py REDIS_URL STOCK DATABASE`.

It does so again and again until its input ends, and then once more. Killed, it goes on where it was.
"""

from __future__ import annotations

import contextlib
import select
import sqlite3
import sys
from pathlib import Path

import quotalock
from needs import ROOT

sys.path.insert(0, str(ROOT / "examples/python"))

from ledger import Shop

EVERY = 0.2


def main() -> None:
    """Replays until it is told to end."""
    url, name, database = sys.argv[1:]
    stock = quotalock.Client(url).stock(name)
    shop = Shop(sqlite3.connect(Path(database)))
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], EVERY)[0]:
        with contextlib.suppress(quotalock.Unavailable, quotalock.Timeout):
            shop.replay(stock)
    shop.replay(stock)


if __name__ == "__main__":
    main()
