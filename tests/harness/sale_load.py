"""Takers of every language, and what watches the sales meanwhile.

They are callers of a load as in lock_load.py, whose `mix` is a list of stocks. A taker picks stocks and a buyer, takes
1 to 3 units of each with a request id of its own, asking again with it until it has an answer, and then sells them,
cancels, or forgets them; a basket as a whole. See sale_history.py.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import quotalock
from lock_history import Record
from lock_load import Caller
from sale_history import Entry
from workers import Answer

# How many takers a process has.
LANES = {"python": 4, "aio": 6, "php": 1, "node": 6}
# How many buyers share them, which part of what is held is sold, and which of the takes are of 2 or 3 stocks at once.
BUYERS, CONFIRMS, BASKETS = 8, 0.08, 0.25
LOOKS_EVERY = 0.01
QUIET = 0.3


class Taker(Caller):
    """Takes and settles units at random."""

    def run(self) -> None:
        """Takes for ever."""
        for request in itertools.count():
            self._buy(f"{self.proc} {self.lane} {request}")

    def _buy(self, request: str) -> None:
        """Takes units once, of one stock or of several; then sells them, lets them go, or forgets them."""
        several = self.luck.random() < BASKETS
        names = self.luck.sample(self.load.mix, self.luck.randint(2, 3) if several else 1)
        buyer, hold_ms = f"buyer {self.luck.randrange(BUYERS)}", self.luck.randint(20, 300)
        quantities = [self.luck.randint(1, 3) for _ in names]
        kind, suffix = ("client", "_all") if several else ("stock", "")
        record = {"proc": self.proc, "stocks": names, "buyer": buyer, "request": request}
        what: Answer = {"takes": list(zip(names, quantities, strict=True))} if several else {"quantity": quantities[0]}
        what |= {"buyer": buyer, "hold_ms": hold_ms, "request_id": request}
        taking = {**record, "op": f"take{suffix}"}
        self.load.write({**taking, "outcome": "begun"})
        held = self._answered(taking, f"{kind}.take{suffix}", names[0], what)
        if not held:
            return
        time.sleep(self.luck.choice([0.0, self.luck.uniform(0, hold_ms), hold_ms]) / 1000)
        if self.luck.random() < 0.1:
            self._answered(taking, f"{kind}.take{suffix}", names[0], what)
        how = self.luck.random()
        verb = "confirm" if how < CONFIRMS else "cancel" if how < 0.6 else None
        if verb:
            settling = {**record, "op": f"{verb}{suffix}", "reservations": held}
            given: Answer = {"reservations": list(zip(names, held, strict=True))} if several else {"id": held[0]}
            self._answered(settling, f"{kind}.{verb}{suffix}", names[0], given)

    def _answered(self, record: Record, op: str, name: str, given: Answer) -> list[str]:
        """Calls until there is an answer, writes down each, and answers which reservations there are."""
        while True:
            answer: Any = self.ask(op, "" if op.startswith("client") else name, {}, {}, **given)
            if "error" in answer:
                self.load.write({**record, "outcome": answer["error"]})
                time.sleep(0.01)
                continue
            result = answer["result"]
            if isinstance(result, bool):
                self.load.write({**record, "outcome": str(result).lower()})
                return []
            held = result["reservations"] if "reservations" in result else [result["reservation"]]
            ids = [each["id"] for each in held if each]
            self.load.write({**record, "outcome": result["outcome"], "reservations": ids})
            return ids


class Watcher:
    """Looks at the sales all the time: `odd` is every look at which their units did not add up to `quantity`."""

    def __init__(self, url: str, prefix: str, names: Sequence[str], quantity: int) -> None:
        self.quantity = quantity
        self.client = quotalock.Client(url, prefix=prefix, timeout=10.0)
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
