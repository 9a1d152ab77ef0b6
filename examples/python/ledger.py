"""Orders that a crash between Redis and the shop's database lost, written from the ledger of the sale.

A reservation's id is the order's primary key, so an entry that is replayed again changes nothing; the id of the last
entry is kept in the same transaction as the orders, so a replay that is interrupted goes on where it was.

The database is SQLite in memory, or PostgreSQL if DATABASE has its address. Redis: QUOTALOCK_URL.
"""

from __future__ import annotations

import os
import re
import sqlite3
from typing import Any

import quotalock

ORDERS = "CREATE TABLE IF NOT EXISTS orders (reservation TEXT PRIMARY KEY, buyer TEXT, quantity BIGINT)"
REPLAYED = "CREATE TABLE IF NOT EXISTS replayed (sale VARCHAR(200) PRIMARY KEY, entry TEXT, number BIGINT)"
ORDER = "INSERT INTO orders VALUES (:reservation, :buyer, :quantity) ON CONFLICT DO NOTHING"
READ = "SELECT entry, number FROM replayed WHERE sale = :sale"
KEEP = """
INSERT INTO replayed VALUES (:sale, :entry, :number)
ON CONFLICT (sale) DO UPDATE SET entry = excluded.entry, number = excluded.number
"""


class Shop:
    """The shop's database; `connection` commits when it is told to."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        for table in (ORDERS, REPLAYED):
            self.run(table)
        connection.commit()

    def order(self, reservation: str | None, buyer: bytes | None, quantity: int) -> int:
        """Writes an order, and answers how many that were: 0 if it is there already."""
        written = self.run(ORDER, reservation=reservation, buyer=(buyer or b"").decode(), quantity=quantity)
        return int(written.rowcount)

    def replay(self, stock: quotalock.Stock, count: int = 1000) -> int:
        """Writes the orders of all that was sold since the last replay, and answers how many were missing."""
        missing = 0
        while (wrote := self.replay_page(stock, count)) is not None:
            missing += wrote
        return missing

    def replay_page(self, stock: quotalock.Stock, count: int) -> int | None:
        """Does so for the next `count` entries, in one transaction; None if there are no more."""
        try:
            last, number = self.run(READ, sale=stock.name).fetchone() or (None, 0)
            entries = stock.ledger(last, count)
            if not entries:
                return None
            # A sale that was opened anew begins with number 1 again.
            if entries[0].number not in (number + 1, 1):
                raise LookupError(f"the ledger's cap took entries {number + 1} to {entries[0].number - 1} away")
            sold = [entry for entry in entries if entry.kind == "confirmed"]
            missing = sum(self.order(entry.reservation, entry.buyer, entry.quantity) for entry in sold)
            self.run(KEEP, sale=stock.name, entry=entries[-1].id, number=entries[-1].number)
            self.connection.commit()
            return missing
        finally:
            # Whatever was not committed; after an error, or having read only.
            self.connection.rollback()

    def run(self, statement: str, **values: object) -> Any:
        if not isinstance(self.connection, sqlite3.Connection):
            # psycopg has another way to write a parameter.
            statement = re.sub(r":(\w+)", r"%(\1)s", statement)
        return self.connection.execute(statement, values)


def main() -> None:
    stock = quotalock.Client().stock("sale:42")
    stock.open(3, per_buyer=2)
    shop = Shop(connect(os.environ.get("DATABASE")))

    sell(stock, shop, "ann")
    sell(stock, shop, "bob", crashes=True)
    left = stock.take("cem", hold=60.0).reservation
    assert left is not None
    stock.cancel(left.id)
    print("after the crash:", buyers(shop), "of", stock.status().sold, "sold")

    print("the replay writes", shop.replay(stock), "order:", buyers(shop))
    sell(stock, shop, "dee")
    print("again:", shop.replay(stock), "missing:", buyers(shop))


def sell(stock: quotalock.Stock, shop: Shop, buyer: str, *, crashes: bool = False) -> None:
    taken = stock.take(buyer, hold=60.0)
    # The buyer pays.
    if taken.reservation is None or not stock.confirm(taken.reservation.id):
        raise SystemExit(f"nothing for {buyer}: {taken.outcome}")
    if not crashes:  # ... here the unit is sold, and nobody has written the order
        shop.order(taken.reservation.id, buyer.encode(), 1)
        shop.connection.commit()


def buyers(shop: Shop) -> str:
    names = " ".join(name for (name,) in shop.run("SELECT buyer FROM orders ORDER BY buyer").fetchall())
    shop.connection.rollback()
    return names


def connect(address: str | None) -> Any:
    if address is None or not address:
        return sqlite3.connect(":memory:")
    import psycopg

    return psycopg.connect(address)


if __name__ == "__main__":
    main()
