"""Takers of every language, and what watches the sales meanwhile.

They are processes as in lock_load.py; `mix` is a list of stocks, `buyers` how many share them, `confirms` the part of
what is held that is sold, `baskets` the part of takes that are of 2 or 3 stocks at once. A taker picks stocks and a
buyer, takes 1 to 3 units of each with a request id of its own, asking again with it until it has an answer, and then
sells them, cancels, or forgets them; a basket as a whole. See sale_history.py.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from types import TracebackType

import quotalock
from lock_load import Command
from programs import NODE, PHP, PYTHON
from sale_history import Entry
from servers import ROOT

WORKERS = ROOT / "tests/harness/sale_worker"
LANGUAGES: dict[str, Command] = {
    "python": (4, [*PYTHON, str(WORKERS / "worker.py")]),
    "aio": (6, [*PYTHON, str(WORKERS / "worker.py")], "aio"),
    "php": (1, [*PHP, str(WORKERS / "worker.php")]),
    "node": (6, [*NODE, str(WORKERS / "worker.mjs")]),
}
LOOKS_EVERY = 0.01
QUIET = 0.3


class Watcher:
    """Looks at the sales all the time: `odd` is every look at which their units did not add up to `quantity`."""

    def __init__(self, url: str, prefix: str, names: Sequence[str], quantity: int) -> None:
        self.quantity = quantity
        self.client = quotalock.Client(url, prefix=prefix, timeout=0.5)
        self.stocks = {name: self.client.stock(name) for name in names}
        self.odd: list[str] = []
        self.looks = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def open(self, per_buyer: int) -> None:
        """Opens all sales."""
        for stock in self.stocks.values():
            assert stock.open(self.quantity, per_buyer=per_buyer)

    def look(self) -> int:
        """Looks at each sale, and answers how many units are held."""
        held = 0
        for name, stock in self.stocks.items():
            status = stock.status()
            held += status.held
            self.looks += 1
            if status.available + status.held + status.sold != self.quantity or status.quantity != self.quantity:
                self.odd.append(f"{name}: {status}")
        return held

    def ledgers(self) -> dict[str, list[Entry]]:
        """Reads all ledgers."""
        return {name: list(_entries(stock)) for name, stock in self.stocks.items()}

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(LOOKS_EVERY):
            with contextlib.suppress(quotalock.Unavailable, quotalock.Timeout):
                self.look()


def wait_for_the_end(watcher: Watcher, within: float) -> None:
    """Returns when nothing has been held for a while: takes of those who died may still be on their way."""
    give_up, quiet_since = time.monotonic() + within, time.monotonic()
    while time.monotonic() - quiet_since < QUIET:
        assert time.monotonic() < give_up
        if watcher.look():
            quiet_since = time.monotonic()
        time.sleep(0.01)


def _entries(stock: quotalock.Stock) -> list[Entry]:
    found: list[Entry] = []
    after = None
    while entries := stock.ledger(after, 1000):
        for each in entries:
            buyer = (each.buyer or b"").decode()
            numbers = (each.quantity, each.available, each.held, each.sold)
            found.append(Entry(each.number, each.kind, each.reservation or "", buyer, *numbers))
        after = entries[-1].id
    return found
