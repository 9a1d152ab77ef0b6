"""A write that comes too late, since its holder was stopped past its ttl: the database refuses it by the fencing token.

The database is SQLite in memory, or PostgreSQL if DATABASE has its address. Redis: QUOTALOCK_URL.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from typing import Any

import psycopg
import quotalock

# The whole guard: a column for the largest token seen, and a condition. Who changes no row came too late.
GUARDED = "UPDATE stock SET price = :price, fence = :token WHERE id = :id AND fence < :token"


def main() -> None:
    address = os.environ.get("DATABASE")
    db = Database(psycopg.connect(address, autocommit=True) if address else sqlite3.connect(":memory:"))
    db.run("CREATE TEMPORARY TABLE stock (id VARCHAR(64) PRIMARY KEY, price INT, fence BIGINT NOT NULL DEFAULT 0)")
    db.run("INSERT INTO stock (id, price) VALUES (:id, 100)", id="sku:42")

    client = quotalock.Client()
    # A process that is stopped renews nothing. This one is only asleep, so it is told not to.
    first = client.lock("sku:42", ttl=0.3, renew=False)
    second = client.lock("sku:42", wait=5.0)

    if not first.acquire():
        raise SystemExit("somebody else holds it")
    first.assert_held()
    print("the first makes sure that it holds the lock, and is stopped before it writes")
    time.sleep(0.4)  # a collection of garbage, a virtual machine that is moved, the lid of a laptop

    with second:
        print("the second holds it:", db.set_price(120, second.token))
        print("the first goes on:", db.set_price(90, first.token))
    print("the first knows:", first.state)

    # The database may have seen a larger token than Redis gives: of a server whose clock was ahead by a minute.
    db.run("UPDATE stock SET fence = fence + 60000000")
    with second:
        print("the second again:", db.set_price(130, second.token))
        second.raise_floor(db.run("SELECT fence FROM stock").fetchone()[0])
    with second:
        print("above the floor:", db.set_price(130, second.token))
    print("price:", db.run("SELECT price FROM stock").fetchone()[0])


class Database:
    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def set_price(self, price: int, token: int | None) -> str:
        changed = self.run(GUARDED, price=price, token=token, id="sku:42").rowcount
        return f"{price} written" if changed else f"{price} refused"

    def run(self, statement: str, **values: object) -> Any:
        if isinstance(self.connection, psycopg.Connection):
            # It has another way to write a parameter.
            statement = re.sub(r":(\w+)", r"%(\1)s", statement)
        return self.connection.execute(statement, values)


main()
