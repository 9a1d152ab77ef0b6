"""Wherever a text may be given, one without a UTF-8 form is refused by an error with a code; what was given as a URL
or prefix is in no message."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
import quotalock
from surface import Surface

LONE = "\ud800"
POLICY = "5/hour"
SECRET = "hush-hush"

Made = Callable[[Any], Any]

REFUSED: dict[str, Made] = {
    "on_error": lambda to: to.client("memory://", on_error=LONE),
    "limiter": lambda to: to.own.limiter(LONE, POLICY),
    "scope": lambda to: to.own.limiter("api", POLICY, LONE),
    "policy": lambda to: to.own.limiter("api", LONE),
    "algorithm": lambda to: quotalock.Rule(1, 1.0, LONE),
    "key": lambda to: to.call(to.api.consume, LONE),
    "request_id": lambda to: to.call(to.api.consume, "k", 1, LONE),
    "up_to": lambda to: to.call(to.api.consume_up_to, LONE, 1),
    "peek": lambda to: to.call(to.api.peek, LONE),
    "require": lambda to: to.call(to.api.require, LONE),
    "wait": lambda to: to.call(to.api.wait, LONE, 1.0),
    "refund": lambda to: to.call(to.api.refund, LONE, 1),
    "refund_id": lambda to: to.call(to.api.refund, "k", 1, LONE),
    "block": lambda to: to.call(to.api.block, LONE, 1.0),
    "reset": lambda to: to.call(to.api.reset, LONE),
    "redis_key": lambda to: to.api.redis_key(LONE),
    "reserve": lambda to: to.call(to.api.reserve, LONE, 1, 1.0),
    "unsettled": lambda to: to.call(to.api.reserve, "k", 1, 1.0, LONE),
    "reservation": lambda to: to.api.reservation(LONE, "0" * 32),
    "reservation_id": lambda to: to.api.reservation("k", LONE),
    "charge": lambda to: to.call(to.own.consume_all, [(to.api, LONE)]),
    "charge_id": lambda to: to.call(to.own.consume_all, [(to.api, "k")], LONE),
    "lock": lambda to: to.own.lock(LONE),
    "lock_all": lambda to: to.own.lock_all(["a", LONE]),
    "semaphore": lambda to: to.own.semaphore(LONE, 1),
    "read_lock": lambda to: to.own.read_lock(LONE),
    "write_lock": lambda to: to.own.write_lock(LONE),
    "quorum_lock": lambda to: to.module.quorum_lock(to.three, LONE),
    "quorum_label": lambda to: to.module.quorum_lock(to.three, "q", label=LONE),
    "label": lambda to: to.own.lock("a", label=LONE),
    "label_of_all": lambda to: to.own.lock_all(["a"], label=LONE),
    "label_of_a_semaphore": lambda to: to.own.semaphore("a", 1, label=LONE),
    "label_of_a_reader": lambda to: to.own.read_lock("a", label=LONE),
    "label_of_a_writer": lambda to: to.own.write_lock("a", label=LONE),
    "stock": lambda to: to.own.stock(LONE),
    "stock_scope": lambda to: to.own.stock("sale", LONE),
    "prize": lambda to: to.call(to.sale.open, 1, None, None, [LONE]),
    "restock": lambda to: to.call(to.sale.restock, 1, [LONE]),
    "restock_id": lambda to: to.call(to.sale.restock, 1, None, LONE),
    "buyer": lambda to: to.call(to.sale.take, LONE),
    "take_id": lambda to: to.call(to.sale.take, "b", 1, 1.0, LONE),
    "confirm": lambda to: to.call(to.sale.confirm, LONE),
    "cancel": lambda to: to.call(to.sale.cancel, LONE),
    "extend": lambda to: to.call(to.sale.extend, LONE),
    "cursor": lambda to: to.call(to.sale.reservations, LONE),
    "after": lambda to: to.call(to.sale.ledger, LONE),
    "buyer_of_all": lambda to: to.call(to.own.take_all, [(to.sale, 1)], LONE),
    "take_all_id": lambda to: to.call(to.own.take_all, [(to.sale, 1)], "b", 1.0, LONE),
    "confirm_all": lambda to: to.call(to.own.confirm_all, [(to.sale, LONE)]),
    "cancel_all": lambda to: to.call(to.own.cancel_all, [(to.sale, LONE)]),
    "extend_all": lambda to: to.call(to.own.extend_all, [(to.sale, LONE)]),
    "once": lambda to: to.own.once(LONE),
    "claim": lambda to: to.call(to.orders.claim, LONE),
    "claim_value": lambda to: to.call(to.orders.claim, "id", LONE),
    "release": lambda to: to.call(to.orders.release, LONE),
    "run": lambda to: to.call(to.orders.run, LONE, str),
    "result": lambda to: to.call(to.orders.run, "id", lambda: LONE),
    "once_key": lambda to: to.orders.redis_key(LONE),
    "cache": lambda to: to.own.cache(LONE),
    "when_away": lambda to: to.own.cache("pages", when_away=LONE),
    "get": lambda to: to.call(to.pages.get, LONE, str),
    "loaded": lambda to: to.call(to.pages.get, "k", lambda: LONE),
    "get_many": lambda to: to.call(to.pages.get_many, [LONE], dict),
    "loaded_many": lambda to: to.call(to.pages.get_many, ["k"], lambda _: {"k": LONE}),
    "get_json": lambda to: to.call(to.pages.get_json, LONE, str),
    "loaded_json": lambda to: to.call(to.pages.get_json, "k", lambda: {"deep": [LONE]}),
    "peek_of_a_cache": lambda to: to.call(to.pages.peek, LONE),
    "put": lambda to: to.call(to.pages.put, LONE, "v"),
    "put_value": lambda to: to.call(to.pages.put, "k", LONE),
    "invalidate": lambda to: to.call(to.pages.invalidate, LONE),
    "cache_key": lambda to: to.pages.redis_key(LONE),
    "limit": lambda to: to.call(to.module.limit, LONE, "k", POLICY),
    "limit_key": lambda to: to.call(to.module.limit, "api", LONE, POLICY),
    "limit_policy": lambda to: to.call(to.module.limit, "api", "k", LONE),
    "raw_key": lambda to: to.call(to.testing.get, to.own, LONE),
    "raw_put": lambda to: to.call(to.testing.put, to.own, LONE, "string", "v"),
    "raw_kind": lambda to: to.call(to.testing.put, to.own, "k", LONE, "v"),
    "raw_value": lambda to: to.call(to.testing.put, to.own, "k", "string", LONE),
}


class To:
    """What calls are made to."""

    def __init__(self, surface: Surface) -> None:
        self.call, self.module, self.testing = surface.call, surface.module, surface.testing
        self.client = surface.module.Client
        self.own = self.client(f"memory://{uuid.uuid4()}")
        self.three = [self.client(f"redis://127.0.0.1:{port}") for port in (1, 2, 3)]
        self.api, self.sale = self.own.limiter("api", POLICY), self.own.stock("sale")
        self.orders, self.pages = self.own.once("orders"), self.own.cache("pages")


@pytest.mark.parametrize("what", REFUSED)
def test_a_text_without_a_utf8_form_is_refused(surface: Surface, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUOTALOCK_URL", "memory://")
    with pytest.raises(quotalock.InvalidArgument):
        REFUSED[what](To(surface))


@pytest.mark.parametrize(
    "given", [f"redis://:{SECRET}@host/{LONE}", {"host": "h", "password": SECRET}, SECRET.encode()]
)
@pytest.mark.parametrize("what", ["url", "prefix"])
def test_no_message_shows_a_url(surface: Surface, what: str, given: object) -> None:
    with pytest.raises((quotalock.InvalidArgument, TypeError), match=what) as refused:
        surface.module.Client(**{"url": "memory://", what: given})
    assert SECRET not in str(refused.value) + repr(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None


def test_a_url_of_the_environment_that_is_no_text_is_not_the_default(
    surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUOTALOCK_URL", "redis://h\udcff")
    with pytest.raises(quotalock.InvalidArgument, match="has an invalid host"):
        surface.module.Client()


def test_what_a_loader_raises_gets_out_whatever_its_text(surface: Surface) -> None:
    def load(*_: object) -> str:
        raise RuntimeError(LONE)

    client = surface.module.Client(f"memory://{uuid.uuid4()}")
    pages, orders = client.cache("pages"), client.once("orders")
    calls = [(pages.get, "k"), (pages.get_many, ["a", "b"]), (pages.get_json, "j"), (orders.run, "id")]
    for method, given in calls:
        with pytest.raises(RuntimeError, match=LONE):
            surface.call(method, given, load)
    with pytest.raises(quotalock.LoadFailed):
        surface.call(pages.get, "k", str)
