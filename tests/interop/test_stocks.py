"""What a buyer takes in one language is confirmed, cancelled and extended in another, and seen by all."""

from __future__ import annotations

import time
from itertools import permutations
from typing import Any

import pytest
from crew import Crew, done
from workers import Answer

REQUEST = b"\x00\xff {1}"
BUYER = b"\xff\x00 \xc5\x82 {buyer}"
SCOPE = {"scope": "{shop} ł"}


def held(crew: Crew, name: str, options: Answer | None = None) -> Any:
    """The reservations that every language lists."""
    return crew.all_find("stock.reservations", name, options)["reservations"]


def test_what_one_takes_another_settles(crew: Crew) -> None:
    for one, other in permutations(crew, 2):
        x, y, sale = crew[one], crew[other], f"sale ł {one} {other}"
        prizes = [b"\xff\x00", *(f"code ł {n}" for n in range(1, 7))]
        assert done(x, "stock.open", sale, quantity=7, per_buyer=5, prizes=prizes) is True
        assert done(y, "stock.open", sale, quantity=7, per_buyer=5, prizes=prizes) is False
        first = done(x, "stock.take", sale, buyer=BUYER, quantity=2, hold_ms=60_000)["reservation"]
        assert (first["quantity"], first["buyer"]) == (2, BUYER.hex())
        assert first["prizes"] == ["ff00", "code ł 1".encode().hex()]
        second = done(y, "stock.take", sale, buyer=BUYER, hold_ms=70_000)["reservation"]
        third = done(x, "stock.take", sale, buyer="ada", quantity=3, hold_ms=80_000)["reservation"]
        assert held(crew, sale) == [first, second, third]
        # What the one holds counts for the other.
        assert done(y, "stock.take", sale, buyer=BUYER, quantity=3)["outcome"] == "buyer_limit"
        assert done(y, "stock.take", sale, buyer="bob", quantity=2)["outcome"] == "sold_out"
        assert done(y, "stock.extend", sale, id=first["id"], hold_ms=600_000) is True
        extended = held(crew, sale)
        assert [each["id"] for each in extended] == [second["id"], third["id"], first["id"]]
        assert extended[2]["until_ms"] > first["until_ms"] + 500_000
        assert done(y, "stock.confirm", sale, id=first["id"]) is True
        assert done(y, "stock.cancel", sale, id=third["id"]) is True
        for worker in crew.values():
            assert done(worker, "stock.confirm", sale, id=first["id"]) is True
            assert done(worker, "stock.cancel", sale, id=first["id"]) is False
            assert done(worker, "stock.extend", sale, id=third["id"], hold_ms=60_000) is False
        assert held(crew, sale) == [second]
        status = crew.all_find("stock.status", sale)
        assert [status[each] for each in ("available", "held", "sold", "buyers")] == [4, 1, 2, 1]
        entries = crew.all_find("stock.ledger", sale)
        assert [entry["kind"] for entry in entries] == ["opened", *["held"] * 3, "extended", "confirmed", "cancelled"]
        assert [entry["reservation"] for entry in entries[4:]] == [first["id"], first["id"], third["id"]]


def test_a_request_is_the_same_from_every_language(crew: Crew) -> None:
    for one, other in permutations(crew, 2):
        x, y, sale = crew[one], crew[other], f"sale {one} {other}"
        done(x, "stock.open", sale, quantity=5)
        first = done(x, "stock.take", sale, buyer=BUYER, quantity=2, request_id=REQUEST, hold_ms=60_000)
        again = done(y, "stock.take", sale, buyer=BUYER, quantity=2, request_id=REQUEST, hold_ms=90_000)
        assert again["reservation"] == first["reservation"]
        assert crew.all_find("stock.status", sale)["held"] == 2
        assert done(y, "stock.take", sale, buyer="ada", quantity=2, request_id=REQUEST)["outcome"] == "held"


def test_what_one_lets_expire_another_takes(crew: Crew) -> None:
    for one, other in permutations(crew, 2):
        sale = f"sale {one} {other}"
        done(crew[one], "stock.open", sale, quantity=1, prizes=["code"])
        held = done(crew[one], "stock.take", sale, buyer=one, hold_ms=60_000)["reservation"]
        assert done(crew[other], "stock.take", sale, buyer=other)["outcome"] == "sold_out"
        assert done(crew[one], "stock.cancel", sale, id=held["id"]) is True
        done(crew[one], "stock.take", sale, buyer=one, hold_ms=50)
    time.sleep(0.05)
    for one, other in permutations(crew, 2):
        sale = f"sale {one} {other}"
        taken = done(crew[other], "stock.take", sale, buyer=other)["reservation"]
        assert (taken["buyer"], taken["prizes"]) == (other.encode().hex(), [b"code".hex()])
        kinds = [entry["kind"] for entry in crew.all_find("stock.ledger", sale)]
        assert kinds == ["opened", "held", "cancelled", "held", "expired", "held"]


@pytest.mark.parametrize(("settle", "numbers"), [("confirm_all", [4, 0, 1]), ("cancel_all", [5, 0, 0])])
def test_a_basket_is_seen_and_settled_by_the_others(crew: Crew, settle: str, numbers: list[int]) -> None:
    for one, other in permutations(crew, 2):
        x, y = crew[one], crew[other]
        shirts, hats = f"shirts {one} {other}", f"hats {one} {other}"
        for name in (shirts, hats):
            done(x, "stock.open", name, SCOPE, quantity=5)
        takes: Any = [[shirts, 2], [hats, 1]]
        request: dict[str, Any] = {"request_id": "order 1", "hold_ms": 60_000}
        basket = done(x, "client.take_all", options=SCOPE, takes=takes, buyer=BUYER, **request)
        assert (basket["outcome"], basket["refused"], basket["available"]) == ("held", None, [3, 4])
        again = done(y, "client.take_all", options=SCOPE, takes=takes, buyer=BUYER, **request)
        assert again["reservations"] == basket["reservations"]
        refused = done(y, "client.take_all", options=SCOPE, takes=[[shirts, 1], [hats, 5]], buyer=BUYER)
        assert (refused["outcome"], refused["refused"], refused["reservations"]) == ("sold_out", 1, [])
        seen = [held(crew, name, SCOPE) for name in (shirts, hats)]
        assert seen == [[each] for each in basket["reservations"]]
        ids = [[name, each["id"]] for name, each in zip((shirts, hats), basket["reservations"], strict=True)]
        assert done(y, "client.extend_all", options=SCOPE, reservations=ids, hold_ms=600_000) is True
        assert held(crew, hats, SCOPE)[0]["until_ms"] == held(crew, shirts, SCOPE)[0]["until_ms"]
        assert done(y, f"client.{settle}", options=SCOPE, reservations=ids) is True
        assert done(x, f"client.{settle}", options=SCOPE, reservations=ids) is True
        status = crew.all_find("stock.status", hats, SCOPE)
        assert [status[each] for each in ("available", "held", "sold")] == numbers
