#!/usr/bin/env python3
"""A shop at work on a Redis, for the page to show: `shop.py URL SECONDS [BUYERS UNITS]`.

It opens a sale and sells, slowly enough to be watched. With few buyers its limiter denies most calls. A process holds a
lock for so many seconds, and two others wait for it. The shop works until it is killed.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from typing import Any

from quotalock import Client

UNITS = 4000
BUYERS = 40
WAITERS = 2


def buy(client: Client, buyers: int) -> None:
    """Buyers who come again and again: the limiter admits some, and of those most pay."""
    checkout = client.limiter("checkout", "3/10s")
    sale = client.stock("sneaker-42")
    chance = random.Random()
    while True:
        buyer = f"user:{chance.randrange(buyers)}"
        if checkout.consume(buyer):
            taken = sale.take(buyer, 1, hold=30.0)
            if taken.reservation is not None and chance.random() < 0.7:
                sale.confirm(taken.reservation.id)
        time.sleep(0.04)


def search(client: Client) -> None:
    """Calls that are nearly all admitted, and a cache in front of what they find."""
    searches = client.limiter("search", "sliding-window 400/10s")
    prices = client.cache("prices", fresh=2.0, stale=10.0)
    while True:
        searches.consume("shop")
        prices.get("sneaker-42", lambda: b"99")
        time.sleep(0.03)


def hold(client: Client, label: str, seconds: float, told: int | None = None) -> None:
    """Waits for the lock, tells those who are to wait for it, then holds it for long."""
    with client.lock("invoices", label=label, wait=3600.0):
        if told is not None:
            os.write(told, bytes(WAITERS))
        time.sleep(seconds)


def main(url: str, seconds: float, buyers: int = BUYERS, units: int = UNITS) -> None:
    """Opens the sale, and lets everybody work. Who waits for the lock is a process of its own."""
    label = "night run"
    shop = os.getpid()
    hear, told = os.pipe()
    for _ in range(WAITERS):
        if os.fork() == 0:
            # Who waits comes when the first holds it, however long that takes; or hears that the shop has ended.
            os.close(told)
            os.read(hear, 1)
            work = (Client(url, timeout=10.0, report=True), "day run", seconds)
            threading.Thread(target=hold, args=work, daemon=True).start()
            # Nobody is left behind by a shop that is killed.
            while os.getppid() == shop:
                time.sleep(0.1)
            os._exit(0)
    client = Client(url, timeout=10.0, report=True)
    client.stock("sneaker-42").open(units, per_buyer=200)
    buying: tuple[Any, ...] = (buy, (client, buyers))
    for work, arguments in ((hold, (client, label, seconds, told)), buying, buying, (search, (client,))):
        threading.Thread(target=work, args=arguments, daemon=True).start()
    print("open", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), *map(int, sys.argv[3:]))
