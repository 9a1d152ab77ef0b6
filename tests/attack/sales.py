"""Sales against what the guide of stocks says: each is told as events, and its numbers are sums over them.

Times go forward, and fewer holds are open than one call returns, so what is over has returned whenever a call answers.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import quotalock
from quotalock import testing
from stories import START

DAY = 86_400_000_000
MOST_HOLDS = 12


@dataclass(frozen=True)
class Taken:
    """A hold, and what became of it: `held`, `confirmed` or `cancelled`, and when."""

    buyer: str
    quantity: int
    until: int
    what: str = "held"
    when: int = 0


class Sale:
    """The model of one sale."""

    def __init__(self, quantity: int, per_buyer: int | None, ends: int | None) -> None:
        self.quantity, self.per_buyer, self.ends = quantity, per_buyer, ends
        self.taken: dict[str, Taken] = {}
        self.requests: dict[tuple[str, str], tuple[int, str, int]] = {}
        self.restocks: dict[str, int] = {}

    def holds(self, now: int) -> dict[str, Taken]:
        """The holds that are not over."""
        return {name: one for name, one in self.taken.items() if one.what == "held" and now < one.until}

    def sold(self) -> list[Taken]:
        """What was confirmed."""
        return [one for one in self.taken.values() if one.what == "confirmed"]

    def status(self, now: int) -> dict[str, Any]:
        """The numbers of the sale."""
        holds, sold = list(self.holds(now).values()), self.sold()
        held, gone = sum(one.quantity for one in holds), sum(one.quantity for one in sold)
        return {
            "phase": "ended" if self.ends is not None and now >= self.ends else "open",
            "quantity": self.quantity,
            "available": self.quantity - held - gone,
            "held": held,
            "sold": gone,
            "buyers": len({one.buyer for one in holds + sold}),
            "per_buyer": self.per_buyer,
            "ends": None if self.ends is None else self.ends / 1e6,
        }

    def refusal(self, buyer: str, quantity: int, now: int) -> str | None:
        """Why a take is refused: the sale's end first, then the buyer's limit, then that there are not as many."""
        status = self.status(now)
        mine = sum(one.quantity for one in [*self.holds(now).values(), *self.sold()] if one.buyer == buyer)
        if status["phase"] == "ended":
            return "ended"
        if self.per_buyer is not None and mine + quantity > self.per_buyer:
            return "buyer_limit"
        return "sold_out" if quantity > status["available"] else None

    def settle(self, name: str, what: str, now: int) -> bool:
        """Confirms or cancels; the same again is true for a day."""
        one = self.taken[name]
        if one.what == what:
            return now < one.when + DAY
        if one.what != "held" or now >= one.until:
            return False
        self.taken[name] = replace(one, what=what, when=now)
        return True

    def extend(self, name: str, hold: int, now: int) -> bool:
        """Has a hold last longer; it never becomes shorter."""
        one = self.holds(now).get(name)
        if one:
            self.taken[name] = replace(one, until=max(one.until, now + hold))
        return one is not None


class Shop:
    """Tells sales to one server."""

    def __init__(self, url: str, prefix: str) -> None:
        self.client = quotalock.Client(url, prefix=prefix, timeout=30.0)
        self.seen: Counter[str] = Counter()

    def attack(self, seed: int) -> list[str]:
        """One sale; what went wrong, first what was done before it."""
        return Selling(self, seed).told()


class Selling:
    """One sale on its way."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self.shop, self.chance = shop, random.Random(seed)
        self.now = START
        self.stock = shop.client.stock(f"s{seed}")
        quantity = self.chance.choice((1, 2, 5, 20, 1_000, 2**52))
        per_buyer = self.chance.choice((None, None, 1, 2, 3))
        ends = START + self.chance.choice((10_000_000, 1_000_000_000)) if self.chance.random() < 0.3 else None
        self.sale = Sale(quantity, per_buyer, ends)
        self.done: list[str] = [f"open {quantity} per_buyer={per_buyer} ends={ends}"]

    def told(self) -> list[str]:
        """Sells by chance until something is wrong."""
        sale, client = self.sale, self.shop.client
        testing.set_time(client, self.now)
        if not self.stock.open(sale.quantity, sale.per_buyer, None if sale.ends is None else sale.ends / 1e6):
            return ["not opened"]
        for number in range(self.chance.randint(10, 60)):
            self.now += self.chance.choice(
                (0, 0, 1_000, 100_000, 1_000_000, 10_000_000, 60_000_000, 3_600_000_000, DAY)
            )
            testing.set_time(client, self.now)
            self.shop.seen["steps"] += 1
            op = self.chance.choices(
                (self.take, self.settle, self.extend, self.restock, self.status), (40, 30, 8, 5, 17)
            )[0]
            self.done.append(f"at {self.now} ")
            if wrong := op(f"n{number}"):
                return [f"{wrong}\n  " + "\n  ".join(self.done)]
        wrong = self.ledger()
        return [wrong] if wrong else []

    def take(self, name: str) -> str:
        """A take, maybe a repeated one."""
        chance, sale = self.chance, self.sale
        if len(sale.holds(self.now)) >= MOST_HOLDS:
            return ""
        buyer, quantity = chance.choice("abcd"), chance.choice((1, 1, 1, 2, 3))
        hold = chance.choice((1_000, 1_000_000, 10_000_000, 600_000_000))
        request = chance.choice((None, None, "p", "q", "r"))
        self.done[-1] += f"take {buyer} {quantity} hold={hold} request={request}"
        known = sale.requests.get((buyer, request)) if request else None
        real = self.stock.take(buyer, quantity, hold / 1e6, request)
        if known and self.now < known[0]:
            same = real.reservation and real.reservation.id == known[1] and real.available == known[2]
            return "" if same else f"a repeated request answers {real.outcome}, {real.available} available"
        refusal = sale.refusal(buyer, quantity, self.now)
        if real.outcome != (refusal or "held"):
            return f"take: the server says {real.outcome}, the model {refusal or 'held'}"
        if real.reservation:
            one = Taken(buyer, quantity, self.now + hold)
            shown = (real.reservation.buyer.decode(), real.reservation.quantity, real.reservation.until)
            if shown != (buyer, quantity, one.until / 1e6) or real.reservation.id in sale.taken:
                return f"take: the reservation is {shown}"
            sale.taken[real.reservation.id] = one
            if request:
                until = self.now + max(hold, 60_000_000)
                sale.requests[buyer, request] = (until, real.reservation.id, real.available)
        available = sale.status(self.now)["available"]
        return "" if real.available == available else f"take: {real.available} available, the model {available}"

    def settle(self, name: str) -> str:
        """A confirmation or a cancellation."""
        if not self.sale.taken:
            return ""
        one = self.chance.choice(list(self.sale.taken)[-8:])
        what = self.chance.choice(("confirmed", "confirmed", "cancelled"))
        self.done[-1] += f"{what} {one}"
        real = self.stock.confirm(one) if what == "confirmed" else self.stock.cancel(one)
        model = self.sale.settle(one, what, self.now)
        return "" if real is model else f"{what}: the server says {real}, the model {model}"

    def extend(self, name: str) -> str:
        """An extension."""
        if not self.sale.taken:
            return ""
        one, hold = self.chance.choice(list(self.sale.taken)[-8:]), self.chance.choice((1_000, 5_000_000, 600_000_000))
        self.done[-1] += f"extend {one} {hold}"
        real, model = self.stock.extend(one, hold / 1e6), self.sale.extend(one, hold, self.now)
        return "" if real is model else f"extend: the server says {real}, the model {model}"

    def restock(self, name: str) -> str:
        """More units, once for a request."""
        more, request = self.chance.choice((1, 5)), self.chance.choice((None, "d1"))
        if self.sale.quantity + more > 2**52:
            return ""
        self.done[-1] += f"restock {more} request={request}"
        if request and request in self.sale.restocks and self.now - START >= DAY:
            return ""
        real = self.stock.restock(more, request_id=request)
        if request not in self.sale.restocks:
            self.sale.quantity += more
            if request:
                self.sale.restocks[request] = self.sale.quantity
        model = self.sale.restocks[request] if request else self.sale.quantity
        return "" if real == model else f"restock: the server says {real}, the model {model}"

    def status(self, name: str) -> str:
        """All numbers, and the holds in the order in which they end."""
        self.done[-1] += "status"
        real = self.stock.status()
        model = self.sale.status(self.now)
        shown = {field: getattr(real, field) for field in model}
        if shown != model:
            return f"status: the server says {shown}, the model {model}"
        listed = [(one.id, one.quantity, one.until) for one in self.stock.reservations(count=100).reservations]
        holds = [(one, held.quantity, held.until / 1e6) for one, held in self.sale.holds(self.now).items()]
        if sorted(listed) != sorted(holds) or [one[2] for one in listed] != sorted(one[2] for one in listed):
            return f"reservations: the server says {listed}, the model {holds}"
        return ""

    def ledger(self) -> str:
        """Every change stands there, in order, and each leaves as many units as there are."""
        quantity = 0
        for number, entry in enumerate(self.stock.ledger(count=1_000), 1):
            quantity += entry.quantity if entry.kind in ("opened", "restocked") else 0
            if entry.number != number or entry.available + entry.held + entry.sold != quantity:
                return f"ledger: entry {entry.number} of kind {entry.kind} in place {number}, {quantity} units"
        return "" if quantity == self.sale.quantity else f"ledger: {quantity} units"
