"""The ledger's example, against SQLite and PostgreSQL: what a crash lost is written again, and nothing twice."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
import quotalock
from guides import patient_example
from needs import ROOT
from postgres import Postgres

sys.path.insert(0, str(ROOT / "examples/python"))

import ledger

PRINTED = """\
after the crash: ann of 2 sold
the replay writes 1 order: ann bob
again: 0 missing: ann bob dee
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres() as running:
        yield running


# The sale has one name: each has a database of Redis of its own.
def test_it_writes_what_was_lost_into_sqlite(server_url: str) -> None:
    assert run(f"{server_url}/1", "") == PRINTED


def test_it_runs_without_a_server() -> None:
    assert run("memory://", "") == PRINTED


def test_it_writes_what_was_lost_into_postgresql(server_url: str, postgres: Postgres) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS orders, replayed")
    assert run(f"{server_url}/2", postgres.url) == PRINTED


def test_a_replay_that_is_interrupted_goes_on_where_it_was() -> None:
    stock = sold_out(7)
    shop = ledger.Shop(sqlite3.connect(":memory:"))
    assert shop.replay_page(stock, 5) == 2  # opened, and two that were held and confirmed
    crash = sqlite3.IntegrityError
    shop.connection.execute("CREATE TRIGGER crash BEFORE UPDATE ON replayed BEGIN SELECT RAISE(FAIL, 'crash'); END")
    with pytest.raises(crash, match="crash"):
        shop.replay(stock)
    # Neither the orders nor the place in the ledger.
    assert count(shop) == 2
    shop.connection.execute("DROP TRIGGER crash")
    assert shop.replay(stock) == 5
    assert count(shop) == 7
    assert shop.replay(stock) == 0


def test_a_replay_from_the_start_changes_nothing() -> None:
    stock = sold_out(3)
    shop = ledger.Shop(sqlite3.connect(":memory:"))
    assert shop.replay(stock) == 3
    shop.connection.execute("DELETE FROM replayed")
    assert shop.replay(stock) == 0
    assert count(shop) == 3


def test_entries_that_the_cap_took_away_are_told() -> None:
    stock = sold_out(3)
    shop = ledger.Shop(sqlite3.connect(":memory:"))
    shop.replay(stock)
    shop.connection.execute("UPDATE replayed SET number = number - 2")
    stock.restock(1)
    with pytest.raises(LookupError, match="took entries 6 to 7 away"):
        shop.replay(stock)


def sold_out(quantity: int) -> quotalock.Stock:
    stock = quotalock.Client("memory://ledger").stock("sale:42")
    stock.open(quantity)
    for number in range(quantity):
        reservation = stock.take(f"buyer {number}").reservation
        assert reservation is not None
        assert stock.confirm(reservation.id)
    return stock


def count(shop: ledger.Shop) -> int:
    number: int = shop.run("SELECT count(*) FROM orders").fetchone()[0]
    return number


def run(url: str, database: str) -> str:
    done = subprocess.run(
        [sys.executable, str(patient_example("python/ledger.py"))],
        env=os.environ | {"QUOTALOCK_URL": url, "DATABASE": database},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
