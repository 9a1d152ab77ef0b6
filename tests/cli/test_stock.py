"""`stock`: where a sale stands."""

from __future__ import annotations

import time

from console import Console


def test_a_sale_in_numbers_and_words(everywhere: Console) -> None:
    stock = everywhere.client.stock("sale:42")
    stock.open(100, per_buyer=5, ends=time.time() + 3_600)
    sold = stock.take("user:1", 3, hold=600.0).reservation
    assert sold
    stock.confirm(sold.id)
    stock.take("user:2", 2, hold=600.0)
    stock.take("user\x1b:3", 1, hold=300.0)
    told = everywhere.json("stock", "sale:42")
    assert (told["state"], told["quantity"], told["available"], told["held"], told["sold"]) == ("open", 100, 94, 3, 3)
    assert (told["buyers"], told["per_buyer"]) == (3, 5)
    assert 3_500_000 < told["ends_in_ms"] <= 3_600_000
    assert [(one["buyer"], one["quantity"]) for one in told["reservations"]] == [("user\x1b:3", 1), ("user:2", 2)]
    assert 200_000 < told["reservations"][0]["left_ms"] <= 300_000
    said = everywhere.says("stock", "sale:42")
    assert "94 of 100 available, 3 held, 3 sold" in said
    assert "1 held for user\\u{1b}:3" in said
    # Whoever knows a reservation's id can confirm it.
    assert sold.id not in said
    assert everywhere.json("stock", "sale:42", "--reservations", "1")["more_reservations"] is True


def test_a_sale_that_is_over_or_never_was(console: Console) -> None:
    assert console.json("stock", "none")["state"] == "not_open"
    stock = console.client.stock("sale", scope="shop")
    stock.open(1)
    stock.close()
    assert console.json("stock", "sale")["state"] == "not_open"
    assert console.json("stock", "sale", "--scope", "shop")["state"] == "ended"
    assert console.says("stock", "sale", "--scope", "shop").startswith("stock sale: ended ")


def test_another_type_of_redis_is_told(console: Console) -> None:
    console.redis.set(f"{console.prefix}:stock:{{sale}}", "1", px=60_000)
    ended = console.run("stock", "sale")
    assert ended.returncode == 1
    assert "another Redis type" in ended.stderr


def test_wrong_usage(console: Console) -> None:
    for words in (("stock", ""), ("stock", "x", "--reservations", "0"), ("stock", "x" * 1025)):
        assert console.run(*words).returncode == 2
