"""Stocks as a Python programmer sees them, on both faces."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from typing import Any

import pytest
import quotalock
from quotalock import aio
from surface import Surface, fresh_memory


def test_a_sale_from_its_opening_to_its_end(surface: Surface, client: Any) -> None:
    call, before = surface.call, time.time()
    sale = client.stock("sale:42")
    assert call(sale.take, "ada").outcome == call(sale.status).phase == "not_open"
    assert call(sale.open, 5, 2) is True
    assert call(sale.open, 5, per_buyer=2) is False
    taken = call(sale.take, "ada", 2, 60.0)
    assert taken
    assert (taken.outcome, taken.available) == ("held", 3)
    held = taken.reservation
    assert (held.quantity, held.buyer, held.prizes) == (2, b"ada", ())
    assert before + 59 < held.until < time.time() + 61
    refused = call(sale.take, b"ada")
    assert not refused
    assert (refused.outcome, refused.reservation, refused.available) == ("buyer_limit", None, 3)
    assert call(sale.extend, held.id, 120.0) is True
    page = call(sale.reservations)
    assert [listed.id for listed in page.reservations] == [held.id]
    assert page.reservations[0].until > held.until + 30
    assert page.next is None
    assert call(sale.confirm, held.id) is True
    assert call(sale.confirm, held.id) is True
    assert call(sale.cancel, held.id) is False
    other = call(sale.take, "bob").reservation
    assert call(sale.cancel, other.id) is True
    assert call(sale.restock, 3) == 8
    status = call(sale.status)
    assert (status.phase, status.quantity, status.available, status.held, status.sold) == ("open", 8, 6, 0, 2)
    assert (status.buyers, status.per_buyer, status.ends) == (1, 2, None)
    ledger = call(sale.ledger)
    kinds = ["opened", "held", "extended", "confirmed", "held", "cancelled", "restocked"]
    assert [entry.kind for entry in ledger] == kinds
    assert [entry.number for entry in ledger] == list(range(1, 8))
    assert [entry.buyer for entry in ledger[:2]] == [None, b"ada"]
    assert (ledger[1].reservation, ledger[1].quantity, ledger[1].available, ledger[1].held) == (held.id, 2, 3, 2)
    assert all(before - 1 < entry.time < time.time() + 1 for entry in ledger)
    assert [entry.number for entry in call(sale.ledger, ledger[4].id, 1)] == [6]


def test_pages_follow_one_another(surface: Surface, client: Any) -> None:
    sale = client.stock(b"sale\xff")
    surface.call(sale.open, 10)
    ids = [surface.call(sale.take, f"buyer:{n}", hold=60.0 + n).reservation.id for n in range(5)]
    first = surface.call(sale.reservations, count=2)
    second = surface.call(sale.reservations, first.next, 2)
    third = surface.call(sale.reservations, cursor=second.next, count=2)
    assert [held.id for page in (first, second, third) for held in page.reservations] == ids
    assert third.next is None


def test_prizes_go_out_once(surface: Surface, client: Any) -> None:
    sale = client.stock("coupons")
    assert surface.call(sale.open, 2, prizes=["first", b"\xff"])
    taken = surface.call(sale.take, "ada", 2)
    assert taken.reservation.prizes == (b"first", b"\xff")
    assert surface.call(sale.restock, 1, (code for code in ["third"]), "delivery:1") == 3
    assert surface.call(sale.restock, 1, ["third"], request_id="delivery:1") == 3
    assert surface.call(sale.take, "bob").reservation.prizes == (b"third",)
    entries = surface.call(sale.ledger)
    assert [entry.prizes for entry in entries if entry.kind == "held"] == [(b"first", b"\xff"), (b"third",)]


def test_a_request_takes_once(surface: Surface, client: Any) -> None:
    sale = client.stock("sale:42")
    surface.call(sale.open, 5)
    first = surface.call(sale.take, "ada", 2, request_id="order:1")
    again = surface.call(sale.take, "ada", 2, request_id=b"order:1")
    assert first.reservation == again.reservation
    assert surface.call(sale.take, "bob", 2, request_id="order:1").reservation != first.reservation
    assert surface.call(sale.status).held == 4


def test_a_basket_is_taken_whole_or_not_at_all(surface: Surface, client: Any) -> None:
    call = surface.call
    shirts, hats = client.stock("shirts", "shop"), client.stock("hats", scope="shop")
    call(shirts.open, 5)
    call(hats.open, 1)
    taken = call(client.take_all, [(shirts, 2), (hats, 1)], "ada", 60.0, "order:1")
    assert taken
    assert (taken.outcome, taken.refused, taken.available) == ("held", None, (3, 0))
    assert [held.quantity for held in taken.reservations] == [2, 1]
    assert call(client.take_all, [(hats, 1), (shirts, 2)], "ada", request_id="order:1").reservations == tuple(
        reversed(taken.reservations)
    )
    refused = call(client.take_all, ((stock, 1) for stock in (shirts, hats)), b"bob")
    assert not refused
    assert (refused.outcome, refused.refused, refused.reservations) == ("sold_out", 1, ())
    basket = list(zip((shirts, hats), [held.id for held in taken.reservations], strict=True))
    assert call(client.extend_all, basket, 120.0) is True
    assert call(client.extend_all, basket) is True
    assert call(client.confirm_all, basket) is True
    assert call(client.cancel_all, basket) is False
    assert (call(shirts.status).sold, call(hats.status).sold) == (2, 1)


def test_what_is_over_returns(surface: Surface, client: Any) -> None:
    sale = client.stock("sale:42")
    surface.call(sale.open, 1)
    first = surface.call(sale.take, "ada").reservation
    assert surface.call(sale.take, "bob").outcome == "sold_out"
    assert surface.call(sale.cancel, first.id) is True
    held = surface.call(sale.take, "ada", hold=0.05).reservation
    time.sleep(0.1)
    assert surface.call(sale.confirm, held.id) is False
    assert surface.call(sale.extend, held.id) is False
    assert surface.call(sale.take, "bob").outcome == "held"


def test_a_sale_ends(surface: Surface, client: Any) -> None:
    sale = client.stock("sale:42")
    ends = 1_700_000_060.0
    surface.call(surface.testing.set_time, client, 1_700_000_000_000_000)
    surface.call(sale.open, 2, ends=ends)
    held = surface.call(sale.take, "ada").reservation
    assert surface.call(sale.status).ends == ends
    surface.call(surface.testing.set_time, client, 1_700_000_060_000_000)
    assert surface.call(sale.take, "bob").outcome == surface.call(sale.status).phase == "ended"
    assert surface.call(sale.confirm, held.id) is True


def test_what_can_never_be_right_is_refused(surface: Surface, client: Any) -> None:
    call, sale, other = surface.call, client.stock("sale:42"), client.stock("other")
    call(sale.open, 5, 2)
    call(other.open, 5)
    foreign = call(other.take, "ada").reservation.id
    elsewhere = surface.module.Client(fresh_memory()).stock("sale:42")
    pair = client.take_all
    refused: list[tuple[str, Any, tuple[Any, ...]]] = [
        ("name", client.stock, ("",)),
        ("name", client.stock, ("n" * 1025,)),
        ("scope", client.stock, ("n", "")),
        ("ledger_cap", client.stock, ("n", None, 1)),
        ("retention", client.stock, ("n", None, 1_000, 1.0)),
        ("quantity 0", sale.open, (0,)),
        ("quantity -1", sale.open, (-1,)),
        ("quantity 1.5", sale.open, (1.5,)),
        ("quantity True", sale.open, (True,)),
        ("5", sale.open, (6, 2)),
        ("per_buyer", sale.open, (5,)),
        ("per_buyer 0", sale.open, (5, 0)),
        ("ends", sale.open, (5, 2, math.nan)),
        ("prizes", sale.open, (5, 2, None, ["one"])),
        ("prize 1", sale.open, (1, 2, None, ["p" * 1025])),
        ("quantity 0", sale.restock, (0,)),
        ("quantity 0", sale.take, ("ada", 0)),
        ("quantity -1", sale.take, ("ada", -1)),
        ("buyer", sale.take, ("",)),
        ("2048 bytes", sale.take, ("b" * 2048,)),
        ("hold", sale.take, ("ada", 1, 0.0001)),
        ("hold", sale.take, ("ada", 1, 31 * 86_400.0)),
        ("hold", sale.take, ("ada", 1, "long")),
        ("request_id", sale.take, ("ada", 1, 1.0, "")),
        ("", sale.confirm, (foreign,)),
        ("", sale.cancel, ("nonsense",)),
        ("", sale.extend, ("", 1.0)),
        ("count 0", sale.reservations, (None, 0)),
        ("count 1001", sale.ledger, (None, 1001)),
        ("after", sale.ledger, ("nonsense",)),
        ("", sale.reservations, ("nonsense",)),
        ("no stock", pair, ([], "ada")),
        ("twice", pair, ([(sale, 1), (sale, 1)], "ada")),
        ("another client", pair, ([(elsewhere, 1)], "ada")),
        ("no reservation", client.confirm_all, ([],)),
        ("twice", client.cancel_all, ([(other, foreign)] * 2,)),
    ]
    for said, method, arguments in refused:
        with pytest.raises(quotalock.InvalidArgument) as caught:
            call(method, *arguments)
        assert said in str(caught.value), caught.value
    status = call(sale.status)
    assert (status.quantity, status.held) == (5, 0)


@pytest.mark.parametrize("name", [42, None, bytearray(b"k"), ["k"]])
def test_a_name_or_buyer_of_another_type_is_a_type_error(surface: Surface, name: Any) -> None:
    client = surface.module.Client(fresh_memory())
    with pytest.raises(TypeError, match="give a str or bytes"):
        client.stock(name)
    with pytest.raises(TypeError, match="give a str or bytes"):
        surface.call(client.stock("s").take, name)


@pytest.mark.parametrize("takes", [42, None, "ab", [42], [("sale", 1)], [()], [("a", 1, 2)]])
def test_what_is_no_basket_is_a_type_error(surface: Surface, takes: Any) -> None:
    client = surface.module.Client(fresh_memory())
    with pytest.raises(TypeError, match="tuples"):
        surface.call(client.take_all, takes, "ada")
    with pytest.raises(TypeError, match="tuples"):
        surface.call(client.confirm_all, takes)


def test_more_of_what_is_no_basket(surface: Surface) -> None:
    client = surface.module.Client(fresh_memory())
    sale = client.stock("s")
    with pytest.raises(TypeError, match="give a str"):
        surface.call(client.confirm_all, [(sale, 42)])
    with pytest.raises(TypeError, match="prizes"):
        surface.call(sale.open, 2, prizes="ab")
    with pytest.raises(TypeError, match="prize"):
        surface.call(sale.open, 1, prizes=[42])


def test_names_and_keys_are_as_given(surface: Surface) -> None:
    client = surface.module.Client(fresh_memory())
    sale = client.stock("sale:ł", b"shop")
    assert (sale.name, sale.scope) == ("sale:ł", b"shop")
    whole = "ql:stock:{shop}:{sale:ł}".encode()
    assert sale.redis_keys == (whole, whole + b":holds", whole + b":ledger")
    assert client.stock("s").scope is None


def test_they_read_as_what_they_say(surface: Surface) -> None:
    module = "quotalock" if surface.name == "python" else "quotalock.aio"
    client = surface.module.Client(fresh_memory())
    surface.call(surface.testing.set_time, client, 1_700_000_000_000_000)
    sale = client.stock("sale")
    assert repr(sale) == f"<{module}.Stock 'sale'>"
    surface.call(sale.open, 2, prizes=["a", "b"])
    taken = surface.call(sale.take, "ada", hold=60)
    held = taken.reservation
    shown = f"StockReservation(id='{held.id}', quantity=1, buyer=b'ada', prizes=(b'a',), until=1700000060.0)"
    assert repr(held) == shown
    assert repr(taken) == f"Taken(outcome='held', reservation={shown}, available=1)"
    assert repr(surface.call(sale.reservations)) == f"StockPage(reservations=({shown},), next=None)"
    assert repr(surface.call(sale.status)) == (
        "StockStatus(phase='open', quantity=2, available=1, held=1, sold=0, buyers=1, per_buyer=None, ends=None)"
    )
    refused = surface.call(client.take_all, [(sale, 3)], "bob")
    assert repr(refused) == "TakenAll(outcome='sold_out', refused=0, reservations=(), available=(1,))"
    entry = surface.call(sale.ledger, count=1)[0]
    assert repr(entry) == (
        f"LedgerEntry(id='{entry.id}', number=1, kind='opened', reservation=None, buyer=None, quantity=2, "
        "time=1700000000.0, available=2, held=0, sold=0, prizes=())"
    )
    assert entry == surface.call(sale.ledger)[0]
    assert taken != refused


def test_what_is_wrong_in_redis_has_its_class(surface: Surface, url: str, prefix: str) -> None:
    client = surface.module.Client(url, prefix=prefix, timeout=10.0, on_error="open")
    sale = client.stock("sale")
    surface.call(surface.testing.put, client, sale.redis_keys[0], "list", "x")
    with pytest.raises(quotalock.WrongType):
        surface.call(sale.take, "ada")
    surface.call(client.close)
    with pytest.raises(quotalock.Closed):
        surface.call(sale.take, "ada")
    with pytest.raises(quotalock.Unavailable):
        surface.call(surface.module.Client("redis://127.0.0.1:1", on_error="open").stock("sale").take, "ada")


def test_never_more_is_taken_than_there_is(store_url: str, prefix: str) -> None:
    client = quotalock.Client(store_url, prefix=prefix, timeout=10.0)
    sale = client.stock("sale")
    sale.open(100, per_buyer=3)
    held: list[Any] = []

    def buy(number: int) -> None:
        taken = [sale.take(f"buyer:{number}:{n // 4}") for n in range(20)]
        held.extend(each.reservation for each in taken if each)

    threads = [threading.Thread(target=buy, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Eight threads with five buyers each, who get three: 120 are wanted.
    assert len({each.id for each in held}) == len(held) == 100
    assert all(sale.confirm(each.id) for each in held)
    status = sale.status()
    assert (status.sold, status.held, status.available) == (100, 0, 0)


def test_never_more_is_taken_on_a_loop(store_url: str, prefix: str) -> None:
    async def body() -> None:
        async with aio.Client(store_url, prefix=prefix, timeout=10.0) as client:
            sale = client.stock("sale")
            await sale.open(100)
            taken = await asyncio.gather(*(sale.take(f"buyer:{n}") for n in range(200)))
            held = [each.reservation for each in taken if each.reservation]
            assert len({each.id for each in held}) == len(held) == 100
            assert all(await asyncio.gather(*(sale.confirm(each.id) for each in held)))
            assert (await sale.status()).sold == 100

    asyncio.run(body())
