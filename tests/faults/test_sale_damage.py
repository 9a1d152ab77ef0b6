"""What is left of a sale by whatever else writes or deletes its keys does no harm to others, and mends itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import quotalock
from proxy import Faults, Proxy
from quotalock import testing
from servers import Server

START = 1_700_000_000
HOLD = 600


class Shop:
    """A sale in a time of its own, whose keys somebody deletes."""

    def __init__(self, server: Server, client: quotalock.Client) -> None:
        self.server, self.client = server, client
        self.stock = client.stock("sale")
        self.hash, self.holds, self.ledger = (key.decode() for key in self.stock.redis_keys)
        self.at(0)

    def at(self, seconds: float) -> None:
        """Sets the time, counted from the first."""
        testing.set_time(self.client, int((START + seconds) * 1_000_000))

    def held(self, buyer: str, quantity: int = 1) -> quotalock.StockReservation:
        """Takes units that there are."""
        reservation = self.stock.take(buyer, quantity, HOLD).reservation
        assert reservation is not None
        return reservation

    def numbers(self) -> tuple[int, int, int]:
        """How many are available, held, sold."""
        status = self.stock.status()
        return status.available, status.held, status.sold

    def kinds(self) -> list[tuple[int, str]]:
        """What the ledger keeps."""
        return [(entry.number, entry.kind) for entry in self.stock.ledger()]

    def keeps_for_ever(self) -> list[str]:
        """Its keys without a TTL."""
        keys = (self.hash, self.holds, self.ledger)
        return [key for key in keys if self.server.command("PTTL", key) == "-1"]


@pytest.fixture
def shop() -> Iterator[Shop]:
    with Server("redis-7.0") as server, quotalock.Client(server.url, timeout=10.0) as client:
        yield Shop(server, client)


def test_a_damaged_sale_does_not_keep_redis_busy() -> None:
    with Server("redis-7.0") as server, quotalock.Client(server.url, timeout=10.0) as client:
        stock = client.stock("sale")
        stock.open(1)
        # As the script writes it, but for its time, which lies after all that a hold may end at.
        number = "\0" * 8
        state = "QS\1\0" + number * 9 + "\0" * 7 + "\x7f" + number * 4
        server.command("HSET", stock.redis_keys[0].decode(), "", state)
        assert stock.take("buyer").outcome == "sold_out"


def test_the_prizes_of_deleted_holds_return(shop: Shop) -> None:
    stock = shop.stock
    stock.open(6, prizes=["A", "B", "C", "D", "E", "F"])
    lost, sold, cancelled = shop.held("ann", 2), shop.held("bob"), shop.held("cem")
    assert stock.confirm(sold.id)
    assert stock.cancel(cancelled.id)
    shop.server.command("DEL", shop.holds)
    assert not stock.confirm(lost.id)
    # Others go on; their holds are not taken for lost ones.
    shop.at(HOLD / 2)
    other = shop.held("dee", 2)
    shop.at(HOLD)
    assert shop.numbers() == (1, 4, 1)
    assert stock.confirm(other.id)
    assert other.prizes == (b"E", b"F")
    shop.at(2 * HOLD)
    assert shop.numbers() == (3, 0, 3)
    expired = stock.ledger()[-1]
    assert (expired.kind, expired.quantity, expired.reservation, expired.buyer) == ("expired", 2, None, None)
    rest = shop.held("eve", 3)
    assert sorted(rest.prizes) == [b"A", b"B", b"D"]
    assert stock.take("fay").outcome == "sold_out"
    assert shop.keeps_for_ever() == []


def test_the_prizes_of_many_deleted_holds_return(shop: Shop) -> None:
    """More than a hash keeps in one piece, and than one look at it shows."""
    count = 3000
    shop.stock.open(count, prizes=[f"prize {n}" for n in range(count)])
    for n in range(count):
        shop.held(f"buyer {n}")
    shop.server.command("DEL", shop.holds)
    shop.at(HOLD)
    assert shop.numbers() == (count, 0, 0)
    drawn = [prize for n in range(3) for prize in shop.held(f"other {n}", 1000).prizes]
    assert sorted(drawn) == sorted(f"prize {n}".encode() for n in range(count))


def test_deleted_holds_and_ledgers_have_a_ttl_again(shop: Shop) -> None:
    stock = shop.stock
    stock.open(10, per_buyer=1)
    shop.held("ann")
    shop.at(1)
    shop.held("bob")
    shop.server.command("DEL", shop.holds, shop.ledger)
    last = shop.held("cem")
    # Whoever reads the ledger sees by the numbers that some are gone.
    assert shop.kinds() == [(4, "held")]
    stock.extend(last.id, 3 * HOLD)
    shop.at(HOLD)
    assert shop.numbers() == (7, 3, 0)
    assert shop.keeps_for_ever() == []
    shop.at(4 * HOLD)
    assert shop.numbers() == (10, 0, 0)
    # Whose the lost ones were, nobody knows.
    assert [stock.take(buyer).outcome for buyer in ("ann", "bob", "cem")] == ["buyer_limit", "buyer_limit", "held"]


def test_a_deleted_sale_is_not_open_and_its_ledger_goes_on(shop: Shop) -> None:
    stock = shop.stock
    stock.open(3)
    held = shop.held("ann")
    last = stock.ledger()[-1].id
    shop.server.command("DEL", shop.hash)
    assert stock.take("bob").outcome == stock.status().phase == "not_open"
    assert not stock.confirm(held.id)
    with pytest.raises(quotalock.InvalidArgument, match="not open"):
        stock.close()
    assert stock.open(3)
    assert shop.numbers() == (3, 0, 0)
    assert [(entry.number, entry.kind) for entry in stock.ledger(last)] == [(1, "opened")]
    assert stock.reservations().reservations == ()


def test_scripts_that_the_server_forgot_are_sent_again(shop: Shop) -> None:
    shop.stock.open(1)
    held = shop.held("ann")
    shop.server.command("SCRIPT", "FLUSH")
    assert shop.stock.confirm(held.id)
    assert shop.numbers() == (0, 0, 1)


def test_a_closed_sale_is_kept_for_no_longer_than_its_memory_and_its_holds(shop: Shop) -> None:
    day = 86_400
    stock = shop.client.stock("sale", retention=day)
    stock.open(3, ends=START + 300 * day)
    held = stock.take("ann", hold=2 * day).reservation
    assert stock.close()
    for key in (shop.hash, shop.holds, shop.ledger):
        assert abs(int(shop.server.command("PTTL", key)) / 1000 - 3 * day) < 60
    assert held is not None
    assert stock.confirm(held.id)
    assert shop.keeps_for_ever() == []


@pytest.mark.parametrize("call", ["confirm", "cancel", "restock", "take", "close"])
def test_what_is_asked_again_is_remembered_for_that_long(call: str) -> None:
    """However short the memory for requests is, and however late the second try."""
    with Server("redis-7.0") as server, Proxy(server.port) as proxy:
        client = quotalock.Client(proxy.url, timeout=5.0, request_memory=0.001)
        calls: dict[str, Callable[[quotalock.Stock, str], object]] = {
            "confirm": lambda stock, id: stock.confirm(id),
            "cancel": lambda stock, id: stock.cancel(id),
            "restock": lambda stock, id: stock.restock(2) == 7,
            "take": lambda stock, id: stock.take("bob", request_id="r") and stock.status().held == 2,
            "close": lambda stock, id: stock.close(),
        }
        # The first time the script is not there yet.
        for lose in (0, 1):
            stock = client.stock(f"sale:{lose}")
            stock.open(5)
            held = stock.take("ann").reservation
            assert held is not None
            proxy.faults = Faults(lose=1.0, at_most=lose, late=0.05)
            assert calls[call](stock, held.id)
            proxy.faults = Faults()
        assert proxy.counts.lost == 1
        client.close()


def test_what_others_put_into_a_sale_does_no_harm(shop: Shop) -> None:
    """Members that are no holds, counts that are no numbers, prizes that are none, entries of other programs."""
    stock, server = shop.stock, shop.server
    stock.open(6, per_buyer=2, prizes=["A", "B", "C", "D", "E", "F"])
    held, kept = shop.held("ann"), shop.held("bob")
    for score, member in (("-inf", "old"), ("1", "x" * 24), ("1.5", "y" * 40), ("+inf", "new"), ("1e300", "z" * 30)):
        server.command("ZADD", shop.holds, score, member)
    for field, value in (
        ("bann", "many"), ("bcem", "-7"), ("bdee", "1.5"), ("beve", "inf"), ("bfay", ""), ("x", "y"), ("g", "?"),
        ("o", "?"), ("c", "?"),
    ):  # fmt: skip
        server.command("HSET", shop.hash, field, value)
    for fields in (("e", "?"), ("x", "y"), ("e", "x" * 80), ("e", "x" * 80, "p", "\x09")):
        server.command("XADD", shop.ledger, "*", *fields)
    assert {reservation.id for reservation in stock.reservations().reservations} == {held.id, kept.id}
    assert [entry.kind for entry in stock.ledger()] == ["opened", "held", "held"]
    assert [entry.kind for entry in stock.ledger(count=1)] == ["opened"]
    assert not stock.open(6, per_buyer=2, prizes=["A", "B", "C", "D", "E", "F"])
    assert stock.cancel(held.id)
    others = [shop.held(buyer) for buyer in ("cem", "dee", "eve", "fay")]
    assert shop.numbers() == (1, 5, 0)
    assert stock.confirm(kept.id)
    assert stock.extend(others[0].id, 2 * HOLD)
    shop.at(HOLD)
    assert stock.close()
    shop.at(2 * HOLD)
    assert shop.numbers() == (5, 0, 1)
    kinds = [entry.kind for entry in stock.ledger()]
    assert sorted(kinds[3:]) == ["cancelled", "closed", "confirmed", *["expired"] * 4, "extended", *["held"] * 4]
    assert shop.keeps_for_ever() == []


def test_no_call_about_large_prizes_keeps_redis_long(shop: Shop) -> None:
    """What returns, is listed or is read at once is bounded by its prizes, and goes on with the next call."""
    stock, client, server = shop.stock, shop.client, shop.server
    prizes = [f"{n:08}" for n in range(10_000)]
    stock.open(10_000, prizes=prizes)
    held = [shop.held(f"buyer:{n}", 1000) for n in range(10)]
    for call in (client.cancel_all, client.confirm_all):
        with pytest.raises(quotalock.InvalidArgument, match="more than 2000 prizes"):
            call([(stock, each.id) for each in held])
    assert shop.numbers() == (0, 10_000, 0)
    listed, cursor = [], None
    while True:
        page = stock.reservations(cursor, count=1000)
        listed += [each.id for each in page.reservations]
        assert sum(len(each.prizes) for each in page.reservations) <= 3000
        if (cursor := page.next) is None:
            break
    assert sorted(listed) == sorted(each.id for each in held)
    assert client.cancel_all([(stock, each.id) for each in held[:2]])
    shop.at(HOLD)
    # Two holds of a thousand at each call, however much is due.
    for left in (6000, 4000, 2000, 0):
        server.called()
        assert shop.numbers() == (10_000 - left, left, 0)
        assert server.called()["hset"] < 50
    other = client.stock("other")
    other.open(1000, prizes=prizes[:1000])
    with pytest.raises(quotalock.InvalidArgument, match="at most 1000 units with prizes"):
        client.take_all([(stock, 600), (other, 600)], "ann")
    assert client.take_all([(stock, 500), (other, 500)], "ann").outcome == "held"
    # A ledger with a megabyte in each entry is read in pieces.
    wide = client.stock("wide")
    wide.open(4000, prizes=["x" * 1000 + f"{n:04}" for n in range(4000)])
    for n in range(4):
        wide.take(f"buyer:{n}", 1000)
    kinds, last = [], None
    while entries := wide.ledger(last, 1000):
        assert len(entries) <= 3
        kinds += [entry.kind for entry in entries]
        last = entries[-1].id
    assert kinds == ["opened", *["held"] * 4]


def test_a_basket_of_a_hundred_sales_ends_few_holds_of_each(shop: Shop) -> None:
    client, server = shop.client, shop.server
    stocks = [client.stock(f"sale:{n}") for n in range(100)]
    for stock in stocks:
        stock.open(17)
        for buyer in range(17):
            stock.take(f"buyer:{buyer}", hold=HOLD)
    shop.at(HOLD)
    server.called()
    assert client.take_all([(stock, 2) for stock in stocks], "ann").outcome == "held"
    # What ended of each, and what was taken.
    assert server.called()["xadd"] == 300
