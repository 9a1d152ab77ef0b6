"""What the guide to stocks says of a webhook, with the guide's own code: late, twice, and after crashes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import figures
import pytest
import quotalock
import redis


class CrashError(Exception):
    """The process ends here."""


@dataclass
class Order:
    id: int
    buyer: str
    reservation: str
    state: str = "open"


class Shop:
    """A shop's table of orders, and what the guide's code calls. It crashes where `crashes_at` says."""

    def __init__(self, client: quotalock.Client, url: str) -> None:
        self.sale = client.stock("sale:42")
        self.url = url
        self.orders: list[Order] = []
        self.place: tuple[str | None, int] = (None, 0)
        self.crashes_at = ""
        text = "".join(figures.HERE.joinpath(page).read_text() for page in ("stock.md", "stock-ledger.md"))
        python = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
        self.names: dict[str, Any] = {"sale": self.sale, "order": None, "pay": None}
        self.names |= {name: getattr(self, name) for name in ("replay", "is_done", "keep", "mark_sold", "refund")}
        self.names |= {"place_of": lambda sale: self.place, "commit": self.commit}
        (webhook,) = (code for code in python if "def on_paid" in code)
        (self.ledger,) = (code for code in python if "place_of" in code)
        # But for its last line, which calls it.
        exec(webhook.removesuffix("on_paid(order)\n"), self.names)

    def order(self, buyer: str, hold: float = 60.0) -> Order:
        taken = self.sale.take(buyer, hold=hold)
        assert taken.reservation is not None
        self.orders.append(Order(len(self.orders), buyer, taken.reservation.id))
        return self.orders[-1]

    def late_order(self, buyer: str) -> Order:
        order = self.order(buyer, hold=0.001)
        time.sleep(0.01)
        return order

    def webhook(self, order: Order, crashes_at: str = "") -> str:
        """Calls it, and answers what became of the order."""
        self.crashes_at = crashes_at
        if crashes_at:
            with pytest.raises(CrashError):
                self.names["on_paid"](order)
        else:
            self.names["on_paid"](order)
        return order.state

    def replay(self, sale: quotalock.Stock) -> None:
        exec(self.ledger, self.names)

    def commit(self, sale: quotalock.Stock, entry: str, number: int) -> None:
        self.place = (entry, number)

    def is_done(self, order: Order) -> bool:
        return order.state != "open"

    def keep(self, order: Order, reservation: str) -> None:
        self.reach("keep")
        order.reservation = reservation

    def mark_sold(self, reservation: str) -> None:
        self.reach("mark_sold")
        for order in self.orders:
            if order.reservation == reservation:
                order.state = "sold"

    def refund(self, order: Order) -> None:
        self.reach("refund")
        order.state = "paid back"

    def forget(self) -> None:
        """What Redis remembers of settled reservations and of requests is over."""
        with redis.Redis.from_url(self.url) as server:
            name = self.sale.redis_keys[0].decode()
            keys = [key for what in ("settled", "take") for key in server.scan_iter(f"{name}:{what}:*")]
            assert keys
            server.delete(*keys)

    def reach(self, point: str) -> None:
        if point == self.crashes_at:
            raise CrashError


@pytest.fixture
def shop(server_url: str) -> Iterator[Shop]:
    prefix = f"guide{time.monotonic_ns()}"
    with quotalock.Client(server_url, prefix=prefix, timeout=10.0) as client:
        shop = Shop(client, server_url)
        shop.sale.open(2, per_buyer=1)
        yield shop
        sold = sum(order.state == "sold" for order in shop.orders)
        assert shop.sale.status().sold == sold


def test_one_that_comes_twice_sells_once(shop: Shop) -> None:
    order = shop.order("ann")
    assert [shop.webhook(order) for _ in range(2)] == ["sold", "sold"]


def test_an_order_that_a_crash_lost_is_not_paid_back_when_nobody_remembers(shop: Shop) -> None:
    order = shop.order("ann")
    assert shop.webhook(order, crashes_at="mark_sold") == "open"
    shop.forget()
    assert shop.webhook(order) == "sold"


@pytest.mark.parametrize("crashes_at", ["", "keep", "mark_sold"])
def test_one_that_comes_late_gets_another_unit(shop: Shop, crashes_at: str) -> None:
    order = shop.late_order("ann")
    if crashes_at:
        shop.webhook(order, crashes_at)
    assert shop.webhook(order) == "sold"
    shop.forget()
    assert shop.webhook(order) == "sold"
    assert shop.sale.status().available == 1


def test_who_is_paid_back_is_sold_nothing_later(shop: Shop) -> None:
    order = shop.late_order("ann")
    others = [shop.sale.take(buyer).reservation for buyer in ("bob", "cem")]
    assert shop.webhook(order, crashes_at="refund") == "open"
    assert shop.webhook(order) == "paid back"
    for other in others:
        assert other is not None
        shop.sale.cancel(other.id)
    assert shop.webhook(order) == "paid back"
